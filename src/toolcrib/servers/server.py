"""One configured MCP server as a source: connected when first needed, by one task that owns the connection."""

import math
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar, cast

import anyio
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from toolcrib.catalog import (
    NO_CONTEXT,
    JsonObject,
    ListMethod,
    RequestContext,
    RequestMethod,
    Snapshot,
    SnapshotStore,
)
from toolcrib.config import ResolvedServer, ServerConfig, Variables
from toolcrib.errors import (
    ConfigError,
    ServerClosedError,
    ServerError,
    ServerStartError,
)
from toolcrib.redact import Secrets
from toolcrib.servers.causes import reason, unwrapped
from toolcrib.servers.connection import Connection, Output, connect
from toolcrib.servers.era import Protocol as EraChoice
from toolcrib.servers.era import RestartInEra
from toolcrib.servers.listing import ToolListing
from toolcrib.servers.status import ServerStatus, State

_Answer = TypeVar("_Answer")


class Spawn(Protocol):
    """Starts a task in a group that outlives the caller."""

    def __call__(self, task: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> None:
        """Start `task(*args)`."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all servers of one pool share.

    Attributes:
        spawn: Starts a server's owner task.
        starts: Bounds how many servers start at once.
        variables: Resolves `${…}` at connect time.
        marker: The instance id that children carry in their environment.
        snapshots: Where listings are kept.
        on_listed: Told of every new listing.
        on_state: Told of every change of state.
        secrets: What must not be shown, such as resolved variables; servers add theirs.
        timeout: Seconds that a request may take, where a server sets nothing else.
        start_timeout: Seconds that a start may take, where a server sets nothing else.
        probe_timeout: Seconds that a server of unknown era is given to answer the modern probe.
    """

    spawn: Spawn
    starts: anyio.CapacityLimiter
    variables: Variables
    marker: str
    snapshots: SnapshotStore
    on_listed: Callable[[Snapshot], None]
    on_state: Callable[[ServerStatus], None]
    secrets: Secrets = field(default_factory=Secrets)
    timeout: float = 60.0
    start_timeout: float = 30.0
    probe_timeout: float = 10.0


@dataclass(slots=True)
class _Start:
    """One attempt to connect, shared by all that wait for it."""

    settled: anyio.Event = field(default_factory=anyio.Event)
    era_remembered: bool = False
    connection: Connection | None = None
    error: ServerError | None = None


class McpServer:
    """One configured MCP server.

    Nothing runs until a request or listing needs it; then one task opens the connection, lists the tools and
    keeps the connection until it ends, is idle for too long or `stop` is called. A failed start is the state
    of this server alone; the next need tries again.

    Args:
        server_id: The id that heads its tool ids.
        config: Its entry in the configuration.
        surroundings: What it shares with the others.
    """

    def __init__(self, server_id: str, config: ServerConfig, surroundings: Surroundings) -> None:
        self.id = server_id
        self.config = config
        self._around = surroundings
        self._state: State = "disabled" if config.disabled else "dormant"
        self._reason = ""
        self._failure_output: tuple[str, ...] = ()
        self._connection: Connection | None = None
        self._start: _Start | None = None
        self._opening: anyio.CancelScope | None = None
        self._stop = anyio.Event()
        self._gone = anyio.Event()
        self._gone.set()
        self._busy = 0
        self._last_used = 0.0
        self._listing = ToolListing(server_id, config.config_hash, surroundings.snapshots, surroundings.on_listed)
        if config.error is not None:
            self._state, self._reason = "failed", str(config.error)

    @property
    def snapshot(self) -> Snapshot | None:
        """What it listed last, in this run or an earlier one; None when it never was listed."""
        return self._listing.snapshot

    @property
    def description(self) -> str:
        """The configured description, else the server's own title or name, else the empty string."""
        return self.config.options.description or self.title

    @property
    def title(self) -> str:
        """What the server calls itself; empty while it was never listed."""
        if self.snapshot is None:
            return ""
        discovered = self.snapshot.discovered
        info = discovered.get("serverInfo")
        if not isinstance(info, dict):
            meta = discovered.get("_meta")
            info = (
                cast("JsonObject", meta).get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else None
            )
        if not isinstance(info, dict):
            return ""
        about = cast("JsonObject", info)
        title = about.get("title") or about.get("name")
        return title if isinstance(title, str) else ""

    @property
    def usable(self) -> bool:
        """Whether it may be connected to at all."""
        return not self.config.disabled and self.config.error is None

    @property
    def running(self) -> bool:
        """Whether a connection is being opened, used or closed."""
        return not self._gone.is_set()

    @property
    def status(self) -> ServerStatus:
        """What is known of it now."""
        snapshot = self.snapshot
        return ServerStatus(
            id=self.id,
            key=self.config.key,
            state=self._state,
            reason=self._reason,
            output=self._failure_output,
            era=None if snapshot is None else ("modern" if snapshot.modern else "handshake"),
            protocol_version=None if snapshot is None else snapshot.protocol_version,
            tools=None if snapshot is None else len(snapshot.definitions.names),
            pid=None if self._connection is None else self._connection.pid,
            description=self.description,
        )

    async def list(self, method: ListMethod) -> list[JsonObject]:
        """All entries over all pages, as sent. See `Source.list`."""

        async def listing(connection: Connection) -> list[Any]:
            return await connection.list(method, self._timeout)

        entries = await self._use(listing)
        return [cast("JsonObject", entry) for entry in entries if isinstance(entry, dict)]

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        """Send one request and return its result as sent. See `Source.request`."""
        if context.timeout is None:
            context = replace(context, timeout=self._timeout)

        async def requesting(connection: Connection) -> JsonObject:
            return await connection.request(method, params, context)

        return await self._use(requesting)

    async def ensure(self) -> None:
        """Connect if need be; a new connection lists the tools. See `Source.ensure`."""
        await self._connected()

    async def stop(self) -> None:
        """End the connection and the server's processes, and wait until they are gone."""
        self._stop.set()
        self._connection = None
        if self._opening is not None:
            self._opening.cancel()
        await self._gone.wait()

    @property
    def _timeout(self) -> float:
        return self.config.options.timeout or self._around.timeout

    async def _use(self, send: Callable[[Connection], Awaitable[_Answer]]) -> _Answer:
        """Send something; once more, where the connection proves to have ended before anything was sent."""
        try:
            return await self._use_once(send)
        except ServerClosedError:
            return await self._use_once(send)

    async def _use_once(self, send: Callable[[Connection], Awaitable[_Answer]]) -> _Answer:
        connection = await self._connected()
        self._busy += 1
        try:
            return await send(connection)
        finally:
            self._busy -= 1
            self._last_used = anyio.current_time()

    async def _connected(self) -> Connection:
        while True:
            if self._connection is not None and not self._connection.ended.is_set():
                return self._connection
            if self.config.disabled:
                raise ServerError(self.id, f"Server {self.id} is disabled.", hint="Enable it in the configuration.")
            if self.config.error is not None:
                raise ServerStartError(self.id, str(self.config.error))
            if self._start is not None:
                break
            if self._gone.is_set():
                self._start = _Start()
                self._stop, self._gone = anyio.Event(), anyio.Event()
                self._around.spawn(self._own, self._start)
                break
            await self._gone.wait()  # the owner of an ended connection is still clearing up
        start = self._start
        await start.settled.wait()
        if start.error is not None:
            raise _copy(start.error, start.error.message)  # one each: a shared one would gather tracebacks
        assert start.connection is not None
        return start.connection

    async def _own(self, start: _Start) -> None:
        """Open, keep and close one connection: the task that enters and leaves the SDK's session."""
        output = Output()
        protocol = self.config.options.protocol
        if protocol == "auto" and self.snapshot is not None and not self.snapshot.modern:
            protocol, start.era_remembered = "legacy", True
        try:
            self._become("starting")
            following: EraChoice | None = protocol
            while following is not None:
                output = Output()
                following = await self._open_and_keep(start, output, following)
        except ServerError as error:
            self._fail(start, error, output)
        except Exception as error:
            self._fail(start, self._broken(error, connected=start.connection is not None), output)
        finally:
            self._connection = self._start = None
            if start.connection is None and start.error is None:
                start.error = ServerStartError(self.id, f"{self.id} was stopped while it started.")
            start.settled.set()
            if self._state in {"starting", "ready"}:
                self._become("dormant")
            self._gone.set()

    def _broken(self, error: Exception, *, connected: bool) -> ServerError:
        """Whatever a transport raises is this server's own failure, and never that of the crib."""
        if connected:
            return ServerError(self.id, f"{self.id} has lost its connection: {reason(error)}.")
        hint = "Check its configuration." if self.config.url is None else "Check its `url` and `headers`."
        return ServerStartError(self.id, f"{self.id} can't be reached: {reason(error)}.", hint=hint)

    async def _open_and_keep(self, start: _Start, output: Output, protocol: EraChoice) -> EraChoice | None:
        """Hold one connection from its opening to its end.

        Returns:
            The era to try next on a new connection, or None when this one was used and is done with.

        Raises:
            ServerError: It could not be opened.
            Exception: What a transport raised; see `reason`.
        """
        resolved = await self._resolved()
        limit = self.config.options.start_timeout or self._around.start_timeout
        with unwrapped(), anyio.CancelScope() as opening:
            self._opening = opening
            if self._stop.is_set():
                opening.cancel()
            async with AsyncExitStack() as stack:
                async with self._around.starts:
                    opening.deadline = anyio.current_time() + limit
                    connection = await stack.enter_async_context(
                        connect(self.id, resolved, self._around.marker, output, self._listing.changed)
                    )
                    following = await self._open(start, connection, protocol, limit)
                    opening.deadline = math.inf
                if following is None:
                    self._connection, self._start, self._opening = connection, None, None
                    self._last_used = anyio.current_time()
                    start.connection = connection
                    self._become("ready")
                    start.settled.set()
                    await self._keep(connection)
                    self._connection = None
                    await self._note_end(connection, output)
                return following
        if self._stop.is_set():
            return None
        raise ServerStartError(
            self.id,
            f"{self.id} did not answer within {limit:g} s of its start.",
            hint="Its `toolcrib.start_timeout` can be raised in the configuration.",
        )

    async def _resolved(self) -> ResolvedServer:
        try:
            resolved = await anyio.to_thread.run_sync(self.config.resolve, self._around.variables)
        except ConfigError as error:
            raise ServerStartError(self.id, error.message, hint=error.hint) from error
        self._around.secrets.add_server(resolved)
        return resolved

    async def _open(self, start: _Start, connection: Connection, protocol: EraChoice, limit: float) -> EraChoice | None:
        """Settle the era and list the tools; tells the era to try on a new connection if this one is of no use."""
        try:
            await connection.open(protocol, probe_timeout=min(self._around.probe_timeout, limit / 2))
            await self._listing.fetch(connection, limit)
        except RestartInEra as restart:
            return restart.era
        except ServerStartError:
            raise
        except (ServerError, MCPError, ValidationError, RuntimeError, OSError) as error:
            if start.era_remembered and isinstance(error, MCPError) and not connection.ended.is_set():
                start.era_remembered = False
                return "auto"  # it no longer speaks what it spoke last
            raise ServerStartError(self.id, await self._start_failure(connection, error)) from error
        return None

    async def _start_failure(self, connection: Connection, error: Exception) -> str:
        if connection.pid is not None and connection.ended.is_set():
            code = await connection.exit_code()
            return f"{self.id} ended before it answered" + ("." if code is None else f" (exit code {code}).")
        if isinstance(error, ServerError):
            return error.message
        if isinstance(error, ValidationError):
            return f"{self.id} answered the handshake with something that is not MCP{connection.http_fault}."
        return f"{self.id} refused the connection: {str(error).rstrip('.')}{connection.http_fault}."

    async def _keep(self, connection: Connection) -> None:
        """Wait until the connection ends, `stop` is called, or nothing used it for `idle_stop` seconds."""
        idle = self.config.options.idle_stop if self.config.options.start != "always" else None
        async with anyio.create_task_group() as waits:

            async def until(event: anyio.Event) -> None:
                await event.wait()
                waits.cancel_scope.cancel()

            waits.start_soon(until, connection.ended)
            waits.start_soon(until, self._stop)
            waits.start_soon(self._listing.follow, connection, self._timeout)
            if idle is None:
                return
            left = idle
            while left > 0:
                await anyio.sleep(left)
                left = idle if self._busy else self._last_used + idle - anyio.current_time()
            self._connection = None  # from here on a request opens a new one
            waits.cancel_scope.cancel()

    async def _note_end(self, connection: Connection, output: Output) -> None:
        if not connection.ended.is_set() or self._stop.is_set():
            return
        code = await connection.exit_code()
        how = "" if code is None else f" (exit code {code})"
        self._failure_output = self._shown(output)
        self._become("failed", f"{self.id} ended on its own{how}.")

    def _fail(self, start: _Start, error: ServerError, output: Output) -> None:
        self._failure_output = self._shown(output)
        if not isinstance(error.__cause__, ConfigError):  # its messages name variables, and never hold a value
            error = _copy(error, self._around.secrets.text(error.message))
        if start.connection is None:
            start.error = error
            if self._failure_output:
                error.hint = f"{error.hint} Its last words: {self._failure_output[-1]}".strip()
        self._become("failed", str(error))

    def _shown(self, output: Output) -> tuple[str, ...]:
        """What a server wrote, without what was put into its environment as a secret."""
        return tuple(self._around.secrets.text(line) for line in output.lines)

    def _become(self, state: State, reason: str = "") -> None:
        self._state, self._reason = state, reason
        if state in {"ready", "starting"}:
            self._failure_output = ()
        self._around.on_state(self.status)


def _copy(error: ServerError, message: str) -> ServerError:
    kind = ServerStartError if isinstance(error, ServerStartError) else ServerError
    return kind(error.server, message, hint=error.hint)
