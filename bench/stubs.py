"""The stub servers of the tests as servers of a bench, and the processes that came of them."""

import json
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.processes import ROOT

MARK = "TOOLCRIB_BENCH"
"""Set in every process of a bench, so that it is found wherever it went."""

_PROGRAM = ROOT / "tests" / "stubs" / "misbehave.py"
_SAMPLE_SECONDS = 0.01


class Stubs:
    """The stub servers of one measurement.

    Args:
        folder: For their configuration, what they write down, and the state of who uses them.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.state = folder / "state"
        self.mark = secrets.token_hex(8)
        self._entries: dict[str, dict[str, Any]] = {}

    def add(self, name: str, mode: str = "Normal", **options: Any) -> None:
        """Configure one more.

        Args:
            name: Its key.
            mode: Its habit; see `tests/stubs/misbehave.py`.
            options: Its `toolcrib` object.
        """
        self._entries[name] = {
            "command": sys.executable,
            # -S: without site-packages the interpreter starts in half the time.
            "args": ["-S", str(_PROGRAM), mode, "--log", str(self._log(name))],
            "env": {MARK: self.mark},
            "toolcrib": options,
        }

    def config(self, **settings: Any) -> dict[str, Any]:
        """The configuration of all of them, with settings for all together."""
        return {"mcpServers": self._entries, "toolcrib": settings}

    def written(self, **settings: Any) -> Path:
        """A file with that configuration."""
        path = self.folder / "mcp.json"
        path.write_text(json.dumps(self.config(**settings)), encoding="utf-8")
        return path

    def starts(self, name: str) -> int:
        """How often one was started."""
        return sum(record["event"] == "start" for record in self._records(name))

    def received(self, name: str, method: str) -> int:
        """How many messages of a method reached one."""
        return sum(record.get("message", {}).get("method") == method for record in self._records(name))

    def processes(self) -> list[int]:
        """The processes that are left of them, and of who else was started with the mark; Linux only."""
        return list(_carrying(f"{MARK}={self.mark}".encode()))

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _records(self, name: str) -> list[dict[str, Any]]:
        log = self._log(name)
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


class Census:
    """Counts the processes of stub servers, again and again until the block ends.

    Attributes:
        most: The most at one time.
        samples: How often they were counted.
    """

    def __init__(self, stubs: Stubs) -> None:
        self.most = 0
        self.samples = 0
        self._stubs = stubs
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._count)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _count(self) -> None:
        while not self._done.wait(_SAMPLE_SECONDS):
            self.most = max(self.most, len(self._stubs.processes()))
            self.samples += 1


def _carrying(variable: bytes) -> Iterator[int]:
    """The processes with this in their environment; one that waits to be collected has none."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if variable in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)
