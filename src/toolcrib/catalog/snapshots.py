"""What one server listed, as stored on disk, so that search needs no running server.

A snapshot is two files: a header, and the tool definitions, one line of compact JSON each. The header holds
the names and lengths of the lines, so that opening hundreds of snapshots reads hundreds of small files and
leaves the definitions on disk. The definitions' file is named after its content and never changes, so that a
process which still reads an older listing is not misled by a newer one. Several processes may share the folder.
"""

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from toolcrib.catalog.definitions import Definitions, FileDefinitions, MemoryDefinitions, parse_line, to_line
from toolcrib.errors import StoreError
from toolcrib.files import write_whole
from toolcrib.schema import tool_ids

FORMAT = 1

KEEP_SECONDS = 14 * 24 * 3600
"""How long the definitions of an older listing stay."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one server said of itself and listed.

    Attributes:
        server: The server's id.
        config_hash: Hash of the configuration that the listing was made with.
        protocol_version: Revision agreed on, such as `2026-07-28`.
        discovered: The raw result of `server/discover` or `initialize`.
        digest: SHA-256 over the definitions, hexadecimal.
        listed_at: Seconds since the epoch.
        ids: The tools' ids by raw name, also of tools that are gone: an id never moves to another tool.
        definitions: The tools.
        private: The server says that the listing is for nobody but whom it was fetched for.
        owner: The principal that it was fetched for; empty where nobody in particular asked.
    """

    server: str
    config_hash: str
    protocol_version: str
    discovered: Mapping[str, Any]
    digest: str
    listed_at: float
    ids: Mapping[str, str]
    definitions: Definitions = field(repr=False)
    private: bool = False
    owner: str = ""

    @property
    def modern(self) -> bool:
        """Whether the server was spoken to without the `initialize` handshake (2026-07-28 and later)."""
        return self.protocol_version >= "2026"

    @property
    def title(self) -> str:
        """What the server calls itself: its title, else its name; empty where it does not tell."""
        info = self.discovered.get("serverInfo")
        meta = self.discovered.get("_meta")
        if not isinstance(info, dict) and isinstance(meta, dict):
            info = cast("dict[str, Any]", meta).get("io.modelcontextprotocol/serverInfo")
        if not isinstance(info, dict):
            return ""
        about = cast("dict[str, Any]", info)
        title = about.get("title") or about.get("name")
        return title if isinstance(title, str) else ""

    @property
    def instructions(self) -> str:
        """The server's own instructions; empty when it has none."""
        text = self.discovered.get("instructions")
        return text if isinstance(text, str) else ""

    @classmethod
    def of_listing(
        cls,
        server: str,
        config_hash: str,
        protocol_version: str,
        discovered: Mapping[str, Any],
        tools: Iterable[Mapping[str, Any]],
        previous: "Snapshot | None" = None,
        *,
        private: bool = False,
        owner: str = "",
    ) -> "Snapshot":
        """A snapshot of a listing just made, with the definitions in memory.

        Args:
            server: The server's id.
            config_hash: Hash of its configuration.
            protocol_version: Revision agreed on.
            discovered: The raw result of `server/discover` or `initialize`.
            tools: All definitions, as sent.
            previous: The listing before, whose ids stay taken.
            private: See `Snapshot`.
            owner: See `Snapshot`.
        """
        definitions = MemoryDefinitions(tools)
        before: Mapping[str, str] = {} if previous is None else previous.ids
        ids = {**before, **tool_ids(server, definitions.names, before)}
        digest = hashlib.sha256(b"\n".join(definitions.lines)).hexdigest()
        now = time.time()
        return cls(server, config_hash, protocol_version, discovered, digest, now, ids, definitions, private, owner)


