"""The note of what Toolcrib has put into a client's file, kept until it is taken out again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.clients.documents import read_bytes, read_servers, with_servers
from toolcrib.clients.known import Client, client
from toolcrib.errors import ConfigError, UsageError


@dataclass(frozen=True, slots=True)
class Record:
    """What was installed where.

    Attributes:
        client: The client.
        path: Its file.
        written: The hash of what was written.
        existed: Whether there was a file before.
        taken: The servers that were taken out, as written, by key.
        original: The hash of what the file was before; empty where an earlier version of Toolcrib installed it.
    """

    client: Client
    path: Path
    written: str
    existed: bool
    taken: Mapping[str, Any]
    original: str = ""

    def to_bytes(self) -> bytes:
        """The record as it is kept; the servers in the client's own format, since JSON has no form for a date."""
        taken = with_servers(None, self.client.format, (self.client.root,), "the note", put=self.taken)
        members = {"client": self.client.id, "path": str(self.path), "written": self.written, "existed": self.existed}
        return json.dumps({**members, "taken": taken.decode(), "original": self.original}).encode()

    @classmethod
    def of(cls, path: Path) -> "Record | None":
        """The record that a file holds; None where there is none.

        Raises:
            ConfigError: It is damaged, or a later version of Toolcrib has written it.
        """
        data = read_bytes(path)
        if data is None:
            return None
        try:
            members: dict[str, Any] = json.loads(data)
            owner, place = client(members["client"]), Path(members["path"])
            taken: Mapping[str, Any] | str = members["taken"]
            if isinstance(taken, str):  # earlier versions wrote an object
                taken = read_servers(taken.encode(), owner.format, (owner.root,), "the note")
            original = members.get("original", "")
            return cls(owner, place, members["written"], members["existed"], dict(taken), original)
        except (ConfigError, UsageError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            before = path.with_suffix(".before")
            raise ConfigError(
                f"{path}, which says what Toolcrib has put into a client's file, can't be read.",
                hint=f"Correct that file by hand, then remove the note. What it was before is in {before}."
                if before.exists()
                else "Correct that file by hand, then remove the note.",
            ) from None
