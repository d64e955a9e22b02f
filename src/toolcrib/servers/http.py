"""The HTTP transports: Streamable HTTP, and the older HTTP with server-sent events."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from toolcrib.config import ResolvedServer
from toolcrib.errors import ServerStartError

_CONNECT_SECONDS = 10.0
_READ_SECONDS = 300.0
"""A server may hold a stream open for as long as a request takes; the request's own limit is the broker's."""


@asynccontextmanager
async def http_transport(server: str, resolved: ResolvedServer) -> AsyncIterator[tuple[Any, Any]]:
    """Open the streams to an HTTP server.

    Raises:
        ServerStartError: The address can't be reached (server-sent events connect at once; Streamable HTTP
            tells with the first request).
    """
    assert resolved.url is not None
    headers = dict(resolved.headers)
    if resolved.transport == "sse":
        async with AsyncExitStack() as stack:
            try:
                streams = await stack.enter_async_context(
                    sse_client(resolved.url, headers, timeout=_CONNECT_SECONDS, sse_read_timeout=_READ_SECONDS)
                )
            except (httpx2.HTTPError, ExceptionGroup) as error:
                raise unreachable(server, error) from error
            yield streams
        return
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout) as client,
        streamable_http_client(resolved.url, http_client=client) as streams,
    ):
        yield streams


def unreachable(server: str, error: BaseException) -> ServerStartError:
    """The error of an address that does not answer, with the innermost cause as its reason."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, httpx2.HTTPStatusError):
        reason = f"HTTP status {error.response.status_code}"
    else:
        reason = str(error) or type(error).__name__
    return ServerStartError(server, f"{server} can't be reached: {reason}.", hint="Check its `url` and `headers`.")
