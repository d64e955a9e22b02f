"""The time of one call in memory: by the SDK's client alone, and through a crib, as a read and as a recorded write.

All ways stand open side by side and take turns within each round. What a way costs over the SDK's is the median over
the rounds of the difference of their medians.
"""

import asyncio
import statistics
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp import Client

from bench.report import Spread, Target
from bench.upstream import ECHO, server
from toolcrib import Crib

_ECHOED = {"text": "The quick brown fox jumps over the lazy dog."}
_WARM_UP = 50

Way = Callable[[], Awaitable[object]]


class _Reading(Crib):
    """A crib that takes every tool for one that only reads, as a configuration can say of a configured server."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._sources.effects = lambda source_id: ({"*": "read"}, True)


def add_options(parser: ArgumentParser) -> None:
    """The options of this part."""
    parser.add_argument("--calls", type=int, default=4_000, help="calls by each way")
    parser.add_argument("--rounds", type=int, default=40, help="rounds over which they are spread")


def measure(options: Namespace) -> dict[str, Any]:
    """Milliseconds of one call by each way, and what each costs over the SDK's own."""
    with TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        return asyncio.run(_measure(Path(folder), options.calls, options.rounds))


def targets(figures: Mapping[str, Any]) -> list[Target]:
    """The budgets of the figures."""
    over = figures["over_direct_ms"]
    return [
        Target("a read through the broker, over the SDK's own call in memory", over["read"], "ms", 0.3),
        Target("a recorded write on SQLite, over the SDK's own call in memory", over["write"], "ms", 1.0),
    ]


async def _measure(folder: Path, calls: int, rounds: int) -> dict[str, Any]:
    each_round = max(1, calls // rounds)
    times: dict[str, list[list[float]]] = {}
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(server()))
        ways: dict[str, Way] = {"direct": lambda: client.call_tool(ECHO, _ECHOED)}
        for name, kind in (("read", _Reading), ("write", Crib)):
            crib = kind.from_clients({"bare": client}, state_dir=folder / name)
            await stack.enter_async_context(crib)
            ways[name] = _through(crib)
        for way in ways.values():
            await _timed(way, _WARM_UP)
        for turn in range(rounds):
            names = list(ways)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                times.setdefault(name, []).append(await _timed(ways[name], each_round))
    return {
        "ms": {name: asdict(Spread.of([each for part in parts for each in part])) for name, parts in times.items()},
        "over_direct_ms": {name: _over(times[name], times["direct"]) for name in ("read", "write")},
    }


def _through(crib: Crib) -> Way:
    return lambda: crib.call(f"bare.{ECHO}", _ECHOED)


async def _timed(way: Way, calls: int) -> list[float]:
    times: list[float] = []
    for _ in range(calls):
        begin = time.perf_counter()
        await way()
        times.append((time.perf_counter() - begin) * 1000)
    return times


def _over(measured: list[list[float]], base: list[list[float]]) -> float:
    pairs = zip(measured, base, strict=True)
    return round(statistics.median(statistics.median(one) - statistics.median(other) for one, other in pairs), 4)
