"""The channels to a client that stand behind a request.

The SDK hands both to its own context class, and not yet to the one that it gives to handlers. Its public ways to write
to a client take typed messages, which drop the members that they do not know.
"""

from typing import Any

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.shared.dispatcher import Outbound


def connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The connection that a request came over."""
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage]


def own_channel(ctx: ServerRequestContext[Any, Any]) -> Outbound:
    """The request's own stream to the client."""
    return ctx.session._request_outbound  # pyright: ignore[reportPrivateUsage]
