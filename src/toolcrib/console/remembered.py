"""Whom one-time links have let in: a file of digests, so that a restart signs nobody out."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from toolcrib.config import SharedFile
from toolcrib.errors import StoreError

SESSIONS_FILE = "console.json"
"""Its name in the state folder."""

_MOST = 100


@dataclass(frozen=True, slots=True)
class Remembered:
    """A session.

    Attributes:
        sha256: The SHA-256 of its name, in hex.
        until: When it ends, in seconds since 1970.
    """

    sha256: str
    until: float


class Sessions(SharedFile[Sequence[Remembered]]):
    """The file. One that can't be read or written is none: its visitors need another link.

    Args:
        state_dir: The state folder.
    """

    def __init__(self, state_dir: Path) -> None:
        super().__init__(state_dir / SESSIONS_FILE, (), "sessions")

    def has(self, sha256: str, now: float) -> bool:
        """Whether a session is there that has not ended."""
        with suppress(StoreError):
            return any(each.sha256 == sha256 and each.until > now for each in self.now())
        return False

    def add(self, session: Remembered) -> None:
        """Remember a session, or for how long it lasts by now, and forget the oldest of too many."""
        with suppress(StoreError), self.changing() as known:
            others = [each for each in known if each.sha256 != session.sha256]
            self.write([asdict(each) for each in [*others, session][-_MOST:]])

    def remove(self, sha256: str) -> None:
        """Forget a session."""
        with suppress(StoreError), self.changing() as known:
            kept = [each for each in known if each.sha256 != sha256]
            if len(kept) < len(known):
                self.write([asdict(each) for each in kept])

    def _parsed(self, value: Any) -> Sequence[Remembered]:
        return tuple(Remembered(str(each["sha256"]), float(each["until"])) for each in value)

    def _unusable(self, problem: str) -> StoreError:
        return StoreError(f"Who is signed in to the console can't be told: {self.file}: {problem}.")
