"""Plain HTTP/1.1 to one server, with as little between a call and its socket as there can be.

The usual stack of the HTTP library costs more than all else that a call needs: its layers of streams, its locks and
time limits around each part, a request in two pieces, each of which wakes the server. For addresses without TLS and
without a proxy, most of which are on the same machine, this sends a request in one piece and takes a short answer
whole. Where the way is longer, no layer counts.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, cast

import anyio
import h11
import httpx2

from toolcrib.servers import heads
from toolcrib.servers.dialing import dial

_MOST_CONNECTIONS = 100
_MOST_IDLE = 20
_IDLE_SECONDS = 5.0
"""Bounds of the HTTP library; most servers end idle connections at that time too."""

_LARGEST_HEAD = 100 * 1024
_WHOLE_BYTES = 1024 * 1024
"""Length of a body that is taken whole at once."""

_READ_AHEAD = 256 * 1024
"""Bytes that wait to be read, until the server is made to wait."""

_Release = Callable[["_Connection"], None]
"""Called with a connection whose response has ended."""


class PlainTransport(httpx2.AsyncBaseTransport):
    """A transport of the HTTP library for addresses that begin with `http://`."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, int], list[_Connection]] = {}
        self._open: set[_Connection] = set()
        self._room = asyncio.Semaphore(_MOST_CONNECTIONS)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and give its response; see the base class.

        Raises:
            httpx2.TransportError: No connection, or it broke, or what came is no HTTP.
        """
        await self._room.acquire()
        try:
            connection = await self._connected(request)
        except BaseException:
            self._room.release()
            raise
        try:
            return await connection.exchange(request, self._release)
        except BaseException:
            connection.drop()
            self._release(connection)
            raise

    async def aclose(self) -> None:
        """End all connections."""
        for connection in list(self._open):
            connection.drop()
        self._open.clear()
        self._idle.clear()

    async def _connected(self, request: httpx2.Request) -> "_Connection":
        url = request.url
        key = (url.host, url.port or 80)
        idle = self._idle.get(key)
        while idle:
            connection = idle.pop()
            if connection.is_usable:
                return connection
            connection.drop()
            self._open.discard(connection)
        connection = await _opened(*key, request)
        self._open.add(connection)
        return connection

    def _release(self, connection: "_Connection") -> None:
        """Take back a connection whose response has ended."""
        self._room.release()
        idle = self._idle.setdefault(connection.key, [])
        if connection.is_usable and len(idle) < _MOST_IDLE:
            idle.append(connection)
        else:
            connection.drop()
            self._open.discard(connection)


class _Connection(asyncio.Protocol):
    """One connection, for one request at a time.

    Args:
        host: Where it leads.
        port: Likewise.
    """

    def __init__(self, host: str, port: int) -> None:
        self.key = (host, port)
        self._loop = asyncio.get_running_loop()
        self._http = h11.Connection(h11.CLIENT, _LARGEST_HEAD)
        self._transport: asyncio.Transport | None = None
        self._received: list[bytes] = []
        self._ahead = 0
        self._ended = False
        self._failure: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop; see `asyncio.Protocol`, also for the others."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Take what the server sent."""
        self._received.append(data)
        self._ahead += len(data)
        if self._ahead > _READ_AHEAD and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """The server sends no more."""
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._ended = True
        self._failure = self._failure or exc
        self._writable.set()
        self._wake()

    def pause_writing(self) -> None:
        """Too much is on its way."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """There is room again."""
        self._writable.set()

    @property
    def is_usable(self) -> bool:
        """Whether another request can be sent: nothing of the last is left, and the server has not hung up."""
        assert self._transport is not None
        quiet = not (self._ended or self._received or self._transport.is_closing())
        return quiet and self._http.our_state is h11.IDLE and time.monotonic() - self._idle_since < _IDLE_SECONDS

    def drop(self) -> None:
        """End it at once."""
        self._ended = True
        if self._transport is not None:
            self._transport.abort()

    async def exchange(self, request: httpx2.Request, release: _Release) -> httpx2.Response:
        """Send a request, and read its response up to the body, or a short body too."""
        limits: Mapping[str, float | None] = request.extensions.get("timeout", {})
        body = await request.aread()
        limit = limits.get("read")
        line = heads.written(request, body)
        if line is None:
            await self._write(self._told(request, body), limits.get("write"))
        else:
            await self._write(line, limits.get("write"))
            response = await self._short(limit)
            if response is not None:
                release(self)
                return response
            self._told(request, body)  # what has been sent already
        head = await self._event(limit)
        while isinstance(head, h11.InformationalResponse):
            if head.status_code == 101:
                raise httpx2.RemoteProtocolError("The server switched protocols unasked.")
            head = await self._event(limit)
        assert isinstance(head, h11.Response)
        headers = head.headers.raw_items()
        extensions = {"http_version": b"HTTP/" + head.http_version, "reason_phrase": head.reason}
        if not _is_short(head):
            stream = _Body(self, release, limit)
            return httpx2.Response(head.status_code, headers=headers, stream=stream, extensions=extensions)
        parts: list[bytes] = []
        while (part := await self.part(limit)) is not None:
            parts.append(part)
        response = httpx2.Response(head.status_code, headers=headers, content=b"".join(parts), extensions=extensions)
        self.finish()
        release(self)
        return response

    async def part(self, limit: float | None) -> bytes | None:
        """The next part of the body; None at its end."""
        event = await self._event(limit)
        return bytes(event.data) if isinstance(event, h11.Data) else None

    def finish(self) -> None:
        """Make ready for another request, if the response has been read to its end and nothing came after it; else end
        it: what nobody asked for would be taken for the answer to the next request, maybe another caller's."""
        ended = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if ended and not self._http.trailing_data[0]:
            self._http.start_next_cycle()
            self._idle_since = time.monotonic()
        else:
            self.drop()

    def _told(self, request: httpx2.Request, body: bytes) -> bytes:
        """A request as h11 writes it, which from here on follows the exchange."""
        try:
            head = self._http.send(
                h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
            )
            rest = self._http.send(h11.Data(data=body)) if body else b""
            self._http.send(h11.EndOfMessage())
        except h11.LocalProtocolError as error:
            raise httpx2.LocalProtocolError(str(error)) from error
        return (head or b"") + (rest or b"")

    async def _write(self, data: bytes, limit: float | None) -> None:
        assert self._transport is not None
        self._transport.write(data)
        if not self._writable.is_set():
            try:
                with anyio.fail_after(limit):
                    await self._writable.wait()
            except TimeoutError:
                raise httpx2.WriteTimeout(f"The server took no more of the request for {limit:g} s.") from None

    async def _short(self, limit: float | None) -> httpx2.Response | None:
        """A response of the usual form, with its body; of any other, what came is left to h11."""
        parts = [await self._read(limit)]
        head = heads.read(parts[0], _WHOLE_BYTES, _LARGEST_HEAD)
        if head is None:
            self._put_back(parts)
            return None
        missing = head.size + head.length - len(parts[0])
        while missing > 0:
            part = await self._read(limit)
            if not part:
                self._put_back(parts)
                return None
            parts.append(part)
            missing -= len(part)
        if missing < 0:  # what nobody asked for; see `finish`
            self.drop()
        self._idle_since = time.monotonic()
        body = b"".join(parts)[head.size : head.size + head.length]
        extensions = {"http_version": b"HTTP/1.1", "reason_phrase": head.reason}
        return httpx2.Response(head.status, headers=head.headers, content=body, extensions=extensions)

    def _put_back(self, parts: list[bytes]) -> None:
        self._received[:0] = [part for part in parts if part]
        self._ahead += sum(map(len, parts))

    async def _event(self, limit: float | None) -> Any:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                data = await self._read(limit)
                if not data and self._http.their_state is h11.SEND_RESPONSE:
                    raise httpx2.RemoteProtocolError("The server hung up without a response.")
                self._http.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise httpx2.RemoteProtocolError(str(error)) from error
        return event

    async def _read(self, limit: float | None) -> bytes:
        """What has been received; empty at the end of all."""
        if not self._received and not self._ended:
            await self._wait(limit)
        if self._received:
            data = b"".join(self._received)
            self._received.clear()
            if self._ahead > _READ_AHEAD and self._transport is not None:
                self._transport.resume_reading()
            self._ahead = 0
            return data
        if self._failure is not None:
            raise httpx2.ReadError(str(self._failure)) from self._failure
        return b""

    async def _wait(self, limit: float | None) -> None:
        waiter = self._waiter = self._loop.create_future()
        timer = None if limit is None else self._loop.call_later(limit, self._wake)
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()
        if not self._received and not self._ended:
            raise httpx2.ReadTimeout(f"The server sent nothing for {limit:g} s.")

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class _Body(httpx2.AsyncByteStream):
    """A body that is read as it comes."""

    def __init__(self, connection: _Connection, release: _Release, limit: float | None) -> None:
        self._connection = connection
        self._release = release
        self._limit = limit
        self._is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while (part := await self._connection.part(self._limit)) is not None:
                yield part
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Give the connection back, or end it where the body was not read to its end."""
        if not self._is_closed:
            self._is_closed = True
            self._connection.finish()
            self._release(self._connection)


def _is_short(head: h11.Response) -> bool:
    """Whether a body can be taken whole: it says that it is short, and is not encoded, nor in chunks."""
    length = None
    for name, value in head.headers:
        if name in (b"content-encoding", b"transfer-encoding"):  # with chunks, its length means nothing
            return False
        if name == b"content-length":
            length = int(value)
    return length is not None and length <= _WHOLE_BYTES


async def _opened(host: str, port: int, request: httpx2.Request) -> _Connection:
    limit = request.extensions.get("timeout", {}).get("connect")
    loop = asyncio.get_running_loop()
    try:
        with anyio.fail_after(limit):
            connected = await dial(host, port)
            _, connection = await loop.create_connection(lambda: _Connection(host, port), sock=connected)
    except TimeoutError:
        raise httpx2.ConnectTimeout(f"{host}:{port} did not answer for {limit:g} s.") from None
    except OSError as error:
        raise httpx2.ConnectError(str(error)) from error
    return connection
