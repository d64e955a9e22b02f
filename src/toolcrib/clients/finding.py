"""The clients' files on this machine, and the servers that stand in them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from toolcrib.clients.dialects import Translated, translated
from toolcrib.clients.documents import read_bytes, read_servers
from toolcrib.clients.known import CLIENTS, Client, Machine
from toolcrib.config import ServerConfig, is_toolcrib
from toolcrib.config.entry import parse_entry
from toolcrib.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ClientServer:
    """One server of a client's file.

    Attributes:
        key: Its key there.
        translated: Its entry in Toolcrib's form.
        server: The same, read; None where the client alone can run it.
    """

    key: str
    translated: Translated
    server: ServerConfig | None

    @property
    def is_toolcrib(self) -> bool:
        """Whether it is Toolcrib itself."""
        return self.server is not None and is_toolcrib(self.server)


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A client's own configuration on this machine.

    Attributes:
        client: The client.
        path: The file.
        root: The path of keys to the servers.
        servers: The servers, in the order of the file.
        inputs: VS Code's `inputs`, as written.
        error: Why it can't be read, or None.
    """

    client: Client
    path: Path
    root: tuple[str, ...]
    servers: tuple[ClientServer, ...] = ()
    inputs: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    error: ConfigError | None = None


def client_files(machine: Machine | None = None, project: Path | None = None) -> Iterator[ClientFile]:
    """The configurations of all known clients that exist on this machine.

    Args:
        machine: Where to look; by default this machine, as its user.
        project: A project's folder: its own files are read too. None leaves them alone, since what stands in a
            folder may be anybody's.
    """
    machine = machine or Machine()
    for client in CLIENTS:
        seen: set[Path] = set()
        for path in client.files(machine):
            if path.exists() and path.resolve() not in seen:
                seen.add(path.resolve())
                yield read_client_file(client, path)
        if project is not None:
            yield from _of_project(client, machine, project.absolute())


def _of_project(client: Client, machine: Machine, project: Path) -> Iterator[ClientFile]:
    if client.project and (project / client.project).exists():
        yield read_client_file(client, project / client.project)
    if client.id == "claude-code":
        # What was added for one project alone stands in the user's file, below the project's path.
        for path in client.files(machine):
            file = read_client_file(client, path, ("projects", str(project), client.root))
            if file.servers:
                yield file


def read_client_file(
    client: Client, path: Path, root: tuple[str, ...] | None = None, *, data: bytes | None = None
) -> ClientFile:
    """The servers of one file.

    Args:
        client: Whose it is.
        path: The file.
        root: The path of keys to the servers; the client's usual one by default.
        data: What it would hold; by default what it holds.

    Returns:
        What stands in it; what is wrong with the file is its `error`.
    """
    keys = root or (client.root,)
    try:
        data = (read_bytes(path) if data is None else data) or b""
        entries = read_servers(data, client.format, keys, str(path))
        inputs = _inputs(data, client, path)
    except ConfigError as error:
        return ClientFile(client, path, keys, error=error)
    servers = tuple(_server(client, key, entry, path) for key, entry in entries.items())
    return ClientFile(client, path, keys, servers, inputs)


def _server(client: Client, key: str, entry: object, path: Path) -> ClientServer:
    found = translated(client, entry)
    if found.entry is None:
        return ClientServer(key, found, None)
    return ClientServer(key, found, parse_entry(key, found.entry, path)[0])


def _inputs(data: bytes, client: Client, path: Path) -> tuple[Mapping[str, Any], ...]:
    if client.id != "vscode" or not data.strip():
        return ()
    from toolcrib.config.encoding import decoded
    from toolcrib.config.jsonc import parse_document

    text, _ = decoded(data, str(path))
    value = parse_document(text, str(path)).value
    given = cast("Mapping[str, Any]", value).get("inputs") if isinstance(value, Mapping) else None
    entries = cast("list[object]", given) if isinstance(given, list) else []
    return tuple(cast("Mapping[str, Any]", each) for each in entries if isinstance(each, Mapping))
