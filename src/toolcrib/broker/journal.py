"""The record of calls: the seam that an effect passes before it leaves and after it came back."""

from typing import Literal, Protocol

from toolcrib.broker.call import Call

Ending = Literal["done", "failed", "waiting", "unknown"]
"""How a call ended: with a result; with an error; not yet, it waits for input; or nobody knows."""


class Journal(Protocol):
    """Records what is about to happen, and what became of it."""

    async def started(self, call: Call) -> None:
        """Record a call before it is sent. Raising here stops the call."""
        ...

    async def ended(self, call: Call, ending: Ending, detail: str = "") -> None:
        """Record what became of it."""
        ...


class NoJournal:
    """Records nothing."""

    async def started(self, call: Call) -> None:
        """Record nothing."""

    async def ended(self, call: Call, ending: Ending, detail: str = "") -> None:
        """Record nothing."""
