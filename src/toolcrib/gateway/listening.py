"""A listening socket and the HTTP server on it."""

import errno
import math
import os
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Protocol

import anyio
import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.errors import UsageError
from toolcrib.gateway.gathering import GatheringProtocol
from toolcrib.gateway.streams import is_stream, is_subscription, until_cut

GRACE_SECONDS = 5.0
"""How long requests under way may take when the server is told to stop, unless told otherwise."""

_CLOSING_SECONDS = 1
"""How long it may take after that to close what is open."""

_ARRIVAL_SECONDS = 1
"""How long the rest of a request may take to come then, and the answer to a subscription to leave."""

_BACKLOG = 2048
_PROBES = frozenset({"/healthz", "/readyz"})


class Drained(Protocol):
    """What is told that the server is about to end."""

    def drain(self) -> None:
        """Let nobody new in, and answer what otherwise stays open."""


async def serve_app(
    app: ASGIApp,
    listener: socket.socket,
    on_ready: Callable[[], None],
    state: Drained | None = None,
    grace: float = GRACE_SECONDS,
) -> None:
    """Serve an application until cancelled; requests under way are then given some seconds to end.

    Meanwhile connections are still accepted, so that whoever comes can be told that the server is about to end.

    Args:
        app: The application; its lifespan is run.
        listener: A bound socket; it is closed.
        on_ready: Called once requests are answered.
        state: Told when the end begins.
        grace: Those seconds.
    """
    streams = _Streams(app)
    server = _Server(
        uvicorn.Config(
            streams,
            http=GatheringProtocol,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
            backlog=_BACKLOG,
            timeout_graceful_shutdown=_CLOSING_SECONDS,
        ),
        on_ready,
    )
    ended = anyio.Event()

    async def serve() -> None:
        with anyio.CancelScope(shield=True):
            await server.serve([listener])
        ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        try:
            await ended.wait()
        finally:
            if state is not None:
                state.drain()
            streams.end()
            with anyio.CancelScope(shield=True), anyio.move_on_after(grace):
                await streams.ended()
            streams.cut()
            server.should_exit = True


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens on an address.

    Args:
        host: A name or address of this machine.
        port: A port; 0 takes any free one.

    Raises:
        UsageError: The address can't be taken.
    """
    try:
        # With the protocol that this names, TCP, asyncio sends small answers at once (TCP_NODELAY); with an
        # unnamed one each answer waits 40 ms for the client's acknowledgement.
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _unusable(host, port, error) from error
    try:
        if os.name == "posix":  # elsewhere the option lets two programs share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _unusable(host, port, error) from error
    return listener


def _unusable(host: str, port: int, error: OSError) -> UsageError:
    if error.errno == errno.EADDRINUSE:
        return UsageError(
            f"Port {port} is in use by another program.", hint="Give another port, or 0 for any free one."
        )
    if error.errno == errno.EACCES:
        return UsageError(f"Port {port} needs more rights than this program has.", hint="Give a port above 1023.")
    reason = error.strerror or error
    return UsageError(f"{host}:{port} can't be served on: {reason}.", hint="Give an address of this machine.")


class _Server(uvicorn.Server):
    """Leaves signals to its caller, which has more to end than a socket, and tells when it serves."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class _Streams:
    """An application whose requests can be ended that may never end by themselves: streams that stay open, and those
    of which a part has not come yet."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: set[anyio.CancelScope] = set()
        self._subscriptions: set[anyio.CancelScope] = set()
        self._incomplete: set[anyio.CancelScope] = set()
        self._ending = False
        self._under_way: set[anyio.CancelScope] = set()
        self._none_left = anyio.Event()

    async def ended(self) -> None:
        """Wait until no request is under way; only after `end`."""
        if self._under_way:
            await self._none_left.wait()

    def cut(self) -> None:
        """Give up the requests that are still under way; what was not answered is answered that the server ends."""
        for request in self._under_way:
            request.cancel()

    def end(self) -> None:
        """End all streams and refuse new ones, and wait no more than a moment for the answers to subscriptions and
        the rest of other requests."""
        self._ending = True
        for stream in self._open:
            stream.cancel()
        for each in (*self._subscriptions, *self._incomplete):
            each.deadline = anyio.current_time() + _ARRIVAL_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _PROBES:
            await self._app(scope, receive, send)
        elif not is_stream(scope):
            await self._arriving(scope, receive, send)
        elif self._ending:
            await Response(status_code=503)(scope, receive, send)
        else:
            await self._stream(scope, receive, send)

    async def _arriving(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def received() -> Message:
            message = await receive()
            if not message.get("more_body", False):  # from here on it is under way, and may take its time
                self._incomplete.discard(arriving)
                arriving.deadline = math.inf
            return message

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        with anyio.CancelScope() as arriving:
            self._incomplete.add(arriving)
            self._under_way.add(arriving)
            if self._ending:
                arriving.deadline = anyio.current_time() + _ARRIVAL_SECONDS
            try:
                await self._app(scope, received, watched)
            finally:
                self._incomplete.discard(arriving)
                self._under_way.discard(arriving)
                if self._ending and not self._under_way:
                    self._none_left.set()
        if arriving.cancelled_caught and not begun:
            await Response(status_code=503)(scope, receive, send)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        streams = self._subscriptions if is_subscription(scope) else self._open
        stream = anyio.CancelScope()
        streams.add(stream)
        try:
            await until_cut(self._app, scope, receive, send, stream, Response(status_code=503))
        finally:
            streams.discard(stream)
