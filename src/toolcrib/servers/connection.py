"""One live connection to a server: the transport, the session on it, and requests that return raw JSON."""

import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.client.session import ClientSession, IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    Implementation,
    ToolListChangedNotification,
)

from toolcrib import __version__
from toolcrib.catalog import LIST_MEMBERS, JsonObject, ListMethod, RequestContext, RequestMethod
from toolcrib.config import ResolvedServer
from toolcrib.errors import (
    CallTimeoutError,
    ProtocolError,
    ServerClosedError,
    ServerError,
    UnknownOutcomeError,
)
from toolcrib.servers.auth import Need, Standing, hearing
from toolcrib.servers.era import Negotiated, Protocol, negotiate
from toolcrib.servers.stderr import StderrTail
from toolcrib.servers.watchdog import Watchdog
from toolcrib.servers.wire import NO_ANSWER, raw_request

if TYPE_CHECKING:
    from anyio.abc import Process

    from toolcrib.servers.http import HttpNotes

CLIENT_INFO = Implementation(name="toolcrib", version=__version__)

_MOST_PAGES = 1_000

_LONGEST_TTL = 24 * 3600.0
"""Seconds: a longer promise is not believed."""

_STATUS_ALONE = "Server returned an error response"
_UNREAD = "Failed to parse "
"""How the SDK's transport words a status without a JSON-RPC error, and an answer that it can't read."""

_EXIT_SECONDS = 1.0
"""Between the end of its output and the exit of a process."""


class _WatchedDispatcher(JSONRPCDispatcher[TransportContext]):
    """The SDK's dispatcher, which also tells when its connection has ended."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ended = anyio.Event()

    def _fan_out_closed(self) -> None:
        # Before the waiters wake, so that each can tell this end from an error that the server sent.
        self.ended.set()
        super()._fan_out_closed()


@dataclass(slots=True)
class Connection:
    """A connected and initialised session with one server.

    Attributes:
        server: The server's id.
        session: The SDK's session.
        ended: Set when the connection has ended, from whatever side.
    """

    server: str
    session: ClientSession
    ended: anyio.Event
    _process: "Process | None" = None
    _http: "HttpNotes | None" = None
    _negotiated: Negotiated | None = None

    @property
    def negotiated(self) -> Negotiated:
        """The revision agreed on and what the server said of itself."""
        assert self._negotiated is not None
        return self._negotiated

    @property
    def pid(self) -> int | None:
        """Process id of a stdio server."""
        return None if self._process is None else self._process.pid

    async def exit_code(self) -> int | None:
        """The exit code of a stdio server that has ended, waited for shortly; None where there is none."""
        if self._process is None:
            return None
        with anyio.move_on_after(_EXIT_SECONDS):
            await self._process.wait()
        return self._process.returncode

    @property
    def http_fault(self) -> str:
        """The status of the last HTTP answer in words, where it was one of failure; else the empty string."""
        status = None if self._http is None else self._http.status
        return "" if status is None or status < 400 else f" (HTTP status {status})"

    def offers(self, capability: str) -> bool:
        """Whether the server claims a capability, such as `tools`."""
        return capability in self._capabilities

    def tells_of_changes(self, capability: str) -> bool:
        """Whether the server claims to tell when what it lists under a capability has changed."""
        claim = self._capabilities.get(capability)
        return isinstance(claim, dict) and cast("JsonObject", claim).get("listChanged") is True

    @property
    def _capabilities(self) -> JsonObject:
        capabilities = self.negotiated.discovered.get("capabilities")
        return cast("JsonObject", capabilities) if isinstance(capabilities, dict) else {}

    async def open(self, protocol: Protocol, *, probe_timeout: float) -> None:
        """Settle the protocol era; see `negotiate`."""
        self._negotiated = await negotiate(self.session, protocol, probe_timeout=probe_timeout)

    async def list_with_ttl(self, method: ListMethod, timeout: float) -> tuple[list[Any], float | None]:
        """All entries over all pages, as sent, and for how many seconds they count as fresh; a cursor that repeats
        ends the list.

        The time is the server's promise, of several pages the shortest; None where it makes none (specification
        2026-07-28, server/utilities/caching).

        Raises:
            ServerError: See `send`.
        """
        entries: list[Any] = []
        ttl: float | None = None
        seen: set[str] = set()
        params: JsonObject = {}
        for _ in range(_MOST_PAGES):
            result = await self.send(method, params, RequestContext(timeout=timeout))
            if isinstance(hint := result.get("ttlMs"), int | float) and hint > 0:
                ttl = min(ttl or math.inf, min(hint / 1000, _LONGEST_TTL))
            page = result.get(LIST_MEMBERS[method])
            if isinstance(page, list):
                entries += cast("list[Any]", page)
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or cursor in seen:
                break
            seen.add(cursor)
            params = {"cursor": cursor}
        return entries, ttl

    async def list(self, method: ListMethod, timeout: float) -> list[Any]:
        """All entries over all pages, as sent; see `list_with_ttl`."""
        return (await self.list_with_ttl(method, timeout))[0]

    async def request(self, method: RequestMethod, params: JsonObject, context: RequestContext) -> JsonObject:
        """Send a request that may have an effect; see `send`."""
        return await self.send(method, params, context)

    async def send(self, method: str, params: JsonObject, context: RequestContext) -> JsonObject:
        """Send a request and return its result as the JSON that was sent.

        The time limit starts anew with each progress notification, as the protocol allows (lifecycle,
        timeouts). A cancelled or timed out request is cancelled at the server.

        Raises:
            ProtocolError: The server answered with a JSON-RPC error.
            CallTimeoutError: No answer in time.
            ServerClosedError: The connection had ended before the request was sent.
            UnknownOutcomeError: It ended after that.
            AuthRequiredError: Somebody has to log in first; the request was not taken.
        """
        if self.ended.is_set():
            raise ServerClosedError(self.server, f"The connection to {self.server} has ended.")
        if context.meta:
            params = {**params, "_meta": {**(params.get("_meta") or {}), **context.meta}}
        needs: list[Need] = []
        try:
            with anyio.CancelScope() as scope, hearing(needs):
                return await self._send_within(scope, method, params, context)
        except MCPError as error:
            if needs:
                if needs[-1].closed:
                    self.ended.set()
                raise needs[-1].error() from error
            if isinstance(error.__context__, anyio.BrokenResourceError | anyio.ClosedResourceError):
                # The transport has ended, which the session is about to notice, and has not taken the request.
                self.ended.set()
                raise ServerClosedError(self.server, f"The connection to {self.server} has ended.") from error
            raise self._failure(method, error.error) from error
        except (OSError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise UnknownOutcomeError(
                self.server, f"The connection to {self.server} broke while {method} was under way: {error}."
            ) from error
        raise CallTimeoutError(
            self.server,
            f"{self.server} did not answer {method} within {context.timeout:g} s.",
            hint="Its `timeout` can be raised in the configuration.",
        )

    def _failure(self, method: str, error: ErrorData) -> ServerError:
        """What an error of the session means; its transports put some into the server's mouth."""
        if self._was_lost(error):
            how = f"{self.server} ended its connection while {method} was under way{self.http_fault}."
            return UnknownOutcomeError(self.server, how)
        if self._session_expired(error):
            self.ended.set()
            return ServerClosedError(self.server, f"{self.server} no longer knows the session.")
        message = error.message
        if self._http is not None and error.code == INTERNAL_ERROR and message == _STATUS_ALONE:
            status = self._http.status or 0
            message = f"HTTP status {status}"
            if status >= 500 and method not in LIST_MEMBERS:  # it may have failed before, in or after the work
                return UnknownOutcomeError(self.server, f"{self.server} answered {method} with {message}.")
        elif self._http is not None and error.code == PARSE_ERROR and message.startswith(_UNREAD):
            message = NO_ANSWER
        return ProtocolError(self.server, message, rpc_code=error.code, data=error.data)

    def _was_lost(self, error: ErrorData) -> bool:
        """Whether an error says that the connection, or the HTTP response of this request, broke off.

        Only the transport's text tells the latter from an error -32000 that a server sent.
        """
        if error.code != CONNECTION_CLOSED:
            return False
        return self.ended.is_set() or (self._http is not None and error.message.startswith("SSE stream"))

    def _session_expired(self, error: ErrorData) -> bool:
        """Whether HTTP answered 404 to a session: the request was not taken, and a new session is needed
        (specification 2025-11-25, transports, session management)."""
        expired = error.code == INVALID_REQUEST and error.message == "Session terminated"
        return expired and self._http is not None and self._http.status == 404

    async def _send_within(
        self, scope: anyio.CancelScope, method: str, params: JsonObject, context: RequestContext
    ) -> JsonObject:
        limit = context.timeout
        report = context.on_progress
        if limit is not None:
            scope.deadline = anyio.current_time() + limit

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            if limit is not None:
                scope.deadline = anyio.current_time() + limit
            if report is not None:
                await report(progress, total, message)

        return await raw_request(self.session, method, params, on_progress=None if report is None else on_progress)


