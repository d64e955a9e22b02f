"""A process that outlives this one by a moment, and ends what this one left behind.

Servers are children in process groups of their own. However this process ends, by SIGKILL too, the pipe to the
watchdog closes; it then ends the groups that it was told of, and whatever else carries this instance's marker: a
parent-death signal would reach only the direct children, and come when a mere thread ends.

Linux is verified. On macOS the groups are ended and markers are not looked for, since another process's environment
can't be read there; on Windows the job object of each server (the SDK's) ends its tree with this process.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Set
from contextlib import suppress
from pathlib import Path

MARKER_VARIABLE = "TOOLCRIB_INSTANCE"
"""Set in every child, so that leftovers of a crashed instance can be told from anybody else's processes."""

_TERM_GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL."""

_KILL_GRACE = 0.2
"""Seconds for SIGKILL to take effect; a group whose dead nobody collects, as in a container without an init, never is
gone."""

_POLL = 0.02

_IN_GOOD_ORDER = ".\n"


class Watchdog:
    """The watchdog of this process, started with the first server.

    Args:
        marker: The instance id that the servers carry in their environment.

    Attributes:
        marker: The same.
    """

    def __init__(self, marker: str) -> None:
        self.marker = marker
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the watchdog, where it does not run; before the server that it is to watch."""
        if sys.platform == "win32" or (self._process is not None and self._process.poll() is None):
            return  # job objects do this on Windows
        self._process = subprocess.Popen(
            # -I -S: nothing of the environment or of site-packages; this file needs the standard library alone.
            [sys.executable, "-I", "-S", __file__, self.marker],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name != MARKER_VARIABLE},
            start_new_session=True,
        )

    def watch(self, group: int) -> None:
        """End this process group when this process has ended."""
        self._tell(f"+{group}\n")

    def forget(self, group: int) -> None:
        """That process group was ended in good order."""
        self._tell(f"-{group}\n")

    def close(self) -> None:
        """All servers were ended in good order."""
        if self._process is not None and self._process.stdin is not None:
            self._tell(_IN_GOOD_ORDER)
            with suppress(OSError):
                self._process.stdin.close()
            self._process.wait()
            self._process = None

    def _tell(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        with suppress(OSError):  # without its watchdog the process still ends its servers when it ends in good order
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()


def marked_processes(marker: str) -> Iterator[int]:
    """The processes that carry an instance's marker, itself and its watchdog left out; Linux only."""
    needle = f"{MARKER_VARIABLE}={marker}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            if needle in (entry / "environ").read_bytes().split(b"\0") and int(entry.name) != os.getpid():
                yield int(entry.name)


def end_processes(groups: Set[int], marker: str) -> None:
    """End process groups, and all that carry the marker: SIGTERM, a moment's grace, SIGKILL."""
    for number, grace in ((signal.SIGTERM, _TERM_GRACE), (signal.SIGKILL, _KILL_GRACE)):
        for group in groups:
            with suppress(OSError):
                os.killpg(group, number)
        for process in marked_processes(marker):
            with suppress(OSError):
                os.kill(process, number)
        deadline = time.monotonic() + grace
        while time.monotonic() < deadline and _any_left(groups, marker):
            time.sleep(_POLL)
        if not _any_left(groups, marker):
            return


def _any_left(groups: Set[int], marker: str) -> bool:
    return any(_alive(group) for group in groups) or next(marked_processes(marker), None) is not None


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def main() -> None:
    """Follow what the watched process says, and end what is left when it says no more."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # whoever ends the watched process must not end this one first
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        if line == _IN_GOOD_ORDER.encode():
            return
        with suppress(ValueError):
            group = int(line[1:])
            groups.add(group) if line[:1] == b"+" else groups.discard(group)
    end_processes(groups, sys.argv[1])


if __name__ == "__main__":
    main()
