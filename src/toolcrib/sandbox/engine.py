"""`Engine`: one script in one back-end, as the driver sees it."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from toolcrib.sandbox.contract import CallError, Fault, Status


@dataclass(frozen=True, slots=True)
class Called:
    """The script calls something.

    Attributes:
        key: The engine's own number for the call.
        name: Whatever the script says that it calls.
        args: Positional arguments, not yet looked at.
        kwargs: Keyword arguments, not yet looked at.
        line: Line of the script.
    """

    key: int
    name: str
    args: Any
    kwargs: Any
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Printed:
    """The script printed something."""

    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """The script waits for calls and can do nothing else, and the engine has no answer that it was not given."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The script came to its end; its final value is not yet looked at."""

    value: Any


@dataclass(frozen=True, slots=True)
class Broken:
    """The script, or what runs it, failed."""

    status: Status
    fault: Fault


Event = Called | Printed | Blocked | Finished | Broken
Answer = CallError | tuple[Any]
"""A failure, or the value in a tuple."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a run has used of the machine so far: seconds of processor time, bytes of memory."""

    cpu: float
    memory: int


@dataclass(frozen=True, slots=True)
class Pending:
    """A call that a suspended run waits for."""

    key: int
    number: int
    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    line: int | None


@dataclass(slots=True)
class Past:
    """What a run did before it was suspended.

    Attributes:
        code: The script.
        calls: How many calls it made.
        pending: The calls that it waits for.
        held: Answers that it has not been given yet, by the engine's number.
        records: Calls that ended, as `[number, name, line, state]`.
        wall: Seconds in all.
        own: Seconds while no call was under way.
        cpu: Seconds of processor time.
        output: What it printed.
    """

    code: str
    calls: int = 0
    pending: list[Pending] = field(default_factory=list[Pending])
    held: dict[int, Answer] = field(default_factory=dict[int, Answer])
    records: list[tuple[int, str, int | None, str]] = field(default_factory=list[tuple[int, str, int | None, str]])
    wall: float = 0.0
    own: float = 0.0
    cpu: float = 0.0
    output: str = ""


class Engine(ABC):
    """One script that is being run."""

    can_suspend = False
    baseline = 0
    """Bytes of memory that are not the script's."""

    @abstractmethod
    def events(self) -> AsyncGenerator[Event]:
        """Start, and tell what happens, to the end. Ends soon after `kill`, in any case."""

    @abstractmethod
    def answer(self, key: int, answer: Answer) -> None:
        """Answer a call."""

    @abstractmethod
    def kill(self) -> None:
        """End the script at once, whatever it does. May be called at any time, and twice."""

    @abstractmethod
    async def aclose(self) -> None:
        """Clean up after the end; leave no process."""

    def opened(self, value: object) -> object:
        """An object of the engine's own as something that `plain` knows."""
        return value

    def reading(self) -> Reading | None:
        """What it has used so far; None where nobody can tell."""
        return None

    async def freeze(self) -> bytes:
        """The state of a script that is blocked, for `can_suspend`."""
        raise NotImplementedError