@dataclass(frozen=True, slots=True)
class Output:
    """What a stdio server wrote beside the protocol: to standard error, and junk on standard output."""

    errors: StderrTail = field(default_factory=StderrTail)
    junk: StderrTail = field(default_factory=StderrTail)

    @property
    def lines(self) -> list[str]:
        """The kept lines of standard error, then those of standard output marked as such."""
        return [*self.errors.lines, *(f"(stdout) {line}" for line in self.junk.lines)]


@asynccontextmanager
async def connect(
    server: str,
    resolved: ResolvedServer,
    watchdog: Watchdog,
    output: Output,
    on_tools_changed: Callable[[], Awaitable[None]],
    standing: Standing,
) -> AsyncGenerator[Connection]:
    """Open the transport and enter a session on it; the era is settled by `Connection.open`.

    Must be entered and left in one task (the SDK's rule).

    Raises:
        ServerError: The process can't be started, or the address can't be reached.
    """

    async def on_message(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            await on_tools_changed()

    async with AsyncExitStack() as stack:
        read, write, process, http = await _transport(stack, server, resolved, watchdog, output, standing)
        dispatcher = _WatchedDispatcher(read, write)
        session = ClientSession(dispatcher=dispatcher, message_handler=on_message, client_info=CLIENT_INFO)
        await stack.enter_async_context(session)
        yield Connection(server, session, dispatcher.ended, _process=process, _http=http)


async def _transport(
    stack: AsyncExitStack,
    server: str,
    resolved: ResolvedServer,
    watchdog: Watchdog,
    output: Output,
    standing: Standing,
) -> "tuple[Any, Any, Process | None, HttpNotes | None]":
    if resolved.transport == "stdio":
        from toolcrib.servers.stdio import StdioCommand, stdio_transport

        assert resolved.command is not None
        start = StdioCommand(resolved.command, resolved.args, resolved.env, resolved.cwd)
        streams = await stack.enter_async_context(stdio_transport(server, start, watchdog, output.errors, output.junk))
        return streams.read, streams.write, streams.process, None
    from toolcrib.servers.http import http_transport

    read, write, notes = await stack.enter_async_context(http_transport(resolved, standing))
    return read, write, None, notes
