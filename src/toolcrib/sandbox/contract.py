"""What every sandbox promises, and the words in which a script, its calls and its end are spoken of.

A sandbox knows no broker: it is given an async callback for the calls that a script makes.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolcrib.sandbox.limits import DEFAULT_LIMITS, Limits

Language = Literal["python", "typescript", "javascript"]
"""What a script is written in."""

Status = Literal[
    "ok",
    "script_error",
    "rejected",
    "timeout",
    "memory",
    "output_limit",
    "call_limit",
    "stopped",
    "suspended",
    "crashed",
    "protocol_violation",
]
"""How a run ended. `rejected`: refused before its first statement; `stopped`: the callback ended it."""

CallState = Literal["done", "failed", "waiting", "cancelled"]
"""How a call of a script ended: `waiting` for an approval, `cancelled` with the run."""


class CallError(Exception):
    """Raised by the callback: the call failed, and the script may catch it.

    Args:
        message: What the script reads.
        kind: Name of the exception in the script: `ToolError`, or a builtin one of Python.
        tool: Id of the tool.
        data: What else is known, as JSON.
    """

    def __init__(self, message: str, *, kind: str = "ToolError", tool: str = "", data: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.tool = tool
        self.data = data


class StopError(Exception):
    """Raised by the callback: the run ends here, and nothing in the script can catch it or clean up after it."""


class SuspendError(Exception):
    """Raised by the callback: the run is put to sleep until this call can be answered.

    Where the back-end can't (`Description.can_suspend`), the run ends as with `StopError`.
    """


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """A call that a script makes.

    Attributes:
        number: Its place among the calls of the run, from 1.
        name: What is called: `github.create_issue`, or a function such as `search_tools`.
        args: Positional arguments, as JSON.
        kwargs: Keyword arguments, as JSON.
        line: Line of the script, where it is known.
        again: Whether it was asked for before the run was put to sleep.
    """

    number: int
    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    line: int | None = None
    again: bool = False


OnCall = Callable[[ScriptCall], Awaitable[Any]]
"""Makes a call and returns its value as JSON, or raises `CallError`, `StopError` or `SuspendError`."""
OnOutput = Callable[[str, str], None]
"""Is told what is printed as it is printed: the stream (`stdout` or `stderr`) and the text."""


def _no_hint(_name: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Names:
    """What a script may call.

    Attributes:
        namespaces: For each server id that the script may name, the names of its tools.
        functions: Functions without a namespace.
        stubs: Types of both, as the text of a `.pyi` or `.d.ts` file; empty for no check of types.
        hint: What to say about an id that is not among them: near misses.
    """

    namespaces: Mapping[str, Container[str]] = field(default_factory=dict[str, Container[str]])
    functions: frozenset[str] = frozenset()
    stubs: str = ""
    hint: Callable[[str], str] = _no_hint

    def knows(self, name: str) -> bool:
        """Whether a script may call that."""
        namespace, dot, tool = name.partition(".")
        if not dot:
            return name in self.functions
        return namespace in self.namespaces and tool in self.namespaces[namespace]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found before anything ran.

    Attributes:
        line: Line of the script, from 1.
        column: Column, from 1; 0 where it isn't known.
        rule: Short name of the rule: `syntax`, `unsupported`, `unknown-tool`, `not-awaited`, or the checker's own.
        message: What is wrong.
        is_error: Whether the script must not run; else it is a hint.
        hint: What would be right; empty where nobody knows.
    """

    line: int
    column: int
    rule: str
    message: str
    is_error: bool = True
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a run failed.

    Attributes:
        kind: Name of the exception, such as `KeyError`.
        message: Its text.
        line: Line of the script, where it is known.
        source: That line.
        hint: What to do; empty where nobody knows.
        trace: The lines of the script on the way to it, outermost first.
    """

    kind: str
    message: str
    line: int | None = None
    source: str = ""
    hint: str = ""
    trace: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call that was made, and how it ended."""

    number: int
    name: str
    line: int | None
    state: CallState


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run used up.

    Attributes:
        wall: Seconds in all.
        own: Seconds while no call was under way.
        cpu: Seconds of processor time; None where nobody measured.
        memory: Most bytes seen; None where nobody measured.
        calls: Calls made.
        output: Bytes printed.
        arguments: Bytes of arguments, about.
        answers: Bytes of answers, about.
    """

    wall: float
    own: float
    cpu: float | None
    memory: int | None
    calls: int
    output: int
    arguments: int
    answers: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended and what came of it.

    Attributes:
        status: How.
        value: The final value as JSON.
        cut: What was left out of the value, in words; empty when nothing was.
        output: What was printed, head and tail.
        output_cut: Bytes of it that were left out.
        fault: Why it failed; None when it did not.
        calls: Every call that was made.
        usage: What it used up.
        snapshot: What `Sandbox.resume` goes on from, when it was suspended. Not signed: whoever stores it must
            make sure that it comes back unchanged.
    """

    status: Status
    value: Any
    cut: str
    output: str
    output_cut: int
    fault: Fault | None
    calls: tuple[CallRecord, ...]
    usage: Usage
    snapshot: bytes | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """What a sandbox is, for its user and for the model that writes scripts.

    Attributes:
        name: Name of the back-end, as configuration spells it.
        language: What its scripts are written in.
        dialect: What a script can and can't use, in a few lines for a model.
        wall: What stands between a script and this machine: `interpreter + bubblewrap`, say.
        holds_not: What that wall can't hold, a sentence each.
        can_suspend: Whether a run can be put to sleep and taken up by another process.
    """

    name: str
    language: Language
    dialect: str
    wall: str
    holds_not: tuple[str, ...] = ()
    can_suspend: bool = False


class Sandbox(ABC):
    """Runs scripts behind a wall. Used as an async context manager, which starts and closes it.

    A run is ended by cancelling the task that awaits it: its process is killed and its calls are cancelled.
    """

    async def __aenter__(self) -> "Sandbox":
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    @abstractmethod
    async def start(self) -> None:
        """Find a wall that holds, by attempting what is forbidden, and warm up.

        Raises:
            SandboxError: There is none on this machine; the text says why.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """End every process. May be called twice."""

    @property
    @abstractmethod
    def description(self) -> Description:
        """What this sandbox is. Its wall is known once it was started."""

    @abstractmethod
    async def check(self, code: str, names: Names) -> list[Finding]:
        """What is wrong with a script, as far as can be told before it runs. Calls nothing."""

    @abstractmethod
    async def run(
        self,
        code: str,
        names: Names,
        on_call: OnCall,
        *,
        limits: Limits = DEFAULT_LIMITS,
        on_output: OnOutput | None = None,
    ) -> Outcome:
        """Run a script to its end, whatever that is. Whatever else `on_call` raises ends the run and is raised."""

    async def resume(
        self,
        snapshot: bytes,
        names: Names,
        on_call: OnCall,
        *,
        limits: Limits = DEFAULT_LIMITS,
        on_output: OnOutput | None = None,
    ) -> Outcome:
        """Take up a run that was suspended; the calls that it waits for are asked for again.

        Args:
            snapshot: From `Outcome.snapshot`, unchanged: it is trusted.
            names: As for the first part of the run.
            on_call: As there.
            limits: For what is left of it; calls, time and output used before count.
            on_output: As there.

        Raises:
            SandboxError: This back-end can't, or the snapshot is another version's.
        """
        raise NotImplementedError
