"""Taking the servers of clients' files into Toolcrib's own configuration."""

import json
import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from toolcrib.clients.finding import ClientFile, ClientServer
from toolcrib.clients.known import Client
from toolcrib.clients.written import WrittenSecret, without_secrets, written_secrets
from toolcrib.config import Config, Input, ServerConfig, Variables, known_inputs
from toolcrib.config.edit import add_entries, backup_of, change_entry
from toolcrib.config.entry import parse_entry
from toolcrib.config.jsonc import parse_document
from toolcrib.errors import ConfigError, StoreError
from toolcrib.files import held, write_whole

State = Literal["new", "renamed", "known", "same", "toolcrib", "left", "broken"]
"""What becomes of a server: it is new, new under another key since its own is taken, there already, the same as
another that is imported, Toolcrib itself, the client's own affair, or has an entry that can't be used."""

_INPUT = "${input:"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A server of a client's file, and what an import would make of it.

    Attributes:
        client: The client.
        path: Its file.
        key: The server's key there.
        state: What becomes of it.
        into: The key that it has, or would get, in Toolcrib's configuration; empty where it gets none.
        entry: The entry to write.
        identity: What tells it from other servers: the entry's hash.
        note: What its user should know; empty when there is nothing to say.
        unset: What has no value yet, and how it gets one.
        secrets: The secrets that stand in the entry, written out.
        inputs: VS Code's `inputs` that it refers to.
    """

    client: Client
    path: Path
    key: str
    state: State
    into: str = ""
    entry: Mapping[str, Any] | None = None
    identity: str = ""
    note: str = ""
    unset: tuple[str, ...] = ()
    secrets: tuple[WrittenSecret, ...] = ()
    inputs: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether an import would add it."""
        return self.state in {"new", "renamed"}


def plan_import(
    files: Iterable[ClientFile], config: Config, imported: Mapping[str, str], variables: Variables | None = None
) -> list[Candidate]:
    """What an import of files would do.

    Args:
        files: The clients' files; those that can't be read are passed over.
        config: Toolcrib's configuration.
        imported: The keys that servers were imported under before, by identity; see `Imports`.
        variables: Where values of variables come from, to tell which have none.

    Returns:
        Every server of the files, in their order.
    """
    taken = {key: each.config_hash for key, each in config.servers.items()}
    known = {identity: key for key, identity in taken.items()}
    known |= {identity: key for identity, key in imported.items() if key in taken}
    inputs = dict(config.inputs)
    made: dict[str, str] = {}
    candidates: list[Candidate] = []
    for file in files:
        for each in file.servers:
            found = _candidate(file, each, variables or Variables())
            if found.state == "new":
                if found.identity in made:
                    found = replace(found, state="same", into=made[found.identity])
                elif found.identity in known:
                    found = replace(found, state="known", into=known[found.identity])
                else:
                    key = _free(found, taken)
                    found = _with_own_inputs(found, inputs, variables or Variables())
                    found = replace(found, into=key, state="new" if key == found.key else "renamed")
                    taken[key] = found.identity
                    made[found.identity] = key
            candidates.append(found)
    return candidates


def _candidate(file: ClientFile, server: ClientServer, variables: Variables) -> Candidate:
    blank = Candidate(file.client, file.path, server.key, "left", note=server.translated.note)
    if server.is_toolcrib:
        return replace(blank, state="toolcrib")
    if server.server is None or server.translated.entry is None:
        return blank
    if server.server.error is not None:
        return replace(blank, state="broken", note=server.server.error.message)
    entry = _placed(server.translated.entry, server.server)
    placed, _ = parse_entry(server.key, entry, None)
    written = json.dumps(entry)
    inputs = tuple(each for each in file.inputs if f"{_INPUT}{each.get('id')}}}" in written)
    asked = replace(variables, keyring=_given, inputs=known_inputs(inputs))
    return replace(
        blank,
        state="new",
        entry=entry,
        identity=placed.config_hash,
        unset=tuple(str(error).removeprefix(f"{server.key}, ") for error in placed.unfilled(asked)),
        secrets=tuple(written_secrets(placed)),
        inputs=inputs,
    )


def _given(_: object) -> str:
    """Stands for what the keyring holds: it is not unlocked only to show a plan."""
    return "-"


def _placed(entry: Mapping[str, Any], server: ServerConfig) -> Mapping[str, Any]:
    """An entry that means the same in another folder."""
    base = server.base
    made = dict(entry)
    for name, written in (("cwd", server.cwd), ("envFile", server.env_file)):
        if written and not written.startswith(("/", "~", "${", "\\")) and not Path(written).is_absolute():
            made[name] = str(base / written)
    if server.command and server.command.startswith(("./", "../", ".\\", "..\\")) and not server.cwd:
        made["cwd"] = str(base)
    return cast("Mapping[str, Any]", _with_workspace(made, str(base)))


