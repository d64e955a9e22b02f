"""`drive`: runs one script in one engine and keeps every budget. Shared by all back-ends.

Nothing that comes from an engine is trusted: names are looked up, calls and bytes counted, values walked within a
budget, and the end that a child reports is one only if it is still allowed to run.
"""

import asyncio
from contextlib import suppress
from typing import Any

from toolcrib.sandbox.calls import Calls
from toolcrib.sandbox.clock import Clock
from toolcrib.sandbox.contract import Fault, Names, OnCall, OnOutput, Outcome, Status, Usage
from toolcrib.sandbox.engine import Blocked, Broken, Called, Engine, Event, Finished, Past, Printed
from toolcrib.sandbox.limits import Limits
from toolcrib.sandbox.output import Output
from toolcrib.sandbox.snapshots import pack
from toolcrib.sandbox.values import Plain, plain

POLL = 0.05
"""Seconds between two looks at what a process has used."""
_SLOW_POLL = 0.25
LAST_CALLS = 30.0
"""Seconds at most for calls still under way when a script ends that never awaited them."""


async def drive(
    engine: Engine,
    past: Past,
    names: Names,
    on_call: OnCall,
    limits: Limits,
    on_output: OnOutput | None = None,
) -> Outcome:
    """Run a script to its end, or to where it is put to sleep.

    Args:
        engine: What runs it; not yet started. Is closed at the end.
        past: The script, and what it did before where it is taken up again.
        names: What it may call.
        on_call: Makes its calls.
        limits: Its budgets.
        on_output: Is told what it prints.
    """
    return await _Run(engine, past, names, on_call, limits, on_output).to_the_end()


