"""One configured MCP server as a source: connected when first needed, by one task that owns the connection."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

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
from toolcrib.config import ServerConfig, Variables
from toolcrib.errors import ConfigError, ProtocolError, ServerError, ServerStartError, StoreError, ToolcribError
from toolcrib.servers.connection import Connection, Output, connect
from toolcrib.servers.era import RestartWithHandshake
from toolcrib.servers.era import Protocol as EraChoice
from toolcrib.servers.status import ServerStatus, State
from toolcrib.servers.wire import accepted_tools


class Spawn(Protocol):
    """Starts a task in a group that outlives the caller."""

    def __call__(self, task: Callable[..., Awaitable[Any]], *args: Any) -> None:
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
    timeout: float = 60.0
    start_timeout: float = 30.0
    probe_timeout: float = 10.0


@dataclass(slots=True)
class _Start:
    """One attempt to connect, shared by all that wait for it."""

    settled: anyio.Event = field(default_factory=anyio.Event)
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
        self._stop = anyio.Event()
        self._gone = anyio.Event()
        self._busy = 0
        self._last_used = 0.0
        self._relist_wanted = False
        self._relisting = False
        self.snapshot: Snapshot | None = surroundings.snapshots.load(server_id, config.config_hash)
        if config.error is not None:
            self._state, self._reason = "failed", str(config.error)

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
            info = cast("JsonObject", meta).get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else None
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
        connection = await self._connected()
        entries = await connection.list(method, self._timeout)
        return [cast("JsonObject", entry) for entry in entries if isinstance(entry, dict)]

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        """Send one request and return its result as sent. See `Source.request`."""
        connection = await self._connected()
        if context.timeout is None:
            context = RequestContext(self._timeout, context.on_progress, context.meta, context.connection_key)
        self._busy += 1
        try:
            return await connection.request(method, params, context)
        finally:
            self._busy -= 1
            self._last_used = anyio.current_time()

    async def ensure(self) -> None:
        """Connect if need be; a new connection lists the tools. See `Source.ensure`."""
        await self._connected()

    async def stop(self) -> None:
        """End the connection and the server's processes, and wait until they are gone."""
        if self._start is not None or self._connection is not None:
            self._stop.set()
            await self._gone.wait()

    @property
    def _timeout(self) -> float:
        return self.config.options.timeout or self._around.timeout

    async def _connected(self) -> Connection:
        if self._connection is not None and not self._connection.ended.is_set():
            return self._connection
        if self.config.disabled:
            raise ServerError(self.id, f"Server {self.id} is disabled.", hint="Enable it in the configuration.")
        if self.config.error is not None:
            raise ServerStartError(self.id, str(self.config.error))
        start = self._start
        if start is None:
            if self._connection is not None:
                await self._gone.wait()  # the owner of an ended connection is still clearing up
                return await self._connected()
            start = self._start = _Start()
            self._stop, self._gone = anyio.Event(), anyio.Event()
            self._around.spawn(self._own, start)
        await start.settled.wait()
        if start.error is not None:
            raise _again(start.error)
        assert start.connection is not None
        return start.connection

    async def _own(self, start: _Start) -> None:
        """Open, keep and close one connection: the task that enters and leaves the SDK's session."""
        output = Output()
        try:
            self._become("starting")
            try:
                await self._open_and_keep(start, output, self.config.options.protocol)
            except RestartWithHandshake:
                await self._open_and_keep(start, output, "legacy")
        except ToolcribError as error:
            self._fail(start, error, output)
        except BaseExceptionGroup as group:
            self._fail(start, ServerError(self.id, f"The connection to {self.id} broke: {_innermost(group)}."), output)
        finally:
            self._connection = self._start = None
            if start.connection is None and start.error is None:
                start.error = ServerStartError(self.id, f"{self.id} was stopped while it started.")
            start.settled.set()
            if self._state in {"starting", "ready"}:
                self._become("dormant")
            self._gone.set()

    async def _open_and_keep(self, start: _Start, output: Output, protocol: EraChoice) -> None:
        if protocol == "auto" and self.snapshot is not None and not self.snapshot.modern:
            protocol = "legacy"  # what it spoke last; see `_open` for a server that has since moved on
        async with AsyncExitStack() as stack:
            async with self._around.starts:
                connection = await self._open(stack, output, protocol)
                await self._list_tools(connection)
            self._connection, self._start = connection, None
            self._last_used = anyio.current_time()
            start.connection = connection
            self._become("ready")
            start.settled.set()
            await self._keep(connection)
            if connection.ended.is_set():
                self._note_end(connection, output)

    async def _open(self, stack: AsyncExitStack, output: Output, protocol: EraChoice) -> Connection:
        limit = self.config.options.start_timeout or self._around.start_timeout
        try:
            resolved = self.config.resolve(self._around.variables)
        except ConfigError as error:
            raise ServerStartError(self.id, error.message, hint=error.hint) from error
        connection = await stack.enter_async_context(
            connect(self.id, resolved, self._around.marker, output, self._tools_changed)
        )
        probe = min(self._around.probe_timeout, limit)
        try:
            with anyio.fail_after(limit):
                await connection.open(protocol, probe_timeout=probe)
        except TimeoutError:
            raise ServerStartError(
                self.id,
                f"{self.id} did not answer within {limit:g} s of its start.",
                hint="Its `toolcrib.start_timeout` can be raised in the configuration.",
            ) from None
        except (MCPError, ValidationError, RuntimeError, OSError) as error:
            raise ServerStartError(self.id, await self._start_failure(connection, error)) from error
        return connection

    async def _start_failure(self, connection: Connection, error: Exception) -> str:
        if connection.pid is not None and connection.ended.is_set():
            with anyio.move_on_after(1):
                while connection.exit_code() is None:
                    await anyio.sleep(0.01)
            code = connection.exit_code()
            return f"{self.id} ended before it answered" + ("." if code is None else f" (exit code {code}).")
        if isinstance(error, ValidationError):
            return f"{self.id} answered the handshake with something that is not MCP."
        return f"{self.id} refused the connection: {error}."

    async def _list_tools(self, connection: Connection) -> None:
        """List the tools and store them; a server that can't list keeps what it listed before."""
        entries: list[Any] = []
        if connection.offers("tools"):
            try:
                entries = await connection.list("tools/list", self._timeout)
            except ProtocolError as error:
                if self.snapshot is None:
                    raise ServerStartError(self.id, f"{self.id} can't list its tools: {error.rpc_message}.") from error
                return
        tools, _refused = accepted_tools(connection.session, entries)
        negotiated = connection.negotiated
        fresh = Snapshot.of_listing(
            self.id, self.config.config_hash, negotiated.protocol_version, negotiated.discovered, tools
        )
        try:
            self.snapshot = await anyio.to_thread.run_sync(self._around.snapshots.save, fresh)
        except StoreError:
            self.snapshot = fresh  # a state directory that can't be written costs only the next start
        self._around.on_listed(self.snapshot)

    async def _tools_changed(self) -> None:
        """List again after `list_changed`; many notifications in a row cause at most two listings."""
        self._relist_wanted = True
        if not self._relisting and self._connection is not None:
            self._relisting = True
            self._around.spawn(self._relist)

    async def _relist(self) -> None:
        try:
            while self._relist_wanted and self._connection is not None:
                self._relist_wanted = False
                await self._list_tools(self._connection)
        except ServerError:
            return  # the connection's own end is noted by its owner; the old listing stays
        finally:
            self._relisting = False

    async def _keep(self, connection: Connection) -> None:
        """Wait until the connection ends, `stop` is called, or nothing used it for `idle_stop` seconds."""
        idle = self.config.options.idle_stop if self.config.options.start != "always" else None
        async with anyio.create_task_group() as waits:

            async def until(event: anyio.Event) -> None:
                await event.wait()
                waits.cancel_scope.cancel()

            waits.start_soon(until, connection.ended)
            waits.start_soon(until, self._stop)
            while True:
                if not idle:
                    await anyio.sleep_forever()
                left = self._last_used + cast("float", idle) - anyio.current_time()
                if left <= 0 and not self._busy:
                    waits.cancel_scope.cancel()
                await anyio.sleep(max(left, 0.05))

    def _note_end(self, connection: Connection, output: Output) -> None:
        code = connection.exit_code()
        how = "" if code is None else f" (exit code {code})"
        self._failure_output = tuple(output.lines)
        self._become("failed", f"{self.id} ended on its own{how}.")

    def _fail(self, start: _Start, error: ToolcribError, output: Output) -> None:
        self._failure_output = tuple(output.lines)
        if start.connection is None:
            start.error = error if isinstance(error, ServerError) else ServerError(self.id, str(error))
            if self._failure_output:
                last = self._failure_output[-1]
                start.error.hint = f"{start.error.hint} Its last words: {last}".strip()
        self._become("failed", str(start.error or error))

    def _become(self, state: State, reason: str = "") -> None:
        self._state, self._reason = state, reason
        if state in {"ready", "starting"}:
            self._failure_output = ()
        self._around.on_state(self.status)


def _again(error: ServerError) -> ServerError:
    """A copy for one waiter: an exception raised in several tasks would gather all their tracebacks."""
    return type(error)(error.server, error.message, hint=error.hint)


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return str(error) or type(error).__name__