class SnapshotStore:
    """The folder of snapshots.

    Args:
        folder: Created on the first save.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, server: str, config_hash: str, owner: str = "") -> Snapshot | None:
        """The stored snapshot, or None when there is none or it can't be used.

        Args:
            server: The server's id.
            config_hash: Hash of its configuration.
            owner: The principal that it was fetched for; empty for what nobody in particular asked for.
        """
        try:
            header = parse_line(self._header(server, config_hash, owner).read_bytes())
            if header["format"] != FORMAT or (header["config_hash"], header.get("owner", "")) != (config_hash, owner):
                return None
            digest = str(header["digest"])
            names = cast("list[str]", header["names"])
            spans = _spans(cast("list[int]", header["lengths"]))
            path = self._lines(server, digest, owner)
            if path.stat().st_size != sum(length + 1 for _, length in spans) or len(names) != len(spans):
                return None
            return Snapshot(
                server=server,
                config_hash=config_hash,
                protocol_version=str(header["protocol_version"]),
                discovered=cast("dict[str, Any]", header["discovered"]),
                digest=digest,
                listed_at=float(header["listed_at"]),
                ids=_all_ids(server, names, cast("dict[str, str]", header["ids"])),
                definitions=FileDefinitions(path, names, spans),
                private=header.get("private") is True,
                owner=owner,
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, snapshot: Snapshot) -> Snapshot:
        """Store a snapshot and return it with its definitions left on disk.

        Raises:
            StoreError: The folder can't be written.
        """
        definitions = snapshot.definitions
        lines = (
            definitions.lines
            if isinstance(definitions, MemoryDefinitions)
            else [to_line(definitions.read(index)) for index in range(len(definitions.names))]
        )
        lengths = [len(line) for line in lines]
        header = to_line(
            {
                "format": FORMAT,
                "server": snapshot.server,
                "config_hash": snapshot.config_hash,
                "protocol_version": snapshot.protocol_version,
                "discovered": snapshot.discovered,
                "digest": snapshot.digest,
                "listed_at": snapshot.listed_at,
                "private": snapshot.private,
                "owner": snapshot.owner,
                "ids": {raw: each for raw, each in snapshot.ids.items() if each != f"{snapshot.server}.{raw}"},
                "names": list(definitions.names),
                "lengths": lengths,
            }
        )
        path = self._lines(snapshot.server, snapshot.digest, snapshot.owner)
        try:
            write_whole(path, (line + b"\n" for line in lines))
            write_whole(self._header(snapshot.server, snapshot.config_hash, snapshot.owner), [header])
        except OSError as error:
            raise StoreError(
                f"The snapshot of {snapshot.server} can't be written to {self.folder}: {error.strerror or error}.",
                hint="Make the folder writable, or set TOOLCRIB_STATE_DIR to one that is.",
            ) from error
        self._forget_old(snapshot.server, path)
        return replace(snapshot, definitions=FileDefinitions(path, definitions.names, _spans(lengths)))

    def _header(self, server: str, config_hash: str, owner: str) -> Path:
        return self.folder / f"{server[:80]}-{config_hash[:16]}{_owned(owner)}.json"

    def _lines(self, server: str, digest: str, owner: str) -> Path:
        return self.folder / f"{server[:80]}-{digest[:32]}{_owned(owner)}.tools"

    def _forget_old(self, server: str, current: Path) -> None:
        """Delete a server's older definitions once no process is likely to read them any more."""
        for path in self.folder.glob(f"{server[:80]}-*.tools"):
            with suppress(OSError):
                if path != current and time.time() - path.stat().st_mtime > KEEP_SECONDS:
                    path.unlink()


def _owned(owner: str) -> str:
    """What marks a file as one principal's own; nothing for what is everybody's."""
    return f"-{hashlib.sha256(owner.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}" if owner else ""


def _all_ids(server: str, names: Sequence[str], stored: Mapping[str, str]) -> dict[str, str]:
    """The ids of all names, from those stored: the ones that differ from the name."""
    return {**stored, **{raw: stored.get(raw, f"{server}.{raw}") for raw in names}}


def _spans(lengths: Sequence[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    start = 0
    for length in lengths:
        spans.append((start, length))
        start += length + 1
    return spans
