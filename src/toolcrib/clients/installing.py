"""Putting Toolcrib in place of servers in a client's file, and taking it out again."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any, cast

from toolcrib.clients.documents import read_bytes, read_servers, with_servers
from toolcrib.clients.known import Client, client
from toolcrib.config.encoding import decoded
from toolcrib.errors import ConfigError, UsageError
from toolcrib.files import write_whole

KEY = "toolcrib"
"""The key of Toolcrib's own entry in a client's file."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is and as it would be.

    Attributes:
        client: Whose file it is.
        path: The file.
        before: What it holds; None where there is none yet.
        after: What it would hold; None where it would be removed.
        taken: The servers that Toolcrib stands for, as written, by key.
    """

    client: Client
    path: Path
    before: bytes | None
    after: bytes | None
    taken: Mapping[str, Any]

    @property
    def is_none(self) -> bool:
        """Whether nothing would change."""
        return self.before == self.after

    def diff(self) -> list[str]:
        """The change in the form of `diff -u`, line by line. It shows the file's secrets."""
        now, then = (decoded(side or b"", str(self.path))[0].splitlines() for side in (self.before, self.after))
        return [*unified_diff(now, then, f"{self.path} now", f"{self.path} then", lineterm="")]


@dataclass(frozen=True, slots=True)
class _Record:
    """What was installed where.

    Attributes:
        client: The client's id.
        path: Its file.
        written: The hash of what was written.
        existed: Whether there was a file before.
        taken: The servers that were taken out, as written, by key.
    """

    client: str
    path: str
    written: str
    existed: bool
    taken: dict[str, Any]


