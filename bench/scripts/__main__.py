"""What a script costs beside its calls, and what code mode saves a model: one document."""

import asyncio
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from bench.peers import NoPeerError
from bench.processes import ROOT, children
from bench.report import Spread, Target, arguments, emit
from bench.scripts.peer import CodeModePeer, code_mode
from bench.scripts.plain import ended
from bench.scripts.tasks import TASKS
from bench.scripts.tokens import CountingCrib, spent
from toolcrib import Crib
from toolcrib.config import config_from_mapping
from toolcrib.demo import demo_config
from toolcrib.errors import SandboxError

_WARM = 5


async def noop(number: int = 0) -> dict[str, int]:
    """Do nothing."""
    return {"number": number}


async def wait(seconds: float) -> dict[str, float]:
    """Wait."""
    await asyncio.sleep(seconds)
    return {"seconds": seconds}


HOST = """
import asyncio, sys
from toolcrib import Crib
from bench.scripts.__main__ import noop

async def main():
    async with Crib.from_clients({}, state_dir=sys.argv[2]) as crib:
        crib.add_functions(noop, server="box")
        assert (await crib.run_code(sys.argv[1])).ok

asyncio.run(main())
"""
"""A host process of one script."""
ONE = "await box.noop(number=1)"
MANY = "for n in range(200):\n    await box.noop(number=n)"
SIDE_BY_SIDE = "import asyncio\nawait asyncio.gather(*[box.wait(seconds=0.1) for _ in range(50)])\nNone"


async def _spread(count: int, work: Callable[[], Awaitable[Any]]) -> Spread:
    """Milliseconds of a piece of work, over some runs."""
    taken: list[float] = []
    for place in range(count + _WARM):
        begun = time.perf_counter()
        await work()
        if place >= _WARM:
            taken.append((time.perf_counter() - begun) * 1000)
        await asyncio.sleep(0.05)  # a spare process is made beside the next script
    return Spread.of(taken)


