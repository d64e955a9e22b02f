"""More servers than may run at once, and what is left of them when Toolcrib ends, in good order or not."""

import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from bench.processes import TOOLCRIB, Spoken, environment
from bench.stubs import MARK, Census, Stubs
from toolcrib import Crib

_GIVE_UP_SECONDS = 15.0
_POLL_SECONDS = 0.01
_STUBBORN = ("IgnoresSigterm", "Grandchild")
"""The habits of the first servers that are killed: ended by nothing but SIGKILL, and not alone."""


async def measure_cap(folder: Path, servers: int, cap: int) -> dict[str, Any]:
    """Call each of many servers once, all at once, where only some may run.

    Args:
        folder: For the servers' files.
        servers: How many there are.
        cap: How many may run.
    """
    stubs = Stubs(folder / "cap")
    for number in range(servers):
        stubs.add(f"s{number}", start_timeout=120.0)
    answered = 0

    async def call(crib: Crib, number: int) -> None:
        nonlocal answered
        outcome = await crib.call(f"s{number}.echo", {"number": number})
        answered += outcome.result["structuredContent"]["arguments"] == {"number": number}

    begin = time.perf_counter()
    with Census(stubs) as census:
        async with Crib.open(stubs.config(max_running=cap), state_dir=stubs.state) as crib:
            async with anyio.create_task_group() as calls:
                for number in range(servers):
                    calls.start_soon(call, crib, number)
            seconds = time.perf_counter() - begin
    return {
        "servers": servers,
        "cap": cap,
        "unanswered": servers - answered,
        "seconds": round(seconds, 2),
        "most_processes": census.most,
        "samples": census.samples,
        "left_after_close": len(stubs.processes()),
    }


def measure_kill(folder: Path, servers: int) -> dict[str, Any]:
    """Kill `toolcrib serve` while servers run, some of them stubborn, and wait until nothing is left.

    Args:
        folder: For the servers' files.
        servers: How many run.
    """
    stubs = Stubs(folder / "kill")
    for number in range(servers):
        stubs.add(f"s{number}", dict(enumerate(_STUBBORN)).get(number, "Normal"))
    command = [*TOOLCRIB, "serve", "--config", str(stubs.written(max_running=servers))]
    where = {"TOOLCRIB_STATE_DIR": str(stubs.state), "TOOLCRIB_CONFIG_DIR": str(stubs.folder / "config")}
    with Spoken(command, environment(**where, **{MARK: stubs.mark})) as served:
        ask = partial(served.ask, "tools/call", name="get_tool_details")
        for number in range(servers):
            if ask(arguments={"name": f"s{number}.echo"}).get("isError"):
                raise RuntimeError(f"s{number} does not run")
        running = len(stubs.processes())
        begin = time.perf_counter()
        os.kill(served.pid, signal.SIGKILL)
        while (left := len(stubs.processes())) and time.perf_counter() - begin < _GIVE_UP_SECONDS:
            time.sleep(_POLL_SECONDS)
        seconds = time.perf_counter() - begin
    return {"servers": servers, "processes": running, "seconds": round(seconds, 2), "left": left}
