"""Starts that must not be made twice: many first calls at once, and the wait for a server silent to the probe."""

import time
from pathlib import Path
from typing import Any

import anyio

from bench.stubs import Stubs
from toolcrib import Crib


async def measure_storm(folder: Path, calls: int) -> dict[str, Any]:
    """Make many first calls of one server at once.

    Args:
        folder: For the server's files.
        calls: How many.
    """
    stubs = Stubs(folder / "storm")
    stubs.add("one")
    answered: list[int] = []

    async def call(crib: Crib, number: int) -> None:
        outcome = await crib.call("one.echo", {"number": number})
        answered.append(outcome.result["structuredContent"]["arguments"]["number"])

    async with Crib.open(stubs.config(), state_dir=stubs.state) as crib, anyio.create_task_group() as tasks:
        for number in range(calls):
            tasks.start_soon(call, crib, number)
    return {
        "calls": calls,
        "unanswered": len(set(range(calls)).difference(answered)),
        "starts": stubs.starts("one"),
    }


async def measure_probe(folder: Path, wait: float) -> dict[str, Any]:
    """Start a server that is silent to `server/discover`, three times: twice in one crib, and in another one.

    Args:
        folder: For the server's files.
        wait: Seconds that the probe waits.
    """
    stubs = Stubs(folder / "probe")
    stubs.add("silent", "SilentToProbe", start_timeout=2 * wait)  # the probe waits for half of it
    seconds: list[float] = []
    for starts in (2, 1):
        async with Crib.open(stubs.config(), state_dir=stubs.state) as crib:
            for _ in range(starts):
                begin = time.perf_counter()
                [status] = await crib.refresh("silent")
                seconds.append(round(time.perf_counter() - begin, 2))
                if status.state != "ready":
                    raise RuntimeError(f"the silent server did not start: {status.reason}")
    return {
        "wait_seconds": wait,
        "probes": stubs.received("silent", "server/discover"),
        "first_start_seconds": seconds[0],
        "later_start_seconds": max(seconds[1:]),
    }
