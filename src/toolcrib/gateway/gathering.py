"""Answers over HTTP that leave in one piece.

uvicorn writes the head of a response as soon as it has it and the body after it, so that each answer is two segments
and wakes its client twice. Here both wait for each other: until the response is complete, or for one turn of the event
loop, where more of it is still to come.
"""

import asyncio
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol as _Protocol
else:
    _Protocol = AutoHTTPProtocol  # whichever of the two is installed


class GatheringProtocol(_Protocol):
    """uvicorn's protocol, over a transport that gathers what is written."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """See `asyncio.Protocol`."""
        super().connection_made(cast("asyncio.Transport", _Gathering(transport, self.loop)))

    def on_response_complete(self) -> None:
        """All of a response is written."""
        cast("_Gathering", self.transport).flush()
        super().on_response_complete()


class _Gathering:
    """A transport that writes at once what was written since the last turn of the event loop.

    Args:
        transport: What it stands for, in all else too.
        loop: The event loop.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """See `asyncio.WriteTransport`."""
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)

    def flush(self) -> None:
        """Write what has been gathered."""
        if self._parts:
            data = b"".join(self._parts)
            self._parts.clear()
            self._transport.write(data)

    def close(self) -> None:
        """See `asyncio.BaseTransport`."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
