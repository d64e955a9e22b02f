"""Requests of the stateless era over HTTP, each sent in the task of whoever makes it.

Such a request is one POST, and its answer the POST's own (specification 2026-07-28, transports, Streamable HTTP). The
SDK none the less takes it through two streams, a loop and two tasks, as the eras with a session need it, which costs as
much as the HTTP itself. Here its transport does the POST, and what it reads goes straight to the dispatcher.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp.client.streamable_http import RequestContext, StreamableHTTPTransport, StreamWriter
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse, RequestId

from toolcrib.servers.progress import Progress

Received = SessionMessage | Exception


@dataclass(slots=True)
class Posted:
    """A request that is under way.

    It stands among those that the dispatcher keeps, so that progress finds it, and the end of the connection ends it:
    to the dispatcher `send` is where an outcome goes.

    Attributes:
        id: Its id.
        on_progress: Receives progress.
        others: Takes what is received beside the answer.
        outcome: What became of it, once that is known.
        scope: Cancelled where the connection ends first.
    """

    id: RequestId
    on_progress: Progress | None
    others: Callable[[Received], Awaitable[None]]
    outcome: Any = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def send(self, item: Received) -> None:
        """Take what the transport has read."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id in (self.id, None):
            self.outcome = message.result if isinstance(message, JSONRPCResponse) else message.error
        else:
            await self.others(item)

    def send_nowait(self, outcome: dict[str, Any] | ErrorData) -> None:
        """The outcome, which came another way."""
        self.outcome = outcome
        self.scope.cancel()


class Posts:
    """Does the POSTs of one connection.

    Args:
        url: Where to.
        client: With which.
        tasks: Of the connection, which is over when one of them fails.
        most_bytes: Of one event.
    """

    def __init__(self, url: str, client: httpx2.AsyncClient, tasks: TaskGroup, most_bytes: int) -> None:
        self._client = client
        self._tasks = tasks
        self._transport = StreamableHTTPTransport(url, max_sse_event_size=most_bytes)

    async def send(self, request: JSONRPCRequest, headers: Mapping[str, str], posted: Posted) -> None:
        """Send a request, and hand what comes to `posted`; the caller's cancelling ends the POST, which is how a
        request of this era is cancelled.

        Raises:
            httpx2.HTTPError: The POST failed.
        """
        metadata = ClientMessageMetadata(headers=dict(headers))
        context = RequestContext(
            self._client, None, SessionMessage(request), metadata, cast("StreamWriter", cast("object", posted))
        )
        await self._transport._handle_post_request(context)  # pyright: ignore[reportPrivateUsage]

    def fail(self, error: Exception) -> None:
        """End the connection with what a POST failed with, as the SDK's own transport does."""

        async def failing() -> None:
            raise error

        self._tasks.start_soon(failing)