class Installations:
    """What stands for what, and the files as they were before: kept privately, since they may hold secrets.

    Args:
        folder: Toolcrib's state folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "clients"

    def plan(self, client: Client, path: Path, entry: Mapping[str, Any], taken: Collection[str]) -> Change:
        """What installing would change in a client's file.

        Args:
            client: Whose file it is.
            path: The file.
            entry: Toolcrib's entry, as `entry_for` makes it.
            taken: The keys of the servers that it takes the place of.

        Raises:
            ConfigError: The file can't be read, or is not of its form.
        """
        before = read_bytes(path)
        root = (client.root,)
        servers = read_servers(before or b"", client.format, root, str(path))
        out = {key: servers[key] for key in taken if key != KEY}
        if not out and servers.get(KEY) == entry:
            return Change(client, path, before, before, {})
        after = with_servers(before, client.format, root, str(path), without=[*out], put={KEY: entry})
        return Change(client, path, before, after, out)

    def install(self, change: Change) -> Path | None:
        """Write a planned change, and keep what was there.

        Returns:
            The copy of the file as it was before; None for a new file.

        Raises:
            ConfigError: The file has changed since, can't be written, or is write-protected.
        """
        self._unchanged(change)
        earlier = self._record(change.client, change.path)
        original = change.before
        taken = dict(change.taken)
        if earlier is not None:
            # Uninstalling goes back to before the first time, with what was added to the file since then.
            taken = earlier.taken | taken
            original = (
                self._original(earlier) if _hash(change.before) == earlier.written else self._undone(change, earlier)
            )
        backup = self._place(change.client, change.path, ".before")
        after = change.after or b""
        record = _Record(change.client.id, str(change.path), _hash(after), original is not None, taken)
        if original is not None:
            write_whole(backup, [original])
        write_whole(self._place(change.client, change.path, ".json"), [json.dumps(asdict(record)).encode()])
        _write(change.path, after)
        return backup if original is not None else None

    def plan_removal(self, client: Client, path: Path, *, keep_changes: bool = False) -> Change:
        """What uninstalling would change in a client's file.

        Args:
            client: Whose file it is.
            path: The file.
            keep_changes: Take Toolcrib out and put the servers back that it stands for, whatever else has changed;
                else the file must be as it was left, and becomes what it was before, byte for byte.

        Raises:
            UsageError: Toolcrib was not installed there.
            ConfigError: The file has changed since, or can't be read.
        """
        record = self._record(client, path)
        if record is None:
            raise UsageError(
                f"Toolcrib was not installed in {path} by this command.", hint=f"Nothing was changed for {client.id}."
            )
        before = read_bytes(path)
        if before is not None and _hash(before) == record.written:
            return Change(client, path, before, self._original(record), record.taken)
        if not keep_changes:
            state = "is gone" if before is None else "has changed since Toolcrib was installed there"
            kept = f" What it was before is in {self._place(client, path, '.before')}." if record.existed else ""
            raise ConfigError(
                f"{path} {state}, and was left alone.{kept}",
                hint="--keep-changes takes Toolcrib out and puts the earlier servers back, and keeps all else.",
            )
        change = Change(client, path, before, None, record.taken)
        return Change(client, path, before, self._undone(change, record), record.taken)

    def uninstall(self, change: Change) -> None:
        """Write a planned removal, and forget what was installed.

        Raises:
            ConfigError: The file has changed since, can't be written, or is write-protected.
        """
        self._unchanged(change)
        if change.after is None:
            change.path.resolve().unlink(missing_ok=True)
        else:
            _write(change.path, change.after)
        for ending in (".json", ".before"):
            self._place(change.client, change.path, ending).unlink(missing_ok=True)

    def known(self) -> list[tuple[Client, Path]]:
        """Where Toolcrib was installed."""
        found: list[tuple[Client, Path]] = []
        for path in sorted(self._folder.glob("*-*.json")):
            record = _read(path)
            if record is not None:
                found.append((client(record.client), Path(record.path)))
        return found

    def _undone(self, change: Change, record: _Record) -> bytes | None:
        """A file as it would be without Toolcrib, whatever else has changed in it."""
        root = (change.client.root,)
        there = read_servers(change.before or b"", change.client.format, root, str(change.path))
        back = {key: entry for key, entry in record.taken.items() if key not in there}
        return with_servers(change.before, change.client.format, root, str(change.path), without=[KEY], put=back)

    def _unchanged(self, change: Change) -> None:
        if read_bytes(change.path) != change.before:
            raise ConfigError(f"{change.path} has changed just now, and was left alone.", hint="Run the command again.")

    def _original(self, record: _Record) -> bytes | None:
        if not record.existed:
            return None
        backup = self._place(client(record.client), Path(record.path), ".before")
        data = read_bytes(backup)
        if data is None:
            raise ConfigError(
                f"{backup} is gone, so {record.path} can't be what it was.",
                hint="--keep-changes takes Toolcrib out and puts the earlier servers back.",
            )
        return data

    def _record(self, client: Client, path: Path) -> _Record | None:
        return _read(self._place(client, path, ".json"))

    def _place(self, client: Client, path: Path, ending: str) -> Path:
        name = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:16]
        return self._folder / f"{client.id}-{name}{ending}"


def entry_for(client: Client, command: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Toolcrib's entry in the form of a client.

    Args:
        client: The client.
        command: What starts the gateway, with its arguments.
        env: Variables that it needs to find its configuration and state.
    """
    program, *arguments = command
    common: dict[str, Any] = {"command": program, "args": arguments}
    if env:
        common["env"] = dict(env)
    match client.id:
        case "claude-code" | "vscode":
            return {"type": "stdio", **common}
        case "zed":
            return {"source": "custom", **common, "env": dict(env)}
        case "copilot-cli":
            return {"type": "local", **common, "tools": ["*"]}
        case "goose":
            return {
                "enabled": True,
                "type": "stdio",
                "name": KEY,
                "cmd": program,
                "args": arguments,
                "envs": dict(env),
                "timeout": 300,
            }
        case _:
            return common


def _read(path: Path) -> _Record | None:
    try:
        members = cast("dict[str, Any]", json.loads(path.read_bytes()))
        return _Record(**members)
    except (OSError, ValueError, TypeError):
        return None


def _hash(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()


def _write(path: Path, data: bytes) -> None:
    real = path.resolve()  # a link to the file stays one
    try:
        # A file is replaced by moving another over it, which its own rights would not keep anybody from.
        if real.exists() and not real.stat().st_mode & 0o222:
            raise ConfigError(f"{path} is write-protected, and was left alone.", hint="Allow writing to it first.")
        write_whole(real, [data], private=False)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}.", hint="Check its rights.") from None
