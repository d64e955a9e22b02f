"""`Calls`: the calls of one run: looked at, counted, made side by side, and answered."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from toolcrib.sandbox.clock import Clock
from toolcrib.sandbox.contract import (
    CallError,
    CallRecord,
    CallState,
    Fault,
    Names,
    OnCall,
    ScriptCall,
    Status,
    StopError,
    SuspendError,
)
from toolcrib.sandbox.engine import Answer, Called, Engine, Past, Pending
from toolcrib.sandbox.limits import MIB, Limits
from toolcrib.sandbox.values import NotPlainError, plain_arguments
from toolcrib.schema.jsonvalues import is_array, is_object

MOST_NAME = 200
"""Characters of a name in a message."""
MOST_MESSAGE = 20_000
"""Characters of a failure that are handed to the script."""
NEVER_AWAITED = "<coroutine"
"""What a call that was not awaited is, in a value."""

End = Callable[[Status, Fault | None], None]


class Calls:
    """The calls of one run.

    Args:
        engine: Is given the answers.
        past: Calls made before the run was suspended.
        names: What may be called.
        on_call: Makes a call.
        limits: How many, how many at once, how large.
        clock: Stands still while a call is under way.
        end: Ends the run.
        settled: Is told when a call is over.
    """

    def __init__(
        self,
        engine: Engine,
        past: Past,
        names: Names,
        on_call: OnCall,
        limits: Limits,
        clock: Clock,
        end: End,
        settled: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._past = past
        self._names = names
        self._on_call = on_call
        self._limits = limits
        self._clock = clock
        self._end = end
        self._settled = settled
        self._slots = asyncio.Semaphore(limits.in_flight)
        self._tasks: dict[asyncio.Task[None], ScriptCall] = {}
        self._asleep: list[Pending] = []
        self.made = past.calls
        self.delivered = 0
        self.held: dict[int, Answer] = {}
        self.ended: list[CallRecord] = [
            CallRecord(n, name, line, _state(state)) for n, name, line, state in past.records
        ]
        self.crash: BaseException | None = None
        self.argument_bytes = 0
        self.answer_bytes = 0
        self.grace = 0

    @property
    def under_way(self) -> int:
        """Calls that are being made."""
        return len(self._tasks)

    @property
    def to_sleep(self) -> bool:
        """Whether a call asks for the run to be put to sleep."""
        return bool(self._asleep)

    @property
    def waiting(self) -> list[Pending]:
        """The calls that must be asked for again."""
        return list(self._asleep)

    @property
    def records(self) -> tuple[CallRecord, ...]:
        """Every call, in the order in which they were made."""
        asleep = [CallRecord(each.number, each.name, each.line, "waiting") for each in self._asleep]
        return tuple(sorted([*self.ended, *asleep], key=lambda record: record.number))

    def take_up(self) -> None:
        """Ask again for the calls that the run was put to sleep for, and give it the answers that came since."""
        for key, answer in self._past.held.items():
            self._deliver(key, answer)
        for each in self._past.pending:
            call = ScriptCall(each.number, each.name, each.args, each.kwargs, each.line, again=True)
            self._start(call, each.key)

    def make(self, event: Called) -> None:
        """Take a call that the script makes."""
        if self.made >= self._limits.calls:
            self._end("call_limit", Fault("CallLimit", f"It made more than {self._limits.calls} calls.", event.line))
            return
        self.made += 1
        refused = self._refused(event)
        if refused is not None:
            self.ended.append(CallRecord(self.made, str(event.name)[:MOST_NAME], event.line, "failed"))
            self._deliver(event.key, refused)
            return
        try:
            args, kwargs = self._arguments(event)
        except NotPlainError as error:
            self.ended.append(CallRecord(self.made, event.name, event.line, "failed"))
            text = f"An argument of {event.name} {error}."
            self._deliver(event.key, CallError(text, kind="TypeError", tool=event.name))
            return
        self._start(ScriptCall(self.made, event.name, args, kwargs, event.line), event.key)

    async def all_done(self) -> None:
        """Wait until no call is under way."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    async def aclose(self) -> None:
        """Cancel what is under way, and wait for it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _refused(self, event: Called) -> CallError | None:
        if self._names.knows(event.name):
            return None
        name = event.name[:MOST_NAME]
        hint = self._names.hint(event.name) if len(event.name) <= MOST_NAME else ""
        if "." in name:
            server, _, tool = name.partition(".")
            text = f"{server} has no tool {tool!r}. {hint}"
            return CallError(text.rstrip(), kind="AttributeError", tool=name)
        return CallError(f"name {name!r} is not defined. {hint}".rstrip(), kind="NameError", tool=name)

    def _arguments(self, event: Called) -> tuple[list[Any], dict[str, Any]]:
        limit = self._limits.argument_bytes
        made = plain_arguments([list(event.args), dict(event.kwargs)], size=limit, opened=self._engine.opened)
        text = json.dumps(made, ensure_ascii=False)
        if NEVER_AWAITED in text and _holds_never_awaited(made):
            raise NotPlainError("is a call that was never awaited: write `await` before it")
        self.argument_bytes += len(text)
        return made[0], made[1]

    def _start(self, call: ScriptCall, key: int) -> None:
        task = asyncio.create_task(self._perform(call, key))
        self._tasks[task] = call
        task.add_done_callback(self._over)

    async def _perform(self, call: ScriptCall, key: int) -> None:
        self._clock.enter()
        state: CallState = "cancelled"
        answer: Answer | None = None
        try:
            async with self._slots:
                answer = (await self._on_call(call),)
            answer, state = self._bounded(call, answer), "done"
        except CallError as error:
            error.message = error.message[:MOST_MESSAGE]
            answer, state = error, "failed"
        except StopError as error:
            state = "failed"
            self._end("stopped", Fault("Stopped", str(error), call.line))
        except SuspendError as error:
            if not self._engine.can_suspend:
                self._end("stopped", Fault("Stopped", str(error), call.line))
            state = "waiting"
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            state = "failed"
            self.crash = self.crash or error
            self._end("crashed", None)
        finally:
            self._clock.leave()
            self._file(call, key, state, answer)

    def _deliver(self, key: int, answer: Answer) -> None:
        self.delivered += 1
        self._engine.answer(key, answer)

    def _file(self, call: ScriptCall, key: int, state: CallState, answer: Answer | None) -> None:
        if state == "waiting":
            self._asleep.append(Pending(key, call.number, call.name, call.args, call.kwargs, call.line))
            return
        self.ended.append(CallRecord(call.number, call.name, call.line, state))
        if answer is None:
            return
        if self._asleep:
            self.held[key] = answer
        else:
            self._deliver(key, answer)

    def _bounded(self, call: ScriptCall, answer: tuple[Any]) -> Answer:
        """The answer, or a failure where it is too large for a script."""
        try:
            size = len(json.dumps(answer[0], ensure_ascii=False, default=str)) if answer[0] is not None else 4
        except (RecursionError, ValueError):
            text = f"{call.name} answered with something that is nested too deep, or can't be written as JSON."
            return CallError(text, tool=call.name)
        self.answer_bytes += size
        # The memory of a process that is given megabytes is not what the script has asked for.
        self.grace = max(self.grace, min(4 * size, 64 * MIB))
        if size <= self._limits.answer_bytes:
            return answer
        text = f"{call.name} answered with {size:,} bytes; a script is handed at most {self._limits.answer_bytes:,}."
        return CallError(text, tool=call.name)

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._tasks.pop(task, None)
        self._settled()


def _state(text: str) -> CallState:
    return "done" if text == "done" else "failed" if text == "failed" else "cancelled"


def _holds_never_awaited(value: Any) -> bool:
    """Whether a text in a value is what Monty makes of a call that was not awaited."""
    if isinstance(value, str):
        return value.startswith(f"{NEVER_AWAITED} external_future(")
    items = value.values() if is_object(value) else value if is_array(value) else ()
    return any(_holds_never_awaited(item) for item in items)
