"""`MontyEngine`: steps a script from one suspension to the next, so that our code decides on each call."""

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pydantic_monty
from pydantic_monty import (
    FunctionSnapshot,
    FutureSnapshot,
    MontyClassProxy,
    MontyComplete,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySyntaxError,
    NameLookupSnapshot,
)

from toolcrib.errors import SandboxError
from toolcrib.sandbox import processes
from toolcrib.sandbox.contract import CallError, Fault, Names, Status
from toolcrib.sandbox.engine import Answer, Blocked, Broken, Called, Engine, Event, Finished, Printed, Reading
from toolcrib.sandbox.limits import Limits
from toolcrib.sandbox.monty.hints import hint_for
from toolcrib.sandbox.monty.modules import module_source
from toolcrib.sandbox.monty.names import Namespaces, function, raised
from toolcrib.sandbox.monty.prelude import ERROR_INFO
from toolcrib.sandbox.monty.rewrite import Rewritten
from toolcrib.sandbox.monty.worker import Crew, Worker

VERSION = pydantic_monty.__version__
"""The state of a script that sleeps is read by no other version."""

_NO_TOOL = re.compile(r"'(?P<server>\w+)' object has no attribute '(?P<tool>\w+)'")
_DRAIN = 0.1
"""Seconds after which what a long turn printed is told."""
_MOST_AHEAD = 32
"""Calls that a script makes in one turn: what it does beyond waits until these are taken."""
_MOST_TRACE = 12
_MOST_MESSAGE = 4_000


