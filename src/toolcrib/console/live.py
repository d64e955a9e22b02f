"""What has changed, told to open pages as it happens (server-sent events; HTML Living Standard, 9.2).

A page is told only what kind of thing has changed, and fetches itself anew: what a visitor may see is decided in one
place.
"""

from contextlib import aclosing
from typing import Any

import anyio
from anyio.abc import TaskStatus
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from toolcrib.console.access import Doorkeeper
from toolcrib.console.app import Desk
from toolcrib.console.guard import session_name
from toolcrib.crib import Crib
from toolcrib.errors import StoreError
from toolcrib.events import ApprovalChanged, CatalogChanged, Event, Missed, OffersChanged, ServerStateChanged

TOPICS = ("approvals", "catalog", "journal", "runs", "servers")
"""Kinds of things that change."""

_GATHER_SECONDS = 0.15
_QUIET_SECONDS = 15.0
_RETRY_SECONDS = 2.0


def routes(desk: Desk) -> list[Route]:
    """The stream that pages listen to."""

    async def stream(request: Request) -> Response:
        return EventStream(desk.crib, desk.doorkeeper, session_name(request))

    async def ping(request: Request) -> Response:
        """Tells a page whose stream has broken whether the server is there, and still knows it."""
        return Response(status_code=204)

    return [desk.get("/live", stream), desk.get("/ping", ping)]


class EventStream(Response):
    """A response that ends with the session that it is of: an event for each moment in which something has changed,
    with the topics as its data, and a comment now and then where nothing does, by which a broken connection is found
    out.

    Args:
        crib: What is watched: this program, and the store that it shares with others.
        doorkeeper: Knows when the session has ended.
        session: Its name.
    """

    media_type = "text/event-stream"

    def __init__(self, crib: Crib, doorkeeper: Doorkeeper, session: str) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._crib = crib
        self._doorkeeper = doorkeeper
        self._session = session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell of changes until whoever listens has gone."""
        heard = _Heard()
        position, approvals = await self._crib.journal.position(), await self._crib.approvals.state()
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})

        async def say(text: str) -> None:
            await send({"type": "http.response.body", "body": text.encode(), "more_body": True})

        async with anyio.create_task_group() as tasks:
            await tasks.start(_follow_events, self._crib, heard)
            tasks.start_soon(_follow_journal, self._crib, position, heard)
            tasks.start_soon(_follow_approvals, self._crib, approvals, heard)
            tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
            tasks.start_soon(self._until_left, tasks.cancel_scope)
            await say(f"retry: {_RETRY_SECONDS * 1000:.0f}\nevent: hello\ndata: {self._crib.instance}\n\n")
            while True:
                topics = await heard.take()
                if not await self._doorkeeper.is_in(self._session):
                    tasks.cancel_scope.cancel()
                    break
                await say(f"event: changed\ndata: {' '.join(sorted(topics))}\n\n" if topics else ": nothing new\n\n")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _until_left(self, scope: anyio.CancelScope) -> None:
        await self._doorkeeper.left(self._session)
        scope.cancel()


class _Heard:
    """The topics of which something was heard since somebody last took them."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        self._any = anyio.Event()

    def add(self, *topics: str) -> None:
        self._topics.update(topics)
        self._any.set()

    async def take(self) -> set[str]:
        """Wait for some, and a moment for more; nothing when there were none for long."""
        with anyio.move_on_after(_QUIET_SECONDS):
            await self._any.wait()
            await anyio.sleep(_GATHER_SECONDS)
        topics, self._topics, self._any = self._topics, set(), anyio.Event()
        return topics


async def _follow_events(
    crib: Crib, heard: _Heard, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """What happens in this program."""
    with crib.events.subscribe() as events:
        task_status.started()
        async for event in events:
            heard.add(*_topics_of(event))


async def _follow_journal(crib: Crib, position: int, heard: _Heard) -> None:
    """What any program with the same state has called; runs begin and end with calls."""
    while True:
        try:
            async with aclosing(crib.journal.follow(after=position)) as entries:
                async for entry in entries:
                    position = max(position, entry.seq)
                    heard.add("journal", "runs")
        except StoreError:  # told by whatever reads it for a page
            await anyio.sleep(_RETRY_SECONDS)


async def _follow_approvals(crib: Crib, state: tuple[Any, ...] | None, heard: _Heard) -> None:
    """What any program with the same state has been asked, was answered and has granted."""
    while True:
        try:
            async with aclosing(crib.approvals.follow(after=state)) as changes:
                async for _ in changes:
                    heard.add("approvals")
        except StoreError:  # as above
            await anyio.sleep(_RETRY_SECONDS)
            heard.add("approvals")
            state = None


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _topics_of(event: Event) -> tuple[str, ...]:
    match event:
        case ServerStateChanged():
            return ("servers",)
        case CatalogChanged() | OffersChanged():
            return ("catalog", "servers")
        case ApprovalChanged():
            return ("approvals",)
        case Missed():
            return TOPICS
        case _:
            return ()
