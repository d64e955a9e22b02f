"""Loading a configuration from the files that people already have."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from toolcrib.config.entry import looks_like_entry, name_keys, parse_entry
from toolcrib.config.jsonc import read_document, walk_objects
from toolcrib.config.models import Settings, problems
from toolcrib.config.paths import user_config_dir
from toolcrib.config.server import ServerConfig
from toolcrib.config.variables import Input
from toolcrib.errors import ConfigError, shown
from toolcrib.files import expanded

_ROOTS = ("mcpServers", "servers")
_TOP = {*_ROOTS, "inputs", "toolcrib", "$schema"}
_ROOTS_HINT = 'Servers stand under "mcpServers" or "servers", or are the members of the file itself.'


@dataclass(frozen=True, slots=True)
class Config:
    """A whole configuration, merged from its files.

    Attributes:
        servers: The servers by key, in the order of the files; those that can't be used have an `error`.
        settings: What holds for the whole program.
        inputs: VS Code's `inputs` by id.
        unknown: Other top-level members, as written.
        warnings: What the user should know, one sentence each.
        paths: The files, in the order in which they were read.
    """

    servers: Mapping[str, ServerConfig] = field(default_factory=dict[str, ServerConfig])
    settings: Settings = field(default_factory=Settings)
    inputs: Mapping[str, Input] = field(default_factory=dict[str, Input])
    unknown: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    warnings: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()


def load_config(
    paths: "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None" = None,
) -> Config:
    """Read and merge configuration files; of two entries with the same key, the later one counts.

    Args:
        paths: The files. None or an empty list means every `*.json` in the user's own configuration folder,
            by name. Nothing in the working directory is read unless it is named.

    Raises:
        ConfigError: A file can't be read, is not JSON, or names no servers. What is wrong with a single
            server is that server's `error` instead.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if not paths:
        return _load_user_config()
    merged = _Merged()
    for path in paths:
        merged.read(expanded(path).absolute())
    return merged.config()


def config_from_mapping(data: Mapping[str, Any], *, origin: Path | None = None) -> Config:
    """A configuration from an object in memory, of the same shapes as a file.

    Args:
        data: The object.
        origin: The file that it stands for: relative paths and `${workspaceFolder}` start there.

    Raises:
        ConfigError: It names no servers, or is nested too deeply.
    """
    merged = _Merged()
    name = str(origin) if origin else "The configuration"
    for _ in walk_objects(data, name):
        pass
    merged.add(data, origin, name)
    return merged.config()


def _load_user_config() -> Config:
    folder = user_config_dir()
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except FileNotFoundError:
        files = []
    except OSError as error:
        raise ConfigError(
            f"The configuration folder {folder} can't be read: {error.strerror}.",
            hint="Check its rights, or name files with --config.",
        ) from None
    merged = _Merged()
    for path in files:
        merged.read(path)
    if not files:
        merged.warnings.append(f"There is no configuration in {folder}; name a file with --config.")
    return merged.config()