class _Run:
    def __init__(
        self,
        engine: Engine,
        past: Past,
        names: Names,
        on_call: OnCall,
        limits: Limits,
        on_output: OnOutput | None,
    ) -> None:
        self._engine = engine
        self._past = past
        self._limits = limits
        self._on_output = on_output
        self._output = Output(limits.output, past.output)
        self._clock = Clock(past.wall, past.own)
        self._calls = Calls(engine, past, names, on_call, limits, self._clock, self._end, self._settled)
        self._status: Status | None = None
        self._fault: Fault | None = None
        self._value: Plain = Plain(None)
        self._snapshot: bytes | None = None
        self._cpu = past.cpu
        self._memory: int | None = None
        self._quiet = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    async def to_the_end(self) -> Outcome:
        self._clock.start()
        self._look(POLL)
        try:
            self._calls.take_up()
            await self._listen()
            if self._status is None:
                self._end("crashed", Fault("Crash", "The script's process ended without a word."))
        finally:
            self._clock.stop()
            if self._timer:
                self._timer.cancel()
            self._read()
            self._engine.kill()
            await asyncio.shield(self._clean_up())
        if self._calls.crash is not None:
            raise self._calls.crash
        return self._outcome()

    async def _listen(self) -> None:
        events = self._engine.events()
        try:
            async for event in events:
                if self._status is None:
                    await self._take(event)
                if self._status is not None:
                    break
        finally:
            self._engine.kill()
            with suppress(Exception):
                await events.aclose()

    async def _take(self, event: Event) -> None:
        match event:
            case Called():
                self._calls.make(event)
            case Printed():
                self._print(event)
            case Blocked():
                await self._wait_for_calls()
            case Finished():
                limits = self._limits
                self._value = plain(
                    event.value,
                    nodes=limits.result_nodes,
                    depth=limits.result_depth,
                    size=limits.result_bytes,
                    opened=self._engine.opened,
                )
                await self._finish_calls()
                self._end("ok")
            case Broken():
                await self._finish_calls()
                self._end(event.status, event.fault)

    def _print(self, event: Printed) -> None:
        self._output.add(event.text)
        if self._on_output and self._output.total <= self._limits.flood:
            self._on_output(event.stream, event.text)
        if self._output.total > self._limits.flood:
            self._end("output_limit", Fault("OutputLimit", f"It printed more than {self._limits.flood:,} bytes."))

    async def _finish_calls(self) -> None:
        """A call that nobody awaited is under way all the same; its outcome should be known."""
        if self._status is None and self._calls.under_way:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._calls.all_done(), LAST_CALLS)

    def _settled(self) -> None:
        """A call is over: the engine has an answer, or the run may be put to sleep."""
        self._quiet.set()

    async def _wait_for_calls(self) -> None:
        """Until the engine has an answer to go on with, or the run is put to sleep: once no call is under way."""
        delivered = self._calls.delivered
        while self._status is None and self._calls.delivered == delivered:
            self._quiet.clear()
            if self._calls.to_sleep and not self._calls.under_way:
                state = await self._engine.freeze()
                self._clock.stop()
                self._read()
                self._snapshot = pack(self._leave(), state)
                self._end("suspended")
                return
            await self._quiet.wait()

    def _leave(self) -> Past:
        return Past(
            code=self._past.code,
            calls=self._calls.made,
            pending=self._calls.waiting,
            held=self._calls.held,
            records=[(each.number, each.name, each.line, each.state) for each in self._calls.ended],
            wall=self._clock.wall,
            own=self._clock.own,
            cpu=self._cpu,
            output=self._output.text,
        )

    def _end(self, status: Status, fault: Fault | None = None) -> None:
        """The run is over. The first reason stands; the engine is killed and its last events are dropped."""
        if self._status is None:
            self._status = status
            self._fault = fault
            self._quiet.set()
            self._engine.kill()

    def _look(self, delay: float) -> None:
        """See again soon whether a budget is spent."""
        limits = self._limits
        delay = min(delay, max(limits.total - self._clock.wall, 0.001))
        if self._clock.is_running:
            delay = min(delay, max(limits.wall - self._clock.own, 0.001))
        self._timer = asyncio.get_running_loop().call_later(delay, self._watch)

    def _watch(self) -> None:
        limits = self._limits
        if self._status is not None:
            return
        has_reading = self._read()
        if self._clock.wall >= limits.total:
            self._end("timeout", Fault("Timeout", f"It took more than {limits.total:g} s, calls included."))
        elif self._clock.own >= limits.wall:
            self._end("timeout", Fault("Timeout", f"It took more than {limits.wall:g} s, without its calls."))
        elif self._cpu >= limits.cpu + 0.2:
            self._end("timeout", Fault("Timeout", f"It used more than {limits.cpu:g} s of processor time."))
        elif (self._memory or 0) > limits.memory + self._engine.baseline + self._calls.grace:
            self._end("memory", Fault("MemoryError", f"It used more than {limits.memory:,} bytes of memory."))
        else:
            self._look(POLL if has_reading else _SLOW_POLL)

    def _read(self) -> bool:
        reading = self._engine.reading()
        if reading is not None:
            self._cpu = max(self._cpu, self._past.cpu + reading.cpu)
            self._memory = max(self._memory or 0, reading.memory)
        return reading is not None

    async def _clean_up(self) -> None:
        await self._calls.aclose()
        await self._engine.aclose()

    def _outcome(self) -> Outcome:
        fault = self._fault
        if fault and fault.line and not fault.source:
            fault = _with_source(fault, self._past.code)
        return Outcome(
            status=self._status or "crashed",
            value=self._value.value if self._status == "ok" else None,
            cut=self._value.cut if self._status == "ok" else "",
            output=self._output.text,
            output_cut=self._output.cut,
            fault=fault,
            calls=self._calls.records,
            usage=Usage(
                wall=self._clock.wall,
                own=self._clock.own,
                cpu=self._cpu or None,
                memory=self._memory or None,
                calls=self._calls.made,
                output=self._output.total,
                arguments=self._calls.argument_bytes,
                answers=self._calls.answer_bytes,
            ),
            snapshot=self._snapshot,
        )


def _with_source(fault: Fault, code: str) -> Fault:
    """The fault with its own line of the script as it was written."""
    lines = code.splitlines()
    line = fault.line or 0
    source: Any = lines[line - 1].strip()[:200] if 0 < line <= len(lines) else ""
    return Fault(fault.kind, fault.message, fault.line, source, fault.hint, fault.trace)
