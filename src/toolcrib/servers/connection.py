"""One live connection to a server: the transport, the session on it, and requests that return raw JSON."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LOG_LEVEL_META_KEY,
    PARSE_ERROR,
    ErrorData,
    Implementation,
)

from toolcrib import __version__
from toolcrib.catalog import LIST_MEMBERS, ClientSide, JsonObject, ListMethod, RequestContext, RequestMethod, TakesLogs
from toolcrib.config import ResolvedServer
from toolcrib.errors import (
    CallTimeoutError,
    ProtocolError,
    ServerClosedError,
    ServerError,
    UnknownOutcomeError,
)
from toolcrib.servers.asking import declared, pages_of
from toolcrib.servers.auth import Need, Standing, hearing
from toolcrib.servers.dispatching import OnHeard, WatchedDispatcher
from toolcrib.servers.era import Negotiated, Protocol, negotiate
from toolcrib.servers.freshness import Freshness, freshness_of
from toolcrib.servers.limits import Limits
from toolcrib.servers.logs import Logs, is_lower
from toolcrib.servers.pages import Pages
from toolcrib.servers.progress import Kind, Progress, Reports
from toolcrib.servers.session import CallerSession, WhoIsAsked
from toolcrib.servers.stderr import StderrTail
from toolcrib.servers.watchdog import Watchdog
from toolcrib.servers.wire import NO_ANSWER, raw_notification, raw_request

if TYPE_CHECKING:
    from anyio.abc import Process

    from toolcrib.servers.http import HttpNotes
    from toolcrib.servers.posting import Posts

CLIENT_INFO = Implementation(name="toolcrib", version=__version__)

_MOST_PAGES = 1_000

_STATUS_ALONE = "Server returned an error response"
_UNREAD = "Failed to parse "
"""How the SDK's transport words a status without a JSON-RPC error, and an answer that it can't read."""

_USUAL_LEVEL = "info"
"""Of log messages, for a client that has not said which ones it wants."""

_EXIT_SECONDS = 1.0
"""Between the end of its output and the exit of a process."""


@dataclass(slots=True)
class Connection:
    """A connected and initialised session with one server.

    Attributes:
        server: The server's id.
        session: The SDK's session.
        ended: Set when the connection has ended, from whatever side.
        limits: The time limits of its requests.
        logs: Whose log messages are whose.
        pages: Whom the server sent to which page.
    """

    server: str
    session: ClientSession
    ended: anyio.Event
    _process: "Process | None" = None
    _http: "HttpNotes | None" = None
    limits: Limits = field(default_factory=Limits)
    logs: Logs = field(default_factory=Logs)
    pages: Pages = field(default_factory=Pages)
    _level: str | None = None
    _negotiated: Negotiated | None = None
    _negotiated_at: float = 0.0

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
        self._negotiated_at = anyio.current_time()

    async def discover_again(self, timeout: float) -> None:
        """Ask the server what it says of itself, where its promise that this stays the same has run out.

        Most servers make none, and are asked when they are connected to. An answer that can't be used changes nothing.

        Raises:
            ServerError: See `send`.
        """
        ttl = freshness_of(self.negotiated.discovered).ttl
        if not self.negotiated.modern or ttl is None or anyio.current_time() < self._negotiated_at + ttl:
            return
        raw = await self.send("server/discover", {}, RequestContext(timeout=timeout))
        self._negotiated_at = anyio.current_time()
        if isinstance(raw.get("capabilities"), dict):
            self._negotiated = replace(self.negotiated, discovered=raw)

    async def tell(self, method: str) -> None:
        """Send a notification without params; one that comes too late is dropped."""
        await raw_notification(self.session, method)

    async def list_all(self, method: ListMethod, timeout: float) -> tuple[list[Any], Freshness]:
        """All entries over all pages, as sent, and how far they may be kept; a cursor that repeats ends the list.

        Raises:
            ServerError: See `send`.
        """
        entries: list[Any] = []
        freshness: Freshness | None = None
        seen: set[str] = set()
        params: JsonObject = {}
        for _ in range(_MOST_PAGES):
            result = await self.send(method, params, RequestContext(timeout=timeout))
            freshness = freshness_of(result, freshness)
            page = result.get(LIST_MEMBERS[method])
            if isinstance(page, list):
                entries += cast("list[Any]", page)
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or cursor in seen:
                break
            seen.add(cursor)
            params = {"cursor": cursor}
        assert freshness is not None
        return entries, freshness

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
            failure = self._failure(method, error.error)
            if isinstance(failure, ProtocolError):
                for page in pages_of(failure):
                    self.pages.sent(context.client, page)
            raise failure from error
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
        client = context.client
        capabilities = None if client is None else declared(client)
        with self.limits.limited(scope, context.timeout) as begin_anew:
            reports = Reports(begin_anew)
            progress = None if context.on_progress is None else Progress(reports, context.on_progress)
            try:
                # The member first: whether something keeps to a protocol takes long to tell.
                if getattr(client, "log_level", "") == "" or not isinstance(client, TakesLogs):
                    return await raw_request(
                        self.session, method, params, on_progress=progress, capabilities=capabilities
                    )
                logged = await self._with_level(client.log_level, params)
                with self.logs.wanted(Kind(reports, client.log)):
                    return await raw_request(
                        self.session, method, logged, on_progress=progress, capabilities=capabilities
                    )
            finally:
                await reports.finish()

    async def _with_level(self, level: str | None, params: JsonObject) -> JsonObject:
        """The params of a request with which a server sends log messages of a level: from 2026-07-28 on the request
        says so itself, before that the connection, which sends as much as the request that wants the most."""
        if self.negotiated.modern:
            meta: JsonObject = params.get("_meta") or {}
            return {**params, "_meta": {**meta, LOG_LEVEL_META_KEY: level or _USUAL_LEVEL}}
        if level is not None and self.offers("logging") and is_lower(level, self._level):
            self._level = level
            with suppress(MCPError):  # without, it sends what it sends
                await raw_request(self.session, "logging/setLevel", {"level": level})
        return params


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
    on_heard: OnHeard,
    standing: Standing,
    client: WhoIsAsked,
    declares: ClientSide | None,
) -> AsyncGenerator[Connection]:
    """Open the transport and enter a session on it; the era is settled by `Connection.open`.

    Must be entered and left in one task (the SDK's rule).

    Args:
        server: The server's id.
        resolved: What it takes to connect.
        watchdog: Ends a process should this one end first.
        output: Takes what a process writes beside the protocol.
        on_heard: Told of each notification that says something has changed.
        standing: The server's login.
        client: Who may be asked by the server.
        declares: Whose capabilities are declared to it.

    Raises:
        ServerError: The process can't be started, or the address can't be reached.
    """

    async with AsyncExitStack() as stack:
        read, write, process, http, posts = await _transport(stack, server, resolved, watchdog, output, standing)
        dispatcher = WatchedDispatcher(read, write, on_heard, posts)
        limits = Limits()
        session = CallerSession(
            client,
            declares,
            limits,
            dispatcher.pages,
            dispatcher.catch_up,
            dispatcher=dispatcher,
            client_info=CLIENT_INFO,
        )
        await stack.enter_async_context(session)
        yield Connection(
            server,
            session,
            dispatcher.ended,
            limits=limits,
            logs=dispatcher.logs,
            pages=dispatcher.pages,
            _process=process,
            _http=http,
        )


async def _transport(
    stack: AsyncExitStack,
    server: str,
    resolved: ResolvedServer,
    watchdog: Watchdog,
    output: Output,
    standing: Standing,
) -> "tuple[Any, Any, Process | None, HttpNotes | None, Posts | None]":
    if resolved.transport == "stdio":
        from toolcrib.servers.stdio import StdioCommand, stdio_transport

        assert resolved.command is not None
        start = StdioCommand(resolved.command, resolved.args, resolved.env, resolved.cwd)
        streams = await stack.enter_async_context(stdio_transport(server, start, watchdog, output.errors, output.junk))
        return streams.read, streams.write, streams.process, None, None
    from toolcrib.servers.http import http_transport

    read, write, notes, posts = await stack.enter_async_context(http_transport(resolved, standing))
    return read, write, None, notes, posts
