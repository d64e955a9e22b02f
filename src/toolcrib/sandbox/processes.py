"""What a process and its children use: read from /proc, where there is one."""

import os
import signal
from contextlib import suppress

from toolcrib.sandbox.engine import Reading

_LONGEST = 65_536
_MOST = 64
"""Processes of one tree that are looked at."""


def reading(pid: int) -> Reading | None:
    """What a process and all below it have used so far; None where it can't be told."""
    try:
        tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    cpu, memory, found = 0.0, 0, False
    waiting = [pid]
    for _ in range(_MOST):
        if not waiting:
            break
        each = waiting.pop()
        try:
            fields = _text(f"/proc/{each}/stat").rpartition(b")")[2].split()
            resident = int(_text(f"/proc/{each}/statm").split()[1])
            children = _text(f"/proc/{each}/task/{each}/children").split()
        except (OSError, ValueError, IndexError):
            continue
        found = True
        # fields 14 and 15 of proc(5), counted from behind the name
        cpu += (int(fields[11]) + int(fields[12])) / tick
        memory += resident * page
        waiting += [int(child) for child in children]
    return Reading(cpu, memory) if found else None


def _text(path: str) -> bytes:
    """What a file of /proc says; in one read, since every script's use is looked at several times."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, _LONGEST)
    finally:
        os.close(descriptor)


def end(pid: int, *, group: bool = False) -> None:
    """End a process at once, with its group if it leads one."""
    with suppress(ProcessLookupError, PermissionError, OSError):
        if group and hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