class MontyEngine(Engine):
    """One script in one worker.

    Args:
        crew: Whose worker it is; it is given back at the end.
        worker: Where it runs.
        names: What it may call.
        limits: How much it may print.
        script: The script; None when a run is taken up.
        state: The run that is taken up, from `freeze`.

    Raises:
        SandboxError: The state is another version's.
    """

    can_suspend = True

    def __init__(
        self,
        crew: Crew,
        worker: Worker,
        names: Names,
        limits: Limits,
        script: Rewritten,
        state: bytes | None = None,
    ) -> None:
        self._crew = crew
        self._worker = worker
        self._names = names
        self._flood = limits.flood
        self._script = script
        self._data = script.code.encode("utf-8", "replace")
        self._namespaces = Namespaces(names.namespaces)
        self._modules: dict[str, Any] = {}
        self._happened: deque[Called | Printed] = deque()
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._printed_bytes = 0
        self._answers: dict[int, Answer] = {}
        self._sleeps: dict[int, asyncio.Task[None]] = {}
        self._told: dict[str, CallError] = {}
        self._wake = asyncio.Event()
        self._turn: asyncio.Future[Any] | None = None
        self._step: Any = None
        self._feed = f"<python-input-{worker.feeds}>"
        self._dead = False
        self._state = None if state is None else self._read(state)

    async def events(self) -> AsyncGenerator[Event]:
        """As `Engine.events`."""
        try:
            async for event in self._turned(self._first):
                yield event
            while not isinstance(self._step, MontyComplete):
                resume: Any = None
                step = self._step
                if isinstance(step, FutureSnapshot):
                    async for event in self._until_answered(step):
                        yield event
                    resume = partial(step.resume, self._settled(step))
                elif isinstance(step, NameLookupSnapshot):
                    resume = self._looked_up(step)
                elif (name := self._name(step)) is not None:
                    resume = partial(self._called, step, name)
                else:
                    resume = await self._own(step)
                async for event in self._turned(resume):
                    yield event
            yield Finished(self._step.output)
        except MontyError as error:
            for event in self._drained():
                yield event
            yield self._broken(error)
        except RuntimeError as error:
            yield Broken("crashed", Fault("Crash", str(error)[:_MOST_MESSAGE]))

    def answer(self, key: int, answer: Answer) -> None:
        """As `Engine.answer`."""
        if isinstance(answer, CallError):
            self._told[answer.message] = answer
        self._answers[key] = answer
        self._wake.set()

    def kill(self) -> None:
        """As `Engine.kill`."""
        if not self._dead:
            self._dead = True
            self._wake.set()
            # A script that waits is left by leaving its session; only one that works has to be killed.
            if self._turn is not None and not self._turn.done() and self._worker.pid:
                processes.end(self._worker.pid)

    async def aclose(self) -> None:
        """As `Engine.aclose`."""
        for task in self._sleeps.values():
            task.cancel()
        if self._turn is not None:
            await asyncio.wait([self._turn])
            if not self._turn.cancelled():
                self._turn.exception()
        self._crew.dismiss(self._worker)

    def reading(self) -> Reading | None:
        """As `Engine.reading`."""
        return processes.reading(self._worker.pid) if self._worker.pid else None

    async def freeze(self) -> bytes:
        """As `Engine.freeze`."""
        told = [[error.message, error.kind, error.tool, error.data] for error in self._told.values()]
        head = {"version": VERSION, "feed": self._feed, "told": told}
        return json.dumps(head).encode() + b"\n" + await self._crew.call(self._step.dump)

    def opened(self, value: object) -> object:
        """As `Engine.opened`."""
        if isinstance(value, MontyClassProxy):
            return value.attributes
        return value

    def _read(self, state: bytes) -> bytes:
        head, _, dump = state.partition(b"\n")
        read = json.loads(head)
        if read["version"] != VERSION:
            raise SandboxError(
                f"The script was put to sleep by Monty {read['version']}; this is {VERSION}.",
                hint="Run the script again.",
            )
        self._feed = read["feed"]
        for message, kind, tool, data in read["told"]:
            self._told[message] = CallError(message, kind=kind, tool=tool, data=data)
        return dump

    def _first(self) -> Any:
        session = self._worker.session
        if self._state is not None:
            return session.load_snapshot(self._state, print_callback=self._print)
        for module in self._script.modules:
            self._modules[module] = session.feed_run(module_source(module), skip_type_check=True)
            self._worker.feeds += 1
        for name in self._script.hiding:
            session.feed_run(f"try:\n    {name} = {name}\nexcept NameError:\n    pass", skip_type_check=True)
            self._worker.feeds += 1
        self._feed = f"<python-input-{self._worker.feeds}>"
        return session.feed_start(self._script.code, print_callback=self._print, skip_type_check=True)

    async def _turned(self, function: Any) -> AsyncGenerator[Event]:
        """One turn of the interpreter, to where it needs an answer or to the end; tells what it does meanwhile."""
        if self._dead:
            raise RuntimeError("The script was ended.")
        turn = self._turn = self._crew.begin(self._stepped, function)
        turn.add_done_callback(lambda _: self._news.set())
        while not turn.done():
            self._news.clear()
            look = self._loop.call_later(_DRAIN, self._news.set)
            await self._news.wait()
            look.cancel()
            for event in self._drained():
                yield event
        self._step = turn.result()

    def _stepped(self, function: Any) -> Any:
        """One turn, on a thread. The calls that a script makes are told at once, and are under way while it goes on to
        where it awaits one: a thread is not changed for each."""
        step = function()
        for _ in range(_MOST_AHEAD):
            if not isinstance(step, FunctionSnapshot) or (name := self._name(step)) is None:
                break
            step = self._called(step, name)
        return step

    def _called(self, call: FunctionSnapshot, name: str) -> Any:
        """Tell of a call, and go on without its answer; on the thread of the turn."""
        self._happened.append(Called(call.call_id, name, call.args, call.kwargs, self._line(call.position)))
        self._loop.call_soon_threadsafe(self._news.set)
        return call.resume({"future": ...})

    def _print(self, stream: str, text: str) -> None:
        """Called on the thread of the turn."""
        self._printed_bytes += len(text)
        if self._printed_bytes <= 2 * self._flood:
            self._happened.append(Printed(stream, text))
            return
        if self._printed_bytes - len(text) <= 2 * self._flood:
            # A first piece may be larger than all that may be printed: the driver has to see that it was too much.
            self._happened.append(Printed(stream, text[: self._flood + 1]))
        if self._worker.pid:
            processes.end(self._worker.pid)

    def _drained(self) -> Iterator[Called | Printed]:
        while self._happened:
            yield self._happened.popleft()

    async def _until_answered(self, step: FutureSnapshot) -> AsyncGenerator[Event]:
        while not self._dead and not self._ready(step):
            self._wake.clear()
            if any(key in self._sleeps for key in step.pending_call_ids):
                await self._wake.wait()
            else:
                yield Blocked()
        if self._dead:
            raise RuntimeError("The script was ended.")

    def _ready(self, step: FutureSnapshot) -> bool:
        return any(key in self._answers or self._slept(key) for key in step.pending_call_ids)

    def _slept(self, key: int) -> bool:
        return key in self._sleeps and self._sleeps[key].done()

    def _settled(self, step: FutureSnapshot) -> dict[int, Any]:
        """The answers that are there, of those that the script waits for."""
        settled: dict[int, Any] = {}
        for key in step.pending_call_ids:
            if key in self._answers:
                answer = self._answers.pop(key)
                is_error = isinstance(answer, CallError)
                settled[key] = {"exception": raised(answer)} if is_error else {"return_value": answer[0]}
            elif self._slept(key):
                del self._sleeps[key]
                settled[key] = {"return_value": None}
        return settled

    def _looked_up(self, step: NameLookupSnapshot) -> Any:
        name = step.variable_name
        namespace = self._namespaces.name(step.object_id)
        if namespace is not None:
            tool = f"{namespace}.{name}"
            return partial(step.resume, value=function(tool)) if self._names.knows(tool) else step.resume
        if step.object_id is None:
            instance = self._namespaces.instance(name)
            if instance is not None:
                return partial(step.resume, value=instance)
            if name in self._names.functions:
                return partial(step.resume, value=function(name))
        return step.resume

    def _name(self, call: FunctionSnapshot) -> str | None:
        """What the script calls, if it may; None for what is answered here."""
        if call.is_os_function:
            return None
        namespace = self._namespaces.name(call.object_id)
        name = call.function_name if namespace is None else f"{namespace}.{call.function_name}"
        return name if self._names.knows(name) else None

    async def _own(self, call: FunctionSnapshot) -> Any:
        """The answer to what is no call of a tool."""
        name = call.function_name
        if call.is_os_function:
            if name == "import":
                return self._imported(call)
            if name == "system.async_sleep":
                self._sleep(call.call_id, call.args)
                return partial(call.resume, {"future": ...})
            if name == "system.sleep":
                self._sleep(call.call_id, call.args)
                while not self._slept(call.call_id) and not self._dead:
                    self._wake.clear()
                    await self._wake.wait()
                return partial(call.resume, {"return_value": None})
            return call.resume_not_handled
        if name in ERROR_INFO and call.args:
            return partial(call.resume, {"return_value": self._error_info(str(call.args[0]), ERROR_INFO[name])})
        namespace = self._namespaces.name(call.object_id)
        if namespace is not None:
            return partial(call.resume, {"exception": AttributeError(self._no_tool(namespace, name[:100]))})
        text = f"name {name[:100]!r} is not defined. {self._names.hint(name)}".rstrip()
        return partial(call.resume, {"exception": NameError(text)})

    def _no_tool(self, server: str, tool: str) -> str:
        return f"{server} has no tool {tool!r}. {self._names.hint(f'{server}.{tool}')}".rstrip()

    def _imported(self, call: FunctionSnapshot) -> Any:
        name = str(call.args[0]) if call.args else ""
        if name in self._modules:
            return partial(call.resume, {"return_value": self._modules[name]})
        instance = self._namespaces.instance(name)
        if instance is not None:
            return partial(call.resume, {"return_value": instance})
        return call.resume_not_handled

    def _sleep(self, key: int, args: Any) -> None:
        seconds = args[0] if args and isinstance(args[0], (int, float)) else 0.0
        task = asyncio.create_task(asyncio.sleep(min(max(float(seconds), 0.0), 86_400.0)))
        task.add_done_callback(lambda _: self._wake.set())
        self._sleeps[key] = task

    def _error_info(self, text: str, what: str) -> Any:
        error = self._told.get(text)
        if what == "message":
            return text
        if error is None:
            return None if what == "data" else ""
        return error.data if what == "data" else error.tool

    def _line(self, position: Any) -> int | None:
        """Line of the script of a place that Monty tells, in bytes."""
        if position.filename != self._feed:
            return None
        return self._data[: position.start].count(b"\n") + 1

    def _broken(self, error: MontyError) -> Broken:
        if isinstance(error, MontyCrashedError):
            return Broken("crashed", Fault("Crash", "The interpreter's process ended in the middle of the script."))
        inner = error.exception()
        kind, message = type(inner).__name__, str(inner)[:_MOST_MESSAGE]
        trace = self._trace(error)
        status: Status = "script_error"
        if isinstance(error, MontySyntaxError) or isinstance(inner, NotImplementedError):
            status = "rejected" if self._step is None else "script_error"
        elif isinstance(inner, MemoryError):
            status = "memory"
        elif isinstance(inner, TimeoutError) and message.startswith("feed time limit"):
            status, message = "timeout", "It used up its seconds of processor time."
        hint = hint_for(kind, message)
        if message in self._told and kind == "RuntimeError":
            kind = self._told[message].kind
        elif kind == "NameError" and message.count("'") == 2:
            hint = self._names.hint(message.split("'")[1])
        elif kind == "AttributeError" and (missing := _NO_TOOL.fullmatch(message)):
            server, tool = missing["server"], missing["tool"]
            message = self._no_tool(server, tool) if server in self._names.namespaces else message
        line = trace[-1] if trace else None
        return Broken(status, Fault(kind, message, line, hint=hint, trace=tuple(trace)))

    def _trace(self, error: MontyError) -> list[int]:
        if not isinstance(error, (MontyRuntimeError, MontySyntaxError)):
            return []
        lines: list[int] = []
        with suppress(Exception):
            frames = error.traceback()
            lines = [frame.line for frame in frames if frame.filename == self._feed]
        return lines if len(lines) <= _MOST_TRACE else [*lines[: _MOST_TRACE // 2], *lines[-_MOST_TRACE // 2 :]]