def _with_workspace(value: Any, folder: str) -> Any:
    if isinstance(value, str):
        name = os.path.basename(folder)
        return value.replace("${workspaceFolder}", folder).replace("${workspaceFolderBasename}", name)
    if isinstance(value, Mapping):
        return {key: _with_workspace(each, folder) for key, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_with_workspace(each, folder) for each in cast("list[Any]", value)]
    return value


def _with_own_inputs(found: Candidate, taken: dict[str, Input], variables: Variables) -> Candidate:
    """The candidate, with its inputs under other ids where others are called so: they would share one value.

    Args:
        found: A server that is new.
        taken: The inputs that are there, by id; grows by its own.
        variables: Where values of variables come from.
    """
    own: list[Mapping[str, Any]] = []
    entry = found.entry
    unset = found.unset
    for each in found.inputs:
        parsed = next(iter(known_inputs([each]).values()), None)
        if parsed is None:  # its id is no text
            continue
        other = {name for name, there in taken.items() if there != replace(parsed, id=name)}
        name = _free_name(parsed.id, found.client, other)
        taken[name] = replace(parsed, id=name)
        own.append({**each, "id": name})
        if name != parsed.id:
            entry = _with_input(entry, f"{_INPUT}{parsed.id}}}", f"{_INPUT}{name}}}")
    if entry is not found.entry:
        placed, _ = parse_entry(found.key, cast("Mapping[str, Any]", entry), None)
        asked = replace(variables, keyring=_given, inputs=taken)
        unset = tuple(str(error).removeprefix(f"{found.key}, ") for error in placed.unfilled(asked))
    return replace(found, entry=entry, inputs=tuple(own), unset=unset)


def _with_input(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, Mapping):
        return {key: _with_input(each, old, new) for key, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_with_input(each, old, new) for each in cast("list[Any]", value)]
    return value


def _free(found: Candidate, taken: Mapping[str, str]) -> str:
    """The server's key, or one made of it and the client's where another server has it."""
    return _free_name(found.key, found.client, taken)


def _free_name(name: str, client: Client, taken: Container[str]) -> str:
    free, number = name, 2
    while free in taken:
        free, number = (f"{name}-{client.id}", number) if free == name else (f"{name}-{client.id}-{number}", number + 1)
    return free


class Imports:
    """What was imported under which key: so that a server is known again whose secrets went to the keyring.

    Args:
        folder: Toolcrib's state folder.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "clients" / "imports.json"

    def read(self) -> dict[str, str]:
        """The keys by identity; none where nothing was imported, or the file is damaged."""
        try:
            value = parse_document(self._path.read_text(encoding="utf-8"), str(self._path)).value
        except (OSError, UnicodeError, ConfigError):
            return {}
        members: Mapping[str, object] = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
        return {identity: key for identity, key in members.items() if isinstance(key, str)}

    def add(self, candidates: Iterable[Candidate]) -> None:
        """Remember what was imported.

        Raises:
            StoreError: It can't be written.
        """
        try:
            with held(self._path.with_suffix(".lock")):
                known = self.read() | {each.identity: each.into for each in candidates}
                write_whole(self._path, [json.dumps(known, indent=1).encode()])
        except OSError as error:
            raise StoreError(
                f"{self._path} can't be written: {error.strerror}.",
                hint="All else is done; only what moves into the keyring would be imported a second time.",
            ) from None


def import_servers(
    chosen: Sequence[Candidate],
    to: Path,
    imports: Imports,
    keep_secret: Callable[[str, str], None] | None = None,
) -> Path | None:
    """Add servers to a configuration file.

    Args:
        chosen: What to add.
        to: The file, which is made if there is none.
        imports: Remembers what was imported.
        keep_secret: Puts a secret into the keyring under a name; None leaves secrets as they are written.

    Returns:
        The copy of the file as it was before; None for a new file.

    Raises:
        ToolcribError: The file can't be written, or has such a key.
    """
    entries = {
        each.into: dict(each.entry or {})
        if keep_secret is None
        else without_secrets(each.entry or {}, each.secrets, each.into, keep_secret)
        for each in chosen
    }
    inputs = {str(entry.get("id")): entry for each in chosen for entry in each.inputs}
    backup = add_entries(to, entries, [*inputs.values()])
    imports.add(chosen)
    return backup


def move_secrets(known: Candidate, to: Path, imports: Imports, keep_secret: Callable[[str, str], None]) -> Path | None:
    """Move the secrets that stand in the entry of a server that is there already out of Toolcrib's own file.

    Args:
        known: The server; its key in the file is `into`.
        to: The file.
        imports: Remembers it, since the entry is another one afterwards.
        keep_secret: Puts a secret into the keyring under a name.

    Returns:
        The copy that an earlier change of the file has left, which may still hold the secrets; None if there is none.

    Raises:
        ToolcribError: The file can't be written, or the keyring takes nothing; the file stays as it is then.
    """

    def change(entry: Mapping[str, Any]) -> Mapping[str, Any]:
        secrets = written_secrets(parse_entry(known.into, entry, to)[0])
        return without_secrets(entry, secrets, known.into, keep_secret)

    change_entry(to, known.into, change)
    imports.add([known])
    return earlier if (earlier := backup_of(to)).exists() else None