class _Merged:
    """What the files read so far add up to."""

    def __init__(self) -> None:
        self._servers: dict[str, ServerConfig] = {}
        self._settings: dict[str, Any] = {}
        self._inputs: dict[str, Input] = {}
        self._unknown: dict[str, Any] = {}
        self._paths: list[Path] = []
        self.warnings: list[str] = []

    def config(self) -> Config:
        return Config(
            servers=self._servers,
            settings=Settings.model_validate(self._settings),
            inputs=self._inputs,
            unknown=self._unknown,
            warnings=tuple(self.warnings),
            paths=tuple(self._paths),
        )

    def read(self, path: Path) -> None:
        document = read_document(path)
        self._paths.append(path)
        self._warn(path, [f"{shown(key)} is given twice; the last one counts." for key in document.duplicates])
        self.add(document.value, path, str(path))

    def add(self, value: object, origin: Path | None, name: str) -> None:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{name} names no servers: it is not an object.", hint=_ROOTS_HINT)
        data = cast("Mapping[str, Any]", value)
        servers, rest = _split(data, name)
        for key, entry in servers:
            self._add_server(str(key), entry, origin)
        # A bare map may have a server that is called like one of our own keys.
        self._add_settings(rest.pop("toolcrib", None), origin, name)
        self._add_inputs(rest.pop("inputs", None), origin)
        rest.pop("$schema", None)
        if rest:
            self._warn(origin, [f"{name_keys([*rest])} not known here; kept, without effect."])
            self._unknown |= rest

    def _add_server(self, key: str, entry: object, origin: Path | None) -> None:
        server, warnings = parse_entry(key, entry, origin)
        earlier = self._servers.get(key)
        if earlier is not None:
            where = f" from {earlier.origin}" if earlier.origin and earlier.origin != origin else ""
            self._warn(origin, [f"Server {shown(key)} replaces the one of the same key{where}."])
        self._warn(origin, warnings)
        self._servers[key] = server

    def _add_settings(self, given: object, origin: Path | None, name: str) -> None:
        if given is None:
            return
        try:
            settings = Settings.model_validate(given)
        except ValidationError as error:
            raise ConfigError(f"{name}: {'; '.join(problems(error))}.", hint="Correct the value.") from None
        unknown = [f"toolcrib.{path}" for path in settings.unknown()]
        if unknown:
            self._warn(origin, [f"{name_keys(unknown)} not known here; kept, without effect."])
        if settings.policy.rules and self._settings.get("policy", {}).get("rules"):
            self._warn(origin, ["toolcrib.policy.rules replaces the rules of an earlier file."])
        self._settings = _overlaid(self._settings, _placed(cast("Mapping[str, Any]", given), origin))

    def _add_inputs(self, given: object, origin: Path | None) -> None:
        if given is None:
            return
        entries = cast("list[object]", given) if isinstance(given, list) else [given]
        for entry in entries:
            parsed = _parse_input(entry)
            if parsed is None:
                self._warn(origin, ["An entry of inputs is not usable: each is an object with an id."])
            else:
                self._inputs[parsed.id] = parsed

    def _warn(self, origin: Path | None, warnings: list[str]) -> None:
        prefix = f"{origin}: " if origin else ""
        self.warnings.extend(f"{prefix}{warning}" for warning in warnings)


def _split(data: Mapping[str, Any], name: str) -> tuple[list[tuple[str, Any]], dict[str, Any]]:
    """The servers of one file, and its other members."""
    roots = [root for root in _ROOTS if root in data and not looks_like_entry(data[root])]
    if roots:
        servers: list[tuple[str, Any]] = []
        for root in roots:
            members = data[root]
            if not isinstance(members, Mapping):
                raise ConfigError(f"{name}: {root} must be an object of servers.", hint=_ROOTS_HINT)
            servers.extend(cast("Mapping[str, Any]", members).items())
        return servers, {key: member for key, member in data.items() if key not in roots}
    if any(looks_like_entry(member) for member in data.values()):
        reserved = {key for key in _TOP if key in data and not looks_like_entry(data[key])}
        bare = [(key, member) for key, member in data.items() if key not in reserved]
        return bare, {key: data[key] for key in data if key in reserved}
    if "toolcrib" in data:  # a file of settings alone
        return [], dict(data)
    raise ConfigError(f"{name} names no servers.", hint=_ROOTS_HINT)


def _placed(settings: Mapping[str, Any], origin: Path | None) -> Mapping[str, Any]:
    """Settings whose relative paths of registries and skills start at the folder of their file."""
    if origin is None:
        return settings
    placed = {
        name: [
            each if "://" in each or each.startswith("~") else str(origin.parent / each)
            for each in cast("list[str]", settings[name])
        ]
        for name in ("registries", "skills")
        if settings.get(name)
    }
    return {**settings, **placed}


def _overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        earlier = merged.get(key)
        if isinstance(value, Mapping) and isinstance(earlier, Mapping):
            value = _overlaid(cast("Mapping[str, Any]", earlier), cast("Mapping[str, Any]", value))
        merged[key] = value
    return merged


def known_inputs(entries: Iterable[object]) -> dict[str, Input]:
    """VS Code's `inputs` by id; what is none is passed over."""
    return {each.id: each for each in map(_parse_input, entries) if each is not None}


def _parse_input(entry: object) -> Input | None:
    if not isinstance(entry, Mapping):
        return None
    members = cast("Mapping[str, Any]", entry)
    input_id = members.get("id")
    if not isinstance(input_id, str) or not input_id:
        return None
    description, default, options = members.get("description"), members.get("default"), members.get("options")
    return Input(
        id=input_id,
        description=description if isinstance(description, str) else "",
        password=members.get("password") is True,
        default=default if isinstance(default, str) else None,
        options=_labels(options),
    )


def _labels(options: object) -> tuple[str, ...]:
    """VS Code's pick lists hold texts, or objects with a `value`."""
    if not isinstance(options, list):
        return ()
    found: list[str] = []
    for option in cast("list[object]", options):
        value = cast("Mapping[str, object]", option).get("value") if isinstance(option, Mapping) else option
        if isinstance(value, str):
            found.append(value)
    return tuple(found)
