"""Thousands of calls over servers of which some crash, hang or babble at random: how each ends, and what is left."""

import asyncio
import gc
import os
import random
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio

from bench.processes import children, resident_mb
from bench.report import Spread
from bench.stubs import Stubs
from toolcrib import Crib
from toolcrib.errors import ProtocolError, ToolcribError
from toolcrib.events import ServerStateChanged

_WORKERS = 16
_FLAKY_TIMEOUT = 0.5
_TIMEOUT = 30.0
_START_TIMEOUT = 30.0
_DEADLINE = 2 * _START_TIMEOUT + 2 * _TIMEOUT
"""Seconds: a start, and a call; both once more where the connection proves to have ended before it was used."""

_OPERATOR_SECONDS = 0.5
_SETTLE_SECONDS = 5.0


@dataclass(frozen=True)
class Holdings:
    """What this process holds."""

    tasks: int
    descriptors: int
    threads: int
    children: int

    @classmethod
    def now(cls) -> "Holdings":
        # A pool keeps its threads for a while after their work is done.
        threads = [each for each in threading.enumerate() if not each.name.startswith("AnyIO worker")]
        return cls(len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd")), len(threads), children(os.getpid()))

    def beyond(self, other: "Holdings") -> dict[str, int]:
        before = asdict(other)
        return {name: max(0, count - before[name]) for name, count in asdict(self).items()}


@dataclass(frozen=True)
class Soak:
    """What to do.

    Attributes:
        calls: How many calls.
        servers: Over how many servers.
        flaky: How many of these misbehave.
        seed: Decides which server each call goes to, and how those that misbehave do.
    """

    calls: int
    servers: int
    flaky: int
    seed: int


async def measure_soak(folder: Path, soak: Soak) -> dict[str, Any]:
    """Make the calls, sixteen at a time."""
    warm = Stubs(folder / "warm")
    warm.add("one")
    async with Crib.open(warm.config(), state_dir=warm.state) as crib:
        await crib.call("one.echo", {})
    before = await _settled(Holdings(0, 0, 0, 0))

    stubs = Stubs(folder / "soak")
    for number in range(soak.servers):
        flaky = number < soak.flaky
        stubs.add(f"s{number}", "Flaky" if flaky else "Normal", timeout=_FLAKY_TIMEOUT if flaky else _TIMEOUT)
    begin = time.perf_counter()
    config = stubs.config(start_timeout=_START_TIMEOUT, max_running=soak.servers)
    async with Crib.open(config, state_dir=stubs.state) as crib:
        run = _Run(crib, soak)
        await run.all()
    seconds = time.perf_counter() - begin
    after = await _settled(before)
    return {
        "calls": soak.calls,
        "servers": soak.servers,
        "flaky": soak.flaky,
        "seed": soak.seed,
        "seconds": round(seconds, 1),
        "ends": dict(run.ends.most_common()),
        "unclear": run.unclear,
        "late": run.late,
        "starts": run.starts,
        "call_ms": asdict(Spread.of(run.milliseconds)),
        "memory_mb": run.memory,
        "memory_ratio": round(run.memory[-1] / run.memory[0], 3),
        "leaked": after.beyond(before),
        "left_after_close": len(stubs.processes()),
    }


class _Run:
    """The calls, and how they ended."""

    def __init__(self, crib: Crib, soak: Soak) -> None:
        self.ends: Counter[str] = Counter()
        self.unclear: list[str] = []
        self.late = 0
        self.starts = 0
        self.milliseconds: list[float] = []
        self.memory: list[float] = []
        self._crib = crib
        self._soak = soak
        chance = random.Random(soak.seed)
        self._calls = iter([(number, chance.randrange(soak.servers)) for number in range(soak.calls)])

    async def all(self) -> None:
        async with anyio.create_task_group() as others:
            others.start_soon(self._count_starts)
            others.start_soon(self._operate)
            async with anyio.create_task_group() as workers:
                for _ in range(_WORKERS):
                    workers.start_soon(self._work)
            others.cancel_scope.cancel()

    async def _work(self) -> None:
        for number, server in self._calls:
            begin = time.perf_counter()
            try:
                with anyio.fail_after(_DEADLINE):
                    end = await self._call(number, server)
            except TimeoutError:
                self.late += 1
                end = "late"
            self.milliseconds.append((time.perf_counter() - begin) * 1000)
            self.ends[end] += 1
            if len(self.milliseconds) % max(1, self._soak.calls // 10) == 0:
                gc.collect()
                self.memory.append(resident_mb(os.getpid()))

    async def _call(self, number: int, server: int) -> str:
        """Make one call; how it ended."""
        arguments = {"seed": self._soak.seed, "number": number}
        try:
            outcome = await self._crib.call(f"s{server}.echo", arguments)
        except ToolcribError as error:
            named = f"s{server}" in error.message
            if not named or server >= self._soak.flaky or isinstance(error, ProtocolError):  # none of them sends errors
                self.unclear.append(f"call {number} of s{server}: {error}")
            return error.code
        except Exception as error:
            self.unclear.append(f"call {number} of s{server}: {error!r}")
            return type(error).__name__
        if outcome.result.get("structuredContent") != {"name": "echo", "arguments": arguments}:
            self.unclear.append(f"call {number} of s{server} got another answer: {outcome.result}")
        return outcome.kind

    async def _count_starts(self) -> None:
        with self._crib.events.subscribe() as changes:
            async for change in changes:
                self.starts += isinstance(change, ServerStateChanged) and change.state == "starting"

    async def _operate(self) -> None:
        """Be the one who does not leave servers alone that failed: without that, they would hardly be called."""
        while True:
            await anyio.sleep(_OPERATOR_SECONDS)
            for status in self._crib.servers:
                if status.state == "backing_off":
                    await self._crib.refresh(status.id)


async def _settled(wanted: Holdings) -> Holdings:
    """What is held once no more than wanted is, or after a while."""
    deadline = time.perf_counter() + _SETTLE_SECONDS
    gc.collect()
    while (now := Holdings.now()).beyond(wanted) != Holdings(0, 0, 0, 0).beyond(wanted):
        if time.perf_counter() > deadline:
            break
        await anyio.sleep(0.05)
    return now
