"""`server.json`, the document in which a registry describes a server, in its present and its older forms.

Members were in snake_case until 2025-09-16; the status moved from the document to the registry's own `_meta` on
2025-09-29 (changelog of the schema in the repository of the MCP registry). What a registry says is a stranger's
word: texts are cut, and nothing of it is used as a command without `toolcrib.servers.registries.entry`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from toolcrib.catalog import JsonObject

OFFICIAL_META = "io.modelcontextprotocol.registry/official"
"""Member of a listing's `_meta` with the status of a server."""

_RENAMED = {
    "registry_type": "registryType",
    "registry_name": "registryType",
    "registry_base_url": "registryBaseUrl",
    "runtime_hint": "runtimeHint",
    "runtime_arguments": "runtimeArguments",
    "package_arguments": "packageArguments",
    "environment_variables": "environmentVariables",
    "is_required": "isRequired",
    "is_secret": "isSecret",
    "is_repeated": "isRepeated",
    "value_hint": "valueHint",
    "transport_type": "type",
    "website_url": "websiteUrl",
    "version_detail": "versionDetail",
}
_DEEPEST = 16
_LONGEST_NAME = 200
_LONGEST_TEXT = 1_000


@dataclass(frozen=True, slots=True)
class ServerDescription:
    """A server as a registry describes it.

    Attributes:
        name: Its name, such as `com.example/weather`.
        title: Its display name; empty when there is none.
        description: What it is for, in its own words.
        version: The version described.
        status: `active` or `deprecated`; deleted ones are not kept.
        place: The registry that says so.
        repository: Where its source code is; empty when that is not told.
        packages: How it can be started here, in the present form.
        remotes: Where it runs already, in the present form.
        latest: The registry calls this version the latest.
        published: When it was published, as the registry writes it.
        raw: What it was read from.
    """

    name: str
    title: str = ""
    description: str = ""
    version: str = ""
    status: Literal["active", "deprecated"] = "active"
    place: str = ""
    repository: str = ""
    packages: tuple[JsonObject, ...] = ()
    remotes: tuple[JsonObject, ...] = ()
    latest: bool = False
    published: str = ""
    raw: JsonObject = field(default_factory=dict[str, Any], repr=False, compare=False)


def read_description(value: object, place: str) -> ServerDescription | None:
    """Read one entry of a registry.

    Args:
        value: A `server.json`, alone or under `server` beside the registry's `_meta`.
        place: The registry that it comes from.

    Returns:
        None when it is no description of a server, or one that was deleted.
    """
    item = _object(value)
    server = _object(_present(item.get("server", item)))
    meta = _meta(item) or _meta(server)
    name = _text(server.get("name"), _LONGEST_NAME)
    if not name or any(character.isspace() for character in name):
        return None
    status = meta.get("status") or server.get("status") or "active"
    if status == "deleted":
        return None
    detail = _object(server.get("versionDetail"))
    return ServerDescription(
        name=name,
        title=_text(server.get("title"), _LONGEST_NAME),
        description=_text(server.get("description"), _LONGEST_TEXT),
        version=_text(server.get("version") or detail.get("version"), _LONGEST_NAME),
        status="deprecated" if status == "deprecated" else "active",
        place=place,
        repository=_text(_object(server.get("repository")).get("url"), _LONGEST_TEXT),
        packages=tuple(map(_package, _objects(server.get("packages")))),
        remotes=tuple(_objects(server.get("remotes"))),
        latest=(meta.get("isLatest") or meta.get("is_latest") or detail.get("is_latest")) is True,
        published=_text(meta.get("publishedAt") or meta.get("published_at"), _LONGEST_NAME),
        raw=item,
    )


def _meta(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    # Before /v0.1, the registry's own members stood beside the document under `x-…`.
    return _object(_object(holder.get("_meta")).get(OFFICIAL_META)) or _object(
        holder.get("x-io.modelcontextprotocol.registry")
    )


def _package(package: JsonObject) -> JsonObject:
    """A package in the present form: the oldest one has `name` for `identifier`, and `docker` for `oci`."""
    kind = package.get("registryType")
    changes: JsonObject = {"registryType": "oci" if kind == "docker" else kind}
    if "identifier" not in package and "name" in package:
        changes["identifier"] = package["name"]
    return {**package, **changes}


def _present(value: Any, depth: int = 0) -> Any:
    """A document with the members that were renamed under their present names."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        return [_present(each, depth + 1) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    found: JsonObject = {}
    for key, member in cast("JsonObject", value).items():
        if key == "variables" and isinstance(member, dict):  # its keys are names that the server chose
            variables = cast("JsonObject", member)
            found[key] = {name: _present(each, depth + 2) for name, each in variables.items()}
        else:
            found[_RENAMED.get(key, key)] = _present(member, depth + 1)
    return found


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[JsonObject]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", item) for item in items if isinstance(item, dict)]


def _text(value: object, longest: int) -> str:
    return " ".join(value.split())[:longest] if isinstance(value, str) else ""
