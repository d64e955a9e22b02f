"""Following one resource on a connection: by a request of the handshake era, or by a subscription after it."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from toolcrib.catalog import RequestContext
from toolcrib.errors import ProtocolError, ServerError

if TYPE_CHECKING:
    from toolcrib.servers.connection import Connection

_LAST_WORD_SECONDS = 2.0
"""How long taking back a subscription may take."""


async def follow_resource(
    connection: "Connection",
    uri: str,
    timeout: float,
    on_start: Callable[[], None],
) -> None:
    """Have a resource followed until the connection ends, which itself hears of each change.

    Args:
        connection: Open.
        uri: The resource's URI at the server.
        timeout: Seconds for the server to agree.
        on_start: Called when it has agreed.

    Raises:
        ProtocolError: The server does not offer that.
        ServerError: It did not answer, or the connection broke.
    """
    if connection.negotiated.modern:
        await _listen(connection, uri, on_start)
        return
    context = RequestContext(timeout=timeout)
    await connection.send("resources/subscribe", {"uri": uri}, context)
    try:
        on_start()
        await connection.ended.wait()
    finally:
        if not connection.ended.is_set():
            with anyio.move_on_after(_LAST_WORD_SECONDS, shield=True), suppress(ServerError):
                await connection.send("resources/unsubscribe", {"uri": uri}, context)


async def _listen(connection: "Connection", uri: str, on_start: Callable[[], None]) -> None:
    from mcp.client.subscriptions import SubscriptionLost, listen
    from mcp.shared.exceptions import MCPError

    try:
        async with listen(connection.session, resource_subscriptions=[uri]) as events:
            on_start()
            async for _ in events:  # what they say is heard like any notification
                pass
    except MCPError as error:
        raise ProtocolError(
            connection.server, error.error.message, rpc_code=error.error.code, data=error.error.data
        ) from error
    except SubscriptionLost:
        return
