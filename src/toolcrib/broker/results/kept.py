"""Results that were too large to be answered whole, as files that the instances share.

A result is stored once under the hash of its bytes; each handle is a small file beside it that says what the handle
is for. That file is named after principal and handle together: the folder tells nobody a handle, and to a principal
another one's handle is a name under which there is nothing.
"""

import hashlib
import json
import os
import re
import secrets
import time
from base64 import b32encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

from toolcrib.errors import ToolcribError, shown
from toolcrib.files import write_whole

FOLDER = "results"
"""Where, in the state directory, results are kept."""

_HANDLE = re.compile(r"r_[a-z2-7]{16}")
_ABANDONED = 3_600.0


class UnknownHandleError(ToolcribError):
    """There is no stored result of that handle for whoever asks: it is forged, expired or somebody else's."""

    code = "handle_unknown"

    def __init__(self, handle: str) -> None:
        super().__init__(
            f"There is no stored result {shown(handle)}.", hint="Stored results expire; call the tool again."
        )


@dataclass(frozen=True, slots=True)
class Kept:
    """What a handle stands for.

    Attributes:
        tool_id: The tool, or other target, whose result it is.
        source: The source that it is of.
        name: The tool's own name there; empty for what is no tool's.
        call_id: The call.
        labels: The labels of what it holds.
        is_error: Whether the result is marked as an error.
        digest: SHA-256 of its bytes.
        size: Bytes.
        expires: When it is forgotten, in seconds since 1970.
    """

    tool_id: str
    source: str
    name: str
    call_id: str
    labels: tuple[str, ...] = ()
    is_error: bool = False
    digest: str = ""
    size: int = 0
    expires: float = 0.0


class KeptResults:
    """Stores results and finds them again; every method may wait for the disk.

    Args:
        folder: Where; made at first need.
        seconds: How long a result is kept.
        most_bytes: How much all of them may take; the oldest go first.
        largest: Bytes that one result may have.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        folder: Path,
        *,
        seconds: float,
        most_bytes: int,
        largest: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self.seconds = seconds
        self._most_bytes = most_bytes
        self._largest = largest
        self._clock = clock

    def put(self, principal: str, content: bytes, facts: Kept) -> tuple[str, Kept]:
        """Store a result; its handle, and what is now known of it.

        Args:
            principal: Whose the handle is.
            content: The result as bytes.
            facts: What it is; digest, size and expiry are filled in here.

        Raises:
            OSError: It can't be written, or is larger than one result may be.
        """
        if len(content) > min(self._largest, self._most_bytes):
            raise OSError(f"it has {len(content):,} bytes, more than one stored result may have")
        handle = f"r_{b32encode(secrets.token_bytes(10)).decode().lower()}"
        digest = hashlib.sha256(content).hexdigest()
        now = self._clock()
        facts = replace(facts, digest=digest, size=len(content), expires=now + self.seconds)
        self._make_room(len(content), digest)
        # Written anew also where it is there already: it is now the youngest, and the last to go.
        self._write(self._content_file(digest), content, now)
        self._write(self._handle_file(principal, handle), json.dumps(asdict(facts)).encode(), now)
        return handle, facts

    def facts(self, principal: str, handle: str) -> Kept:
        """What a handle stands for.

        Raises:
            UnknownHandleError: There is none of that handle for the principal, or not any more.
        """
        if not _HANDLE.fullmatch(handle):
            raise UnknownHandleError(handle)
        try:
            facts = _facts(json.loads(self._handle_file(principal, handle).read_bytes()))
        except (OSError, ValueError, TypeError, RecursionError):
            raise UnknownHandleError(handle) from None
        if self._is_over(facts.expires):
            raise UnknownHandleError(handle)
        return facts

    def of_call(self, call_id: str, since: float) -> Kept | None:
        """What is kept of a call's result, whoever's it is; None where nothing is.

        Args:
            call_id: The call.
            since: When it began: what was put before is no result of it.
        """
        handles = [(status.st_mtime, path) for path, status in self._files() if path.suffix == ".handle"]
        for put, path in sorted(handles):
            # A file system's clock is coarser than ours.
            if put < since - 2:
                continue
            with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
                facts = _facts(json.loads(path.read_bytes()))
                if facts.call_id == call_id and not self._is_over(facts.expires):
                    return facts
        return None

    def content(self, handle: str, facts: Kept) -> bytes:
        """The result that a handle stands for, as bytes.

        Raises:
            UnknownHandleError: It had to make room for others, or is damaged.
        """
        try:
            content = self._content_file(facts.digest).read_bytes()
        except OSError:
            raise UnknownHandleError(handle) from None
        if hashlib.sha256(content).hexdigest() != facts.digest:
            raise UnknownHandleError(handle)
        return content

    def _is_over(self, expires: float) -> bool:
        # What would be kept for longer than anything is was written before the clock was put back.
        return not self._clock() < expires <= self._clock() + self.seconds + 1

    def _make_room(self, size: int, digest: str) -> None:
        """Remove what has expired, then the oldest, until a result of that size fits."""
        now = self._clock()
        files = sorted(self._files(), key=lambda each: each[1].st_mtime)
        left = sum(status.st_size for path, status in files if path.stem != digest)
        for path, status in files:
            age = now - status.st_mtime
            if path.suffix == ".new":
                is_old = age > _ABANDONED
            else:
                is_old = age >= self.seconds or left + size > self._most_bytes
            # Another instance may just have stored the same anew.
            if is_old and path.stem != digest and _is_unchanged(path, status):
                with suppress(OSError):
                    path.unlink()
                left -= status.st_size

    def _files(self) -> Iterable[tuple[Path, os.stat_result]]:
        with suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    yield Path(entry.path), entry.stat()

    def _write(self, path: Path, content: bytes, now: float) -> None:
        write_whole(path, [content])
        with suppress(OSError):
            os.utime(path, (now, now))

    def _content_file(self, digest: str) -> Path:
        return self._folder / f"{digest}.json"

    def _handle_file(self, principal: str, handle: str) -> Path:
        named = json.dumps([principal, handle]).encode()
        return self._folder / f"{hashlib.sha256(named).hexdigest()[:32]}.handle"


def _facts(read: Any) -> Kept:
    """What a handle's file says.

    Raises:
        ValueError, TypeError: It is not such a file's content.
    """
    members = cast("dict[str, Any]", read)
    facts = Kept(**{field.name: members[field.name] for field in fields(Kept) if field.name in members})
    if not re.fullmatch(r"[0-9a-f]{64}", facts.digest):
        raise ValueError("no digest")
    return replace(facts, labels=tuple(map(str, facts.labels)), expires=float(facts.expires))


def _is_unchanged(path: Path, status: os.stat_result) -> bool:
    try:
        return path.stat().st_mtime == status.st_mtime
    except OSError:
        return False
