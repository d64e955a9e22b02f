"""Where data came from and where it goes: the seam that sees every result, and is asked about every call."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from toolcrib.broker.call import Call, Caller
from toolcrib.catalog import JsonObject


@dataclass(frozen=True, slots=True)
class Trace:
    """A value in the arguments of a call that an earlier result held.

    Attributes:
        tool_id: The tool whose result held it.
        call_id: The call that gave the result.
        argument: Where in the arguments the value stands, as a JSON Pointer.
        excerpt: The beginning of what both have in common.
    """

    tool_id: str
    call_id: str
    argument: str
    excerpt: str


class DataFlow(Protocol):
    """Remembers what callers have read."""

    def labels(self, caller: Caller) -> frozenset[str]:
        """The labels of all that the caller, or its run, has read so far."""
        ...

    def traces(self, call: Call) -> Sequence[Trace]:
        """Which earlier results of the caller the call's arguments hold values of."""
        ...

    def learned(self, call: Call, result: JsonObject, labels: Iterable[str] = ()) -> None:
        """Take in what a caller has just read.

        Args:
            call: The call.
            result: What came back.
            labels: Labels beside those of the call's tool.
        """
        ...

    async def settle(self, caller: Caller, *, now: bool = False, call: Call | None = None) -> None:
        """Wait until what the caller has read is taken in, so that `traces` need not: for results of megabytes it
        would hold everything up.

        Args:
            caller: Whose traces are asked for next.
            now: Whether they are in any case; else it is waited only where somebody has asked for traces before.
            call: The call that is asked about: where its arguments are large, its traces are looked for here, in a
                thread.
        """
        ...


class NoDataFlow:
    """Remembers nothing."""

    def labels(self, caller: Caller) -> frozenset[str]:
        """None."""
        return frozenset()

    def traces(self, call: Call) -> Sequence[Trace]:
        """None."""
        return ()

    def learned(self, call: Call, result: JsonObject, labels: Iterable[str] = ()) -> None:
        """Remember nothing."""

    async def settle(self, caller: Caller, *, now: bool = False, call: Call | None = None) -> None:
        """Nothing to wait for."""