async def _times(state: Path, runs: int) -> dict[str, Any]:
    async with Crib.from_clients({}, state_dir=state) as crib:
        crib.add_functions(noop, wait, server="box")

        async def script(code: str) -> None:
            outcome = await crib.run_code(code)
            assert outcome.ok, outcome

        one = await _spread(runs, lambda: script(ONE))
        check = await _spread(runs, lambda: crib.check_code(ONE))
        call = await _spread(runs, lambda: crib.call("box.noop", {"number": 1}))
        many = await _spread(max(5, runs // 4), lambda: script(MANY))
        beside = await _spread(max(5, runs // 8), lambda: script(SIDE_BY_SIDE))
    return {
        "script of one call, ms": one.median,
        "its check alone, ms": check.median,
        "the same call by the broker, ms": call.median,
        "each further call beyond the broker, ms": round((many.median - one.median) / 199 - call.median, 3),
        "50 calls of 100 ms side by side, ms": beside.median,
    }


async def _check_of_40_lines(state: Path, runs: int) -> float:
    """Milliseconds for checking forty lines that name thirty tools of the demo servers."""
    async with Crib.open(demo_config(), state_dir=state) as crib:
        await crib.refresh()
        named = [tool.id for tool in await crib.tools()][:30]
        lines = [f"f{place} = {tool}" for place, tool in enumerate(named)] + ["x = 1"] * 10
        return (await _spread(runs, lambda: crib.check_code("\n".join(lines)))).median


async def _growth(state: Path, runs: int) -> dict[str, Any]:
    """Megabytes and descriptors before and after many runs."""
    async with Crib.from_clients({}, state_dir=state) as crib:
        crib.add_functions(noop, server="box")
        for _ in range(min(50, runs)):
            await crib.run_code(ONE)
        before = await _used()
        for _ in range(runs):
            await crib.run_code(ONE)
        after = await _used()
    grown = {"memory": round(after[0] / before[0], 3)}
    return {"runs": runs, **grown, "descriptors": after[1] - before[1], "processes": after[2] - before[2]}


async def _used() -> tuple[float, int, int]:
    """Megabytes, descriptors and child processes of this process, once what is made ahead is made."""
    await asyncio.sleep(0.3)
    return _resident(), len(os.listdir("/proc/self/fd")), children(os.getpid())


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1024 / 1024


async def _tokens(state: Path) -> dict[str, Any]:
    config = config_from_mapping({**demo_config(), "toolcrib": {"first_listing_wait": 60}})
    async with CountingCrib(config, state_dir=state) as crib:
        await crib.refresh()
        return {task.name: await spent(crib, task) for task in TASKS}


async def _measure(options: Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        figures: dict[str, Any] = {
            "machine": f"Python {platform.python_version()}, pydantic-monty {version('pydantic-monty')}, "
            f"{os.cpu_count()} cores",
            "times": await _times(state / "times", options.runs),
            "check of 40 lines that name 30 tools, ms": await _check_of_40_lines(state / "check", options.runs),
            "growth": await _growth(state / "growth", options.many),
        }
        tasks = await _tokens(state / "tokens")
    figures["exits"] = _exits(options.exits)
    figures["plain scripts"] = await _plain_scripts()
    if options.peers:
        try:
            peer = await asyncio.to_thread(code_mode, options.runs)
        except NoPeerError as error:
            figures["peer"] = str(error)
        else:
            figures["peer"] = _beside(peer, tasks)
    else:
        figures["peer"] = "left out (--no-peers)"
    figures["tokens"] = {name: json.dumps(row) for name, row in tasks.items()}
    for name in ("saved_percent", "saved_percent_of_all_requests"):
        figures[name] = round(median(row[name] for row in tasks.values()), 1)
    return figures


def _beside(peer: CodeModePeer, tasks: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The peer's figures. Its tokens are those up to the script, beside ours up to there: script and answer would be
    the same."""
    return {
        "peer": f"FastMCP {peer.version}, CodeMode",
        "script of one call, ms": peer.one,
        "each further call beyond the call by itself, ms": peer.further,
        "tokens up to the script, median": median(peer.tokens.values()),
        "the same here": median(row["looked"] for row in tasks.values()),
    }


def _exits(count: int) -> dict[str, int]:
    """How many host processes of `count` ended with 0 that opened a crib, ran a script and left."""
    program = [sys.executable, "-c", HOST, ONE]
    codes: list[int] = []
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            codes.append(subprocess.run([*program, folder], check=False, capture_output=True, cwd=ROOT).returncode)
    return {"runs": count, "ended with 0": codes.count(0)}


async def _plain_scripts() -> dict[str, Any]:
    """How many of 25 plain scripts each dialect runs."""
    found: dict[str, Any] = {}
    for name in ("python", "python-full"):
        try:
            found[name] = await ended(name)
        except SandboxError as error:
            found[name] = str(error)
    return found


def _targets(figures: dict[str, Any]) -> list[Target]:
    times, growth = figures["times"], figures["growth"]
    peer: Any = figures["peer"]
    whole, check = times["script of one call, ms"], times["its check alone, ms"]
    found = [
        Target("start and one call, after the check", round(whole - check, 2), "ms", 5),
        Target("the same with the check", whole, "ms", 30),
        Target("each further call, beyond the broker", times["each further call beyond the broker, ms"], "ms", 0.3),
        Target("50 calls of 100 ms side by side", times["50 calls of 100 ms side by side, ms"], "ms", 130),
        Target("check of 40 lines that name 30 tools", figures["check of 40 lines that name 30 tools, ms"], "ms", 60),
        Target(f"memory after {growth['runs']} runs", growth["memory"], "x", 1.05),
        Target("descriptors more than before", growth["descriptors"], "", 0),
        Target("processes more than before", growth["processes"], "", 0),
        Target(
            f"hosts that ended with 0, of {figures['exits']['runs']}",
            figures["exits"]["ended with 0"],
            "",
            figures["exits"]["runs"],
            "higher",
        ),
        Target(
            "tokens saved over calling tools directly, median of 20 tasks", figures["saved_percent"], "%", 90, "higher"
        ),
    ]
    for name, least in (("python", 24), ("python-full", 25)):
        if isinstance(figures["plain scripts"][name], int):
            found.append(
                Target(f"plain scripts of 25 that run in {name}", figures["plain scripts"][name], "", least, "higher")
            )
    if not isinstance(peer, str):
        per_call = "each further call beyond the call by itself, ms"
        looked = peer["the same here"]
        found += [
            Target(
                "start and one call beside the peer's, which checks nothing",
                round(whole - check, 2),
                "ms",
                peer["script of one call, ms"],
            ),
            Target(
                "each further call, beside the peer's",
                times["each further call beyond the broker, ms"],
                "ms",
                peer[per_call],
            ),
            Target("tokens up to the script, beside the peer's", looked, "", peer["tokens up to the script, median"]),
        ]
    return found


def main() -> None:
    parser = arguments("What code mode costs, and what it saves.")
    parser.add_argument("--runs", type=int, default=40, help="runs of each time")
    parser.add_argument("--many", type=int, default=1_000, help="runs after which memory is looked at")
    parser.add_argument("--exits", type=int, default=200, help="host processes whose exit code is looked at")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="leave the peer out")
    options = parser.parse_args()
    figures = asyncio.run(_measure(options))
    emit("scripts", figures, _targets(figures), as_json=options.json)


if __name__ == "__main__":
    main()
