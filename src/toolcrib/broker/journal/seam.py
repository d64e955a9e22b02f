"""The record of calls: the seam that a call passes before it leaves and after it came back."""

from typing import Literal, Protocol

from toolcrib.broker.call import Call, Unsettled
from toolcrib.broker.policy import Decision
from toolcrib.catalog import JsonObject

Ending = Literal["done", "failed", "waiting", "unknown", "denied", "cancelled"]
"""How a call ended: with a result; with an error; not yet, it waits for input; nobody knows; it was not allowed;
it was given up before it was sent."""


class Journal(Protocol):
    """Records what is about to happen, and what became of it."""

    async def started(self, call: Call, decision: Decision) -> Unsettled | None:
        """Record a call before it is sent: one that may have effects durably, a read when there is time.

        A call that is about to be sent once more is recorded once more.

        Returns:
            For a call that may have effects, an earlier one like it whose outcome is unknown; told once.

        Raises:
            StoreError: A call that may have effects can't be recorded; it must not be sent.
        """
        ...

    async def ended(self, call: Call, ending: Ending, detail: str = "", result: JsonObject | None = None) -> None:
        """Record what became of a call that was started; what can't be recorded is no error of the call."""
        ...

    async def stopped(self, call: Call, ending: Ending, decision: Decision, detail: str = "") -> None:
        """Record a call that was not sent: `denied`, `waiting` or `cancelled`."""
        ...


class NoJournal:
    """Records nothing."""

    async def started(self, call: Call, decision: Decision) -> Unsettled | None:
        """Record nothing."""

    async def ended(self, call: Call, ending: Ending, detail: str = "", result: JsonObject | None = None) -> None:
        """Record nothing."""

    async def stopped(self, call: Call, ending: Ending, decision: Decision, detail: str = "") -> None:
        """Record nothing."""
