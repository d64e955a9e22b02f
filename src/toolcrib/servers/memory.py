"""A ceiling on the memory of all servers together."""

import os
from collections.abc import Callable, Set
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread

from toolcrib.servers.berths import Berths

_SECONDS = 5.0
"""Between two looks."""

_GROUP_FIELD, _RESIDENT_FIELD = 2, 21
"""Process group and resident pages in `/proc/PID/stat`, counted after the name (proc(5): fields 5 and 24)."""


async def keep_below(ceiling: int, berths: Berths, groups: Callable[[], Set[int]]) -> None:
    """Stop idle servers, least recently used first, while all of them together are above a ceiling.

    Without `/proc` nothing is known of other processes, and nothing is done.

    Args:
        ceiling: Bytes.
        berths: Stops servers.
        groups: The process groups of the running servers.
    """
    while True:
        await anyio.sleep(_SECONDS)
        while (running := groups()) and await anyio.to_thread.run_sync(resident_bytes, running) > ceiling:
            if not await berths.shed():
                break


def resident_bytes(groups: Set[int]) -> int:
    """The resident memory of all processes in these groups; 0 where the system does not tell."""
    pages = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[_GROUP_FIELD]) in groups:
                pages += int(fields[_RESIDENT_FIELD])
    return pages * os.sysconf("SC_PAGE_SIZE") if pages else 0
