"""From a description of a server to an entry of a configuration, with the exact command that it would run.

A description is a stranger's word. The program to start comes from the kind of package, never from the
description; what the description says is an argument of it, taken as it stands: a `${` in it does not become a
variable. What only the user knows becomes an input of the server's own, so that a description can't name a
variable of the user's environment and get its value.
"""

import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast
from urllib.parse import urlsplit

from toolcrib.catalog import JsonObject
from toolcrib.config import input_variable
from toolcrib.errors import UsageError
from toolcrib.servers.registries.arguments import Filling
from toolcrib.servers.registries.document import ServerDescription

Kind = Literal["npm", "pypi", "oci", "nuget", "remote"]

KINDS: tuple[Kind, ...] = ("npm", "pypi", "oci", "nuget", "remote")
"""How a server can be had: as a package that is started here, or where it runs already."""

_RUNNERS: Mapping[Kind, str] = {"npm": "npx", "pypi": "uvx", "oci": "docker", "nuget": "dnx"}
_IDENTIFIERS: Mapping[Kind, re.Pattern[str]] = {
    "npm": re.compile(r"(?:@[a-z0-9~][\w.~-]*/)?[a-zA-Z0-9~][\w.~-]*"),
    "pypi": re.compile(r"[A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])?"),
    "oci": re.compile(r"[a-z0-9][a-z0-9._-]*(?::\d+)?(?:/[a-z0-9._-]+)*(?::[\w][\w.-]*)?(?:@sha256:[0-9a-f]{64})?"),
    "nuget": re.compile(r"[A-Za-z0-9_][\w.-]*"),
}
_VERSION = re.compile(r"[A-Za-z0-9][\w.+-]*")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_WIDE = ("sudo", "--privileged", "--network=host", "--net=host", "--pid=host", "rm", "-v", "--volume", "--mount")
"""Arguments of a runner that take down what keeps a server apart from the machine, or that destroy."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A value that the user has to give.

    Attributes:
        name: What the server calls it: an environment variable, a header, an argument.
        variable: The environment variable that gives it to Toolcrib.
        description: What the server says that it is.
        secret: Whether it is one.
    """

    name: str
    variable: str
    description: str = ""
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """An entry that a person, or the configuration, has to approve before anything of it runs.

    Attributes:
        key: The key that the entry is to have.
        kind: How the server is had.
        server: The description that it was made from.
        entry: The entry.
        inputs: The `inputs` that it refers to.
        missing: What the user has to give.
        warnings: What to look at before approving.
    """

    key: str
    kind: Kind
    server: ServerDescription
    entry: JsonObject
    inputs: tuple[JsonObject, ...] = ()
    missing: tuple[Missing, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    @property
    def command_line(self) -> str:
        """The whole command as a shell would take it, or the URL; never cut."""
        if "url" in self.entry:
            return str(self.entry["url"])
        return shlex.join([self.entry["command"], *self.entry["args"]])


def propose(server: ServerDescription, key: str, kind: Kind | None = None) -> Proposal:
    """The entry by which a server can be used.

    Args:
        server: Its description.
        key: The key that the entry is to have.
        kind: How to have it; None takes the first way whose program is installed, else the first of all.

    Raises:
        UsageError: It can't be had that way, or in no way that is known here.
    """
    ways: list[Proposal] = []
    problems: list[str] = []
    for make in _ways(server, key):
        try:
            ways.append(make())
        except UsageError as error:
            problems.append(error.message)
    fitting = [way for way in ways if kind in {None, way.kind}]
    if not fitting:
        offered = ", ".join(dict.fromkeys(way.kind for way in ways))
        wanted = f" as {kind}" if kind else ""
        because = f": {'; '.join(problems)}" if problems else ""
        hint = f"It can be had as {offered}." if offered else "Its own documentation may say how to run it."
        raise UsageError(f"{server.name} can't be had{wanted}{because}.", hint=hint)
    return next((way for way in fitting if way.kind == "remote" or shutil.which(_RUNNERS[way.kind])), fitting[0])


def _ways(server: ServerDescription, key: str) -> Iterator[Callable[[], Proposal]]:
    for package in server.packages:
        yield lambda package=package: _from_package(server, key, package)
    for remote in server.remotes:
        yield lambda remote=remote: _from_remote(server, key, remote)


def _from_package(server: ServerDescription, key: str, package: JsonObject) -> Proposal:
    kind = package.get("registryType")
    if kind not in _RUNNERS:
        raise UsageError(f"packages of type {kind!r} are not started by Toolcrib")
    kind = cast("Kind", kind)
    transport = package.get("transport")
    if isinstance(transport, dict) and cast("JsonObject", transport).get("type", "stdio") != "stdio":
        raise UsageError(f"its {kind} package does not speak over standard input and output")
    target = _target(kind, package, server.version)
    filling = Filling(key)
    runtime = filling.arguments(package.get("runtimeArguments"))
    arguments = filling.arguments(package.get("packageArguments"))
    env = filling.named(package.get("environmentVariables"))
    command, words = _RUNNERS[kind], _command(kind, target, runtime, env)
    warnings = [*_common_warnings(server), *_runtime_warnings(runtime)]
    hint = package.get("runtimeHint")
    if isinstance(hint, str) and hint not in {command, "node", "python", "uv"}:
        warnings.append(f"Its publisher would run it with {hint!r}; here it is {command}.")
    entry: JsonObject = {"command": command, "args": [*words, *arguments], **({"env": env} if env else {})}
    return _proposal(server, key, kind, entry, filling, warnings)


def _target(kind: Kind, package: JsonObject, server_version: str) -> str:
    """The package with its version, as its runner takes it."""
    identifier = package.get("identifier")
    if not isinstance(identifier, str) or not _IDENTIFIERS[kind].fullmatch(identifier):
        raise UsageError(f"its {kind} package has a name that is none: {str(identifier)[:80]!r}")
    version = package.get("version") or ("" if kind == "oci" else server_version)
    if not isinstance(version, str) or (version and not _VERSION.fullmatch(version)):
        raise UsageError(f"its {kind} package has a version that is none: {str(version)[:80]!r}")
    if not version:
        return identifier
    if kind == "oci":  # since 2025-10-11 the version stands in the identifier
        tagged = "@" in identifier or ":" in identifier.rpartition("/")[2]
        return identifier if tagged else f"{identifier}:{version}"
    return f"{identifier}=={version}" if kind == "pypi" else f"{identifier}@{version}"


def _command(kind: Kind, target: str, runtime: list[str], env: Mapping[str, str]) -> list[str]:
    """The arguments of a runner, up to those of the server itself."""
    match kind:
        case "npm":
            return [*(word for word in runtime if word not in {"-y", "--yes", target}), "-y", target]
        case "oci":
            given = {word.partition("=")[0] for word in runtime}
            fixed = {"run", "-i", "--rm", "--interactive", target}
            passed = [word for name in env if name not in given for word in ("-e", name)]
            return ["run", "--rm", "-i", *passed, *(word for word in runtime if word not in fixed), target]
        case "nuget":
            return [*(word for word in runtime if word != "--yes"), target, "--yes", "--"]
        case _:
            return [*runtime, target]


def _from_remote(server: ServerDescription, key: str, remote: JsonObject) -> Proposal:
    transport = remote.get("type")
    if transport not in {"streamable-http", "streamable", "sse", "http"}:
        raise UsageError(f"remotes of type {transport!r} are not known here")
    filling = Filling(key)
    template = remote.get("url")
    url = filling.template(template, remote.get("variables"), "url") if isinstance(template, str) else ""
    parts = urlsplit(re.sub(r"\$\{[^}]*\}", "x", url))
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        raise UsageError("its remote has no URL of an HTTP server")
    headers = filling.named(remote.get("headers"))
    warnings = _common_warnings(server)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        warnings.append("Its URL is not encrypted: whoever is on the way reads and changes what is sent.")
    kind = "sse" if transport == "sse" else "http"
    entry: JsonObject = {"type": kind, "url": url, **({"headers": headers} if headers else {})}
    return _proposal(server, key, "remote", entry, filling, warnings)


def _proposal(
    server: ServerDescription, key: str, kind: Kind, entry: JsonObject, filling: Filling, warnings: list[str]
) -> Proposal:
    asked = filling.asked
    return Proposal(
        key=key,
        kind=kind,
        server=server,
        # `name` and `version` are without effect; they say later where the entry came from.
        entry={"name": server.name, **({"version": server.version} if server.version else {}), **entry},
        inputs=tuple(ask.as_input() for ask in asked),
        missing=tuple(
            Missing(ask.name, input_variable(ask.id), ask.description, ask.secret)
            for ask in asked
            if ask.default is None
        ),
        warnings=tuple(warnings),
    )


def _common_warnings(server: ServerDescription) -> list[str]:
    return ["Its registry calls it deprecated."] if server.status == "deprecated" else []


def _runtime_warnings(words: list[str]) -> list[str]:
    wide = [word for word in words if word.partition("=")[0] in _WIDE or word in _WIDE]
    if not wide:
        return []
    return [f"It asks for more than a server of its kind needs: {', '.join(dict.fromkeys(wide))}."]
