"""Answers over HTTP that leave in one piece.

uvicorn writes the head of a response as soon as it has it and the body after it, so that each answer is two segments
and wakes its client twice. Here both wait for each other: until the response is complete, or for one turn of the event
loop, where more of it is still to come. It also reads and drops the rest of a request that has been answered, for as
long as its client likes, and waits at its end for clients that read nothing; here such connections are ended.
"""

import asyncio
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

REST_SECONDS = 1.0
"""How long the rest of a request that has been answered may take to come, so that whoever sends it can read the answer
(RFC 9112, 9.6)."""


MOST_GATHERED = 64 * 1024
"""Bytes that wait for more."""

STALL_SECONDS = 60.0
"""For how long, at least, a client may take nothing of an answer, send nothing of a body that it has begun, or not
complete the head of a request; at most it is twice as long."""


class GatheringProtocol(H11Protocol):
    """uvicorn's protocol, over a transport that gathers what is written."""

    _received = 0
    _stood: tuple[str, object] | None = None
    _next_look: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:
        """See `asyncio.Protocol`."""
        super().connection_made(cast("asyncio.Transport", _Gathering(transport, self.loop)))
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._next_look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self._received += 1
        super().data_received(data)

    def _look(self) -> None:
        """End the connection if it still waits for its client where it did the last time."""
        stands = self._waits_at()
        if stands is not None and stands == self._stood:
            self.transport.abort()
            return
        self._stood = stands
        self._next_look = self.loop.call_later(STALL_SECONDS, self._look)

    def _waits_at(self) -> tuple[str, object] | None:
        """How far its client has come, while something waits for it."""
        if self.transport.get_write_buffer_size():
            return "answer", cast("_Gathering", self.transport).taken
        if self.conn.their_state is h11.IDLE:
            return "head", self.cycle
        if self.conn.their_state is h11.SEND_BODY and not self.flow.read_paused:
            return "body", self._received
        return None

    def on_response_complete(self) -> None:
        """All of a response is written."""
        cast("_Gathering", self.transport).flush()
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self.loop.call_later(REST_SECONDS, self._hang_up, self.cycle)

    def shutdown(self) -> None:
        """See the base class; whoever does not read a response that is not complete can't hold up the end."""
        super().shutdown()
        if self.flow.write_paused and not self.cycle.response_complete:
            self.transport.abort()

    def _hang_up(self, cycle: RequestResponseCycle) -> None:
        """End the connection if the rest of a request has not come yet."""
        if self.cycle is cycle and self.conn.their_state is h11.SEND_BODY:
            self.transport.close()


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
        self._size = 0
        self._written = 0

    @property
    def taken(self) -> int:
        """How many bytes the client's side has taken so far."""
        return self._written - self._transport.get_write_buffer_size()

    def write(self, data: bytes) -> None:
        """See `asyncio.WriteTransport`; much is written at once, so that whoever writes learns when to wait."""
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > MOST_GATHERED:
            self.flush()

    def flush(self) -> None:
        """Write what has been gathered."""
        if self._parts:
            data = b"".join(self._parts)
            self._written += len(data)
            self._parts.clear()
            self._size = 0
            self._transport.write(data)

    def close(self) -> None:
        """See `asyncio.BaseTransport`."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
