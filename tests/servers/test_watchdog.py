"""However Toolcrib ends, its servers end with it, and what they started too."""

import json
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE, Popen
from time import monotonic
from typing import Any
from uuid import uuid4

import pytest

from toolcrib.servers.watchdog import Watchdog, marked_processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads other processes' environment in /proc")

PROGRAM = """
import asyncio, json, sys
from toolcrib import Crib

async def main():
    async with Crib.open(json.loads(sys.argv[1]), state_dir=sys.argv[2]) as crib:
        await crib.refresh()
        print(crib.instance, *[server.state for server in crib.servers], flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def until(condition: Callable[[], Any]) -> None:
    deadline = monotonic() + 10
    while not condition():
        assert monotonic() < deadline


def marked_by_arguments(marker: str) -> list[int]:
    """The watchdogs of an instance."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if marker.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def test_servers_and_their_children_end_when_toolcrib_is_killed(stub: Any, tmp_path: Path) -> None:
    servers = {"parent": stub("Grandchild").entry, "deaf": stub("IgnoresSigterm").entry}
    words = [sys.executable, "-c", PROGRAM, json.dumps({"mcpServers": servers}), str(tmp_path)]
    with Popen(words, stdout=PIPE, text=True) as toolcrib:
        assert toolcrib.stdout is not None
        marker, *states = toolcrib.stdout.readline().split()
        assert states == ["ready", "ready"]
        assert len(list(marked_processes(marker))) >= 3
        toolcrib.send_signal(signal.SIGKILL)
        toolcrib.wait()
        until(lambda: not list(marked_processes(marker)))


def test_a_group_that_was_ended_in_good_order_is_left_alone_afterwards() -> None:
    watchdog = Watchdog(uuid4().hex)
    watchdog.start()
    with Popen([sys.executable, "-S", "-c", "input()"], stdin=PIPE, start_new_session=True) as other:
        watchdog.watch(other.pid)
        watchdog.forget(other.pid)
        watchdog.close()
        assert other.poll() is None
        other.communicate(b"\n")
    assert other.returncode == 0


def test_closing_in_good_order_ends_nothing_and_leaves_no_process() -> None:
    marker = uuid4().hex  # other runs of this test may have a watchdog too
    watchdog = Watchdog(marker)
    watchdog.close()
    watchdog.start()
    watchdog.start()
    until(lambda: marked_by_arguments(marker))  # it is this program's own copy until it has become the watchdog
    [process] = marked_by_arguments(marker)
    watchdog.close()
    assert not Path(f"/proc/{process}").exists()
