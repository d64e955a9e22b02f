"""Change events inside one process: who publishes never waits, who is slow is told what it missed."""

from collections import deque
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import anyio


@dataclass(frozen=True, slots=True)
class CatalogChanged:
    """A server's tools changed.

    Attributes:
        server: The server's id.
        added: Ids of new tools.
        removed: Ids of tools that are gone.
        changed: Ids of tools with another definition.
    """

    server: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerStateChanged:
    """A server entered another state.

    Attributes:
        server: The server's id.
        state: The new state.
        reason: Why, in words; empty when there is nothing to say.
    """

    server: str
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalChanged:
    """A question about a call was asked, or answered.

    Attributes:
        approval: The approval's id.
        tool: The tool that the call is of.
        status: `waiting`, `approved` or `denied`.
        by: Who answered; empty while it waits.
    """

    approval: str
    tool: str
    status: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class OffersChanged:
    """What a server offers beside its tools changed, or may have.

    Attributes:
        server: The server's id.
        kind: `resources`, their templates included, or `prompts`.
        words: What else the server said with it: the members of its notification.
    """

    server: str
    kind: Literal["resources", "prompts"]
    words: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True, slots=True)
class ToolsToldOf:
    """A server said more than that its list of tools has changed; what has changed is told by `CatalogChanged`.

    Attributes:
        server: The server's id.
        words: See `OffersChanged`.
    """

    server: str
    words: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True, slots=True)
class ResourceUpdated:
    """The content of a resource changed.

    Attributes:
        server: The server's id.
        uri: The resource's URI at that server.
        words: See `OffersChanged`.
    """

    server: str
    uri: str
    words: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True, slots=True)
class Missed:
    """The subscriber was too slow, and the oldest events that waited for it were dropped.

    Attributes:
        count: How many.
    """

    count: int


Published = CatalogChanged | ServerStateChanged | ApprovalChanged | OffersChanged | ToolsToldOf | ResourceUpdated
"""What is published."""

Event = Published | Missed
"""What a subscriber receives."""


class EventBus:
    """Hands every published event to every subscriber. For use within one event loop.

    Args:
        bound: Events that may wait for one subscriber.
    """

    def __init__(self, bound: int = 256) -> None:
        if bound < 1:
            raise ValueError("bound must be at least 1")
        self._bound = bound
        self._subscribers: set[_Subscription] = set()

    def publish(self, event: Published) -> None:
        """Hand an event to all subscribers; never waits, never fails."""
        for subscriber in self._subscribers:
            subscriber.put(event)

    @contextmanager
    def subscribe(self) -> Generator[AsyncIterator[Event]]:
        """Receive, while the context lasts, all events published in it, in order.

        The iterator ends when the context does.
        """
        subscription = _Subscription(self._bound)
        self._subscribers.add(subscription)
        try:
            yield subscription
        finally:
            self._subscribers.discard(subscription)
            subscription.close()


class _Subscription(AsyncIterator[Event]):
    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._waiting: deque[Event] = deque()
        self._missed = 0
        self._arrived: anyio.Event | None = None
        self._closed = False

    def put(self, event: Event) -> None:
        if len(self._waiting) == self._bound:
            self._waiting.popleft()
            self._missed += 1
        self._waiting.append(event)
        self._wake()

    def close(self) -> None:
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        if self._arrived is not None:
            self._arrived.set()
            self._arrived = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._closed:
            if self._missed:
                missed, self._missed = self._missed, 0
                return Missed(missed)
            if self._waiting:
                return self._waiting.popleft()
            if self._arrived is None:
                self._arrived = anyio.Event()
            await self._arrived.wait()
        raise StopAsyncIteration
