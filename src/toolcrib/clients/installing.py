"""Putting Toolcrib in place of servers in a client's file, and taking it out again."""

import errno
import hashlib
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

from toolcrib.clients.documents import read_bytes, read_servers, with_servers
from toolcrib.clients.known import Client
from toolcrib.clients.record import Record
from toolcrib.clients.restoring import Versions
from toolcrib.config.encoding import decoded
from toolcrib.errors import ConfigError, UsageError
from toolcrib.files import followed, held, write_whole

KEY = "toolcrib"
"""The key of Toolcrib's own entry in a client's file."""

_RESTORE = "--restore gives it back as it was before Toolcrib, and keeps a copy of what it is now."
_CHOICE = f"--keep-changes takes Toolcrib out, puts the earlier servers back and keeps all else; {_RESTORE}"


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is and as it would be.

    Attributes:
        client: Whose file it is.
        path: The file.
        before: What it holds; None where there is none yet.
        after: What it would hold; None where it would be removed.
        taken: The servers that Toolcrib stands for, as written, by key.
        is_partial: Whether the file had changed since Toolcrib came, so that only its servers become what they were.
        is_restored: Whether the file had changed since, and would still become what it was before Toolcrib.
        kept: Where `keeps` is put.
        keeps: What would be lost else: what the file was before Toolcrib, or what it is where that is restored.
    """

    client: Client
    path: Path
    before: bytes | None
    after: bytes | None
    taken: Mapping[str, Any]
    is_partial: bool = False
    is_restored: bool = False
    kept: Path | None = None
    keeps: bytes | None = None

    @property
    def is_none(self) -> bool:
        """Whether nothing would change."""
        return self.before == self.after

    def diff(self) -> list[str]:
        """The change in the form of `diff -u`, line by line. It shows the file's secrets."""
        now, then = (decoded(side or b"", str(self.path))[0].splitlines() for side in (self.before, self.after))
        return [*unified_diff(now, then, f"{self.path} now", f"{self.path} then", lineterm="")]


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
            ConfigError: The file has changed since, can't be written, or is write-protected; nothing is installed
                then.
        """
        with held(self._folder / "installing.lock"):
            self._unchanged(change)
            return self._installed(change)

    def _installed(self, change: Change) -> Path | None:
        earlier = self._record(change.client, change.path)
        original = change.before
        taken = change.taken
        if earlier is not None:
            # Uninstalling goes back to before the first time, with what was added to the file since then.
            taken = {**earlier.taken, **taken}
            if _hash(change.before) == earlier.written:
                original = self._original(earlier)
            elif change.before != self._copy(earlier):
                original = self._versions(change.before, earlier).given_back()
        after = change.after or b""
        existed = original is not None
        record = Record(change.client, change.path, _hash(after), existed, taken, _hash(original))
        self._note(change, {".before": original, ".json": record.to_bytes(), ".written": after})
        return self._place(change.client, change.path, ".before") if existed else None

    def _note(self, change: Change, notes: Mapping[str, bytes | None]) -> None:
        """Write down what is installed, then install it; where that fails, the notes are what they were."""
        places = {self._place(change.client, change.path, ending): data for ending, data in notes.items()}
        before = {place: read_bytes(place) for place in places}
        try:
            _put(places)
            _write(change.path, change.after or b"")
        except BaseException:
            _put(before)
            raise

    def plan_removal(self, client: Client, path: Path, *, keep_changes: bool = False, restore: bool = False) -> Change:
        """What uninstalling would change in a client's file.

        A file that is as it was left becomes what it was before, byte for byte. In one that the client has changed
        elsewhere, the servers become what they were, and all else stays as it is now.

        Args:
            client: Whose file it is.
            path: The file.
            keep_changes: Also where somebody has changed the servers themselves, or the file is gone: take Toolcrib
                out and put the servers back that it stands for.
            restore: Whatever the file holds now, it becomes what it was before.

        Raises:
            UsageError: Toolcrib is not there, or was not installed there.
            ConfigError: The servers have changed since, the file can't be read, or what is to be restored is lost.
        """
        before = read_bytes(path)
        record = self._record(client, path)
        if record is None:
            there = read_servers(before or b"", client.format, (client.root,), str(path))
            state = "was not put into" if KEY in there else "is not in"
            by = " by this command" if KEY in there else ""
            raise UsageError(f"Toolcrib {state} {path}{by}.", hint=f"Nothing was changed for {client.id}.")
        copy = self._copy(record)
        lost = record.existed and copy is None
        if not lost and before == copy:  # somebody has put it back, or the installation was cut off
            return Change(client, path, before, before, {})
        if restore or (before is not None and _hash(before) == record.written and not (lost and keep_changes)):
            return self._restored(client, before, record)
        return self._changed_since(record, before, copy, keep_changes=keep_changes)

    def _changed_since(self, record: Record, before: bytes | None, copy: bytes | None, *, keep_changes: bool) -> Change:
        """The change to a file that is not what Toolcrib wrote.

        Args:
            record: What was installed.
            before: What it is now.
            copy: What it was; None where there was none, or it is lost.
            keep_changes: See `plan_removal`.
        """
        client, path = record.client, record.path
        kept = f" What it was before is in {self._place(client, path, '.before')}." if copy is not None else ""
        versions = self._versions(before, record)
        with _correctable(kept):
            since = "" if before is None else versions.changes_since()
            lost = record.existed and copy is None
            if since and not lost and versions.servers(before) == versions.servers(copy):
                return Change(client, path, before, before, {})
        if not keep_changes and (before is None or since):
            also = f"has changed since Toolcrib was installed there, also its servers ({since})"
            raise ConfigError(f"{path} {also if since else 'is gone'}, and was left alone.{kept}", hint=_CHOICE)
        with _correctable(kept):
            after = versions.given_back()
        if after == copy:
            return Change(client, path, before, after, record.taken)
        place = None if copy is None else self._place(client, path, f"-{_hash(copy)[:8]}.kept")
        return Change(client, path, before, after, record.taken, is_partial=True, kept=place, keeps=copy)

    def _restored(self, client: Client, before: bytes | None, record: Record) -> Change:
        """The change to what a file was before Toolcrib; what it is now is kept if it is not what Toolcrib wrote."""
        path = record.path
        original = self._original(record)
        if before is None or _hash(before) == record.written:
            return Change(client, path, before, original, record.taken)
        kept = self._place(client, path, f"-{_hash(before)[:8]}.kept")
        return Change(client, path, before, original, record.taken, is_restored=True, kept=kept, keeps=before)

    def uninstall(self, change: Change) -> None:
        """Write a planned removal, and forget what was installed.

        Raises:
            ConfigError: The file has changed since, can't be written, or is write-protected.
        """
        with held(self._folder / "installing.lock"):
            self._unchanged(change)
            if change.kept is not None:
                _put({change.kept: change.keeps})  # under a name that no later installation takes
            if change.after is None:
                _remove(change.path)
            elif not change.is_none:
                _write(change.path, change.after)
            _put({self._place(change.client, change.path, ending): None for ending in (".json", ".before", ".written")})

    def known(self) -> list[tuple[Client, Path]]:
        """Where Toolcrib was installed."""
        return [(record.client, record.path) for record, _ in self._records() if record is not None]

    def damaged(self) -> list[ConfigError]:
        """What is wrong with the notes of what was installed."""
        return [error for _, error in self._records() if error is not None]

    def _records(self) -> Iterator[tuple[Record | None, ConfigError | None]]:
        for path in sorted(self._folder.glob("*-*.json")):
            try:
                yield Record.of(path), None
            except ConfigError as error:
                yield None, error

    def _versions(self, now: bytes | None, record: Record) -> Versions:
        """A file that was changed since, and what it was."""
        written = read_bytes(self._place(record.client, record.path, ".written"))
        return Versions(record.client, record.path, self._copy(record), written, now, record.taken, KEY)

    def _unchanged(self, change: Change) -> None:
        if read_bytes(change.path) != change.before:
            raise ConfigError(f"{change.path} has changed just now, and was left alone.", hint="Run the command again.")

    def _original(self, record: Record) -> bytes | None:
        data = self._copy(record)
        if data is None and record.existed:
            backup = self._place(record.client, record.path, ".before")
            state = "is not what Toolcrib kept there" if backup.exists() else "is gone"
            raise ConfigError(
                f"{backup} {state}, so {record.path} can't be what it was.",
                hint="--keep-changes takes Toolcrib out and puts the earlier servers back.",
            )
        return data

    def _copy(self, record: Record) -> bytes | None:
        """What a file was before; None where there was none, or the copy is gone or altered."""
        if not record.existed:
            return None
        data = read_bytes(self._place(record.client, record.path, ".before"))
        return None if record.original not in {"", _hash(data)} else data

    def _record(self, client: Client, path: Path) -> Record | None:
        return Record.of(self._place(client, path, ".json"))

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


@contextmanager
def _correctable(kept: str) -> Generator[None]:
    """Say of a file that can't be read where its user stands, and what may be done."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(
            f"{error.message} It was left alone.{kept}", hint=f"Correct it first; or {_RESTORE}"
        ) from None


def _hash(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()


def _put(files: Mapping[Path, bytes | None]) -> None:
    """Write Toolcrib's own notes; None takes one away.

    Raises:
        ConfigError: One can't be written.
    """
    for place, data in files.items():
        try:
            if data is None:
                place.unlink(missing_ok=True)
            else:
                write_whole(place, [data])
        except OSError as error:
            raise _unwritable(place, error) from None


def _remove(path: Path) -> None:
    try:
        followed(path).unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path} can't be removed: {error.strerror}.", hint="Check its folder's rights.") from None


def _write(path: Path, data: bytes) -> None:
    try:
        real = followed(path)
        # A file is replaced by moving another over it, which its own rights would not keep anybody from.
        if real.exists() and not real.stat().st_mode & 0o222:
            raise ConfigError(f"{path} is write-protected, and was left alone.", hint="Allow writing to it first.")
        write_whole(real, [data], private=False)
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> ConfigError:
    full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    hint = "Make room on the disk, and run it again." if full else "Check its rights, and those of its folder."
    return ConfigError(f"{path} can't be written, and was left alone: {error.strerror}.", hint=hint)
