"""The task that owns one connection: it opens it, lists the tools, keeps it and closes it.

The SDK's session must be entered and left in one task, so nothing else touches its life.
"""

import math
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from toolcrib.config import ResolvedServer, ServerConfig
from toolcrib.errors import AuthRequiredError, ConfigError, ServerError, ServerStartError
from toolcrib.servers.auth import Standing
from toolcrib.servers.breaker import STEADY_SECONDS
from toolcrib.servers.causes import reason, unwrapped
from toolcrib.servers.connection import Connection, Output, connect
from toolcrib.servers.era import Protocol, RestartInEra
from toolcrib.servers.life import Attempt
from toolcrib.servers.surroundings import Surroundings

if TYPE_CHECKING:
    from toolcrib.servers.line import Line

_QUIET_SECONDS = 30.0
"""Without a request, after which a server counts as idle."""


class Owner:
    """Owns one connection, from the attempt to open it to its end.

    Args:
        server_id: The server's id.
        config: Its entry in the configuration.
        around: What it shares with the other servers.
        line: The way to the server that the connection is for.
        attempt: What those who wait for the connection wait for.
        standing: Its login.
    """

    def __init__(
        self,
        server_id: str,
        config: ServerConfig,
        around: Surroundings,
        line: "Line",
        attempt: Attempt,
        *,
        standing: Standing,
    ) -> None:
        self._id = server_id
        self._config = config
        self._around = around
        self._line = line
        self._listing = line.listing
        self._life = line.life
        self._attempt = attempt
        self._standing = standing
        self._opened_at: float | None = None

    async def run(self) -> None:
        """Open, keep and close the connection; a failure is the server's state, and never raised."""
        output = Output()
        following: Protocol | None = self._config.options.protocol
        if following == "auto" and self._listing.of_handshake_era:
            following, self._attempt.era_remembered = "legacy", True
        try:
            self._life.become("starting")
            while following is not None:
                output = Output()
                following = await self._open_and_keep(output, following)
        except ServerError as error:
            self._fail(error, output)
        except Exception as error:
            self._fail(self._broken(error), output)
        finally:
            self._life.connection = self._life.attempt = self._life.opening = None
            self._around.berths.leave(self._life)
            if self._attempt.connection is None and self._attempt.error is None:
                self._attempt.error = ServerStartError(self._id, f"{self._id} was stopped while it started.")
            self._attempt.settled.set()
            if self._life.state in {"starting", "ready", "idle"}:
                if self._attempt.connection is not None:
                    self._life.breaker.reset()
                self._life.become("dormant")
            self._line.closed()

    async def _open_and_keep(self, output: Output, protocol: Protocol) -> Protocol | None:
        """Hold one connection from its opening to its end.

        Returns:
            The era to try next on a new connection, or None when this one was used and is done with.

        Raises:
            ServerError: It could not be opened.
            Exception: What a transport raised; see `reason`.
        """
        resolved = await self._resolved()
        limit = self._config.options.start_timeout or self._around.start_timeout
        life = self._life
        with unwrapped(), anyio.CancelScope() as opening:
            life.opening = opening
            if life.stop.is_set():
                opening.cancel()
            on_its_own = False
            await self._take_berth(limit)
            async with AsyncExitStack() as stack:
                async with self._around.starts:
                    opening.deadline = anyio.current_time() + limit
                    connection = await stack.enter_async_context(
                        connect(
                            self._id,
                            resolved,
                            self._around.watchdog,
                            output,
                            self._line.heard,
                            self._standing,
                            self._line.client_now,
                            self._line.client,
                        )
                    )
                    following = await self._open(connection, protocol, limit)
                    opening.deadline = math.inf
                if following is None:
                    self._hand_out(connection, output)
                    await self._keep(connection)
                    life.connection = None
                    on_its_own = connection.ended.is_set() and not life.stop.is_set()
            if following is None and on_its_own:
                await self._note_end(connection, output)
            return following
        if life.stop.is_set():
            return None
        raise ServerStartError(
            self._id,
            f"{self._id} did not answer within {limit:g} s of its start.",
            hint="Its `toolcrib.start_timeout` can be raised in the configuration.",
        )

    async def _take_berth(self, limit: float) -> None:
        """Make sure that one more process may run; HTTP servers are none, and those that always run don't count."""
        if self._config.command is None or self._line.kept:
            return
        try:
            with anyio.fail_after(limit):
                await self._around.berths.take(self._life, self._line.stop)
        except TimeoutError:
            raise ServerStartError(
                self._id,
                f"{self._id} can't start: {self._around.berths.taken} servers run already, and all are busy.",
                hint="`toolcrib.max_running` in the configuration says how many may.",
            ) from None

    async def _resolved(self) -> ResolvedServer:
        try:
            resolved = await anyio.to_thread.run_sync(self._config.resolve, self._around.variables)
        except ConfigError as error:
            raise ServerStartError(self._id, error.message, hint=error.hint) from error
        self._around.secrets.add_server(resolved)
        return resolved

    async def _open(self, connection: Connection, protocol: Protocol, limit: float) -> Protocol | None:
        """Settle the era and list the tools; tells the era to try on a new connection if this one is of no use."""
        try:
            await connection.open(protocol, probe_timeout=min(self._around.probe_timeout, limit / 2))
            await self._listing.fetch(connection, limit)
        except RestartInEra as restart:
            return restart.era
        except (AuthRequiredError, ServerStartError):
            raise
        except (ServerError, MCPError, ValidationError, RuntimeError, OSError) as error:
            if self._standing.need is not None:
                raise self._standing.need.error() from error
            if self._attempt.era_remembered and isinstance(error, MCPError) and not connection.ended.is_set():
                self._attempt.era_remembered = False
                return "auto"  # it no longer speaks what it spoke last
            raise ServerStartError(self._id, await self._start_failure(connection, error)) from error
        return None

    def _hand_out(self, connection: Connection, output: Output) -> None:
        life = self._life
        life.said = lambda: self._shown(output)
        life.connection, life.attempt, life.opening = connection, None, None
        self._standing.need = None
        life.last_used = anyio.current_time()
        self._attempt.connection = connection
        self._opened_at = life.last_used
        life.become("ready")
        self._attempt.settled.set()

    async def _keep(self, connection: Connection) -> None:
        """Wait until the connection ends, it is to stop, or nothing used it for `idle_stop` seconds."""
        options, life = self._config.options, self._life
        idle = None if self._line.kept else options.idle_stop
        async with anyio.create_task_group() as waits:

            async def until(event: anyio.Event) -> None:
                await event.wait()
                waits.cancel_scope.cancel()

            waits.start_soon(until, connection.ended)
            waits.start_soon(until, life.stop)
            waits.start_soon(self._listing.follow, connection, options.timeout or self._around.timeout)
            if idle is None:
                return
            while (unused := 0.0 if life.busy or life.held else anyio.current_time() - life.last_used) < idle:
                quiet = unused >= _QUIET_SECONDS
                if quiet and life.state == "ready":
                    life.become("idle")
                await anyio.sleep((idle if quiet else min(idle, _QUIET_SECONDS)) - unused)
            life.connection = None  # from here on a request opens a new one
            waits.cancel_scope.cancel()

    async def _note_end(self, connection: Connection, output: Output) -> None:
        """Note an end that nobody asked for, once the transport is closed and its last lines are read."""
        if self._standing.need is not None and self._standing.need.closed:
            self._life.become("needs_auth", str(self._standing.need.error()))
            return
        code = await connection.exit_code()
        how = "" if code is None else f" (exit code {code})"
        self._become_failed(f"{self._id} ended on its own{how}.", self._shown(output))

    async def _start_failure(self, connection: Connection, error: Exception) -> str:
        if connection.pid is not None and connection.ended.is_set():
            code = await connection.exit_code()
            return f"{self._id} ended before it answered" + ("." if code is None else f" (exit code {code}).")
        if isinstance(error, ServerError):
            return error.message
        if isinstance(error, ValidationError):
            return f"{self._id} answered the handshake with something that is not MCP{connection.http_fault}."
        return f"{self._id} refused the connection: {str(error).rstrip('.')}{connection.http_fault}."

    def _broken(self, error: Exception) -> ServerError:
        """Whatever a transport raises is this server's own failure, and never that of the crib."""
        if self._standing.need is not None:
            return self._standing.need.error()
        if self._attempt.connection is not None:
            return ServerError(self._id, f"{self._id} has lost its connection: {reason(error)}.")
        hint = "Check its configuration." if self._config.url is None else "Check its `url` and `headers`."
        return ServerStartError(self._id, f"{self._id} can't be reached: {reason(error)}.", hint=hint)

    def _fail(self, error: ServerError, output: Output) -> None:
        shown = self._shown(output)
        if not isinstance(error.__cause__, ConfigError):  # its messages name variables, and never hold a value
            error.message = self._around.secrets.text(error.message)
        if self._attempt.connection is None:
            self._attempt.error = error
            if shown:
                error.hint = f"{error.hint} Its last words: {shown[-1]}".strip()
        if isinstance(error, AuthRequiredError):
            self._life.become("needs_auth", str(error))  # no crash: the next need tries again once there is a login
            return
        self._become_failed(str(error), shown)

    def _become_failed(self, reason: str, output: tuple[str, ...]) -> None:
        life = self._life
        if self._opened_at is not None and anyio.current_time() - self._opened_at >= STEADY_SECONDS:
            life.breaker.reset()
        life.breaker.failed()
        life.become("backing_off" if life.breaker.pause > 0 else "failed", reason, output)

    def _shown(self, output: Output) -> tuple[str, ...]:
        """What a server wrote, without what was put into its environment as a secret."""
        return tuple(self._around.secrets.text(line) for line in output.lines)
