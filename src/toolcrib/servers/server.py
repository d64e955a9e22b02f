"""One configured MCP server as a source: connected when first needed, by a task that owns the connection."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio

from toolcrib.catalog import NO_CONTEXT, JsonObject, ListMethod, RequestContext, RequestMethod, Snapshot
from toolcrib.config import ServerConfig
from toolcrib.errors import AuthRequiredError, ServerClosedError, ServerError, ServerStartError
from toolcrib.servers.auth import Standing
from toolcrib.servers.breaker import FIRST_PAUSE, LONGEST_PAUSE
from toolcrib.servers.life import Attempt, Life
from toolcrib.servers.listing import ToolListing
from toolcrib.servers.status import ServerStatus, State
from toolcrib.servers.surroundings import Surroundings

if TYPE_CHECKING:
    from toolcrib.servers.connection import Connection

_Answer = TypeVar("_Answer")


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
        self._listing = ToolListing(server_id, config.config_hash, surroundings.snapshots, surroundings.on_listed)
        self._standing = Standing(server_id, surroundings.vault, surroundings.secrets)
        state: State = "failed" if config.error is not None else "disabled" if config.disabled else "dormant"
        reason = "" if config.error is None else str(config.error)
        self._life = Life(state, reason, lambda: surroundings.on_state(self.status))

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
        return not self._life.gone.is_set()

    @property
    def status(self) -> ServerStatus:
        """What is known of it now."""
        snapshot = self.snapshot
        return ServerStatus(
            id=self.id,
            key=self.config.key,
            state=self._state,
            reason=self._life.reason,
            output=self._life.output,
            era=None if snapshot is None else ("modern" if snapshot.modern else "handshake"),
            protocol_version=None if snapshot is None else snapshot.protocol_version,
            tools=None if snapshot is None else len(snapshot.definitions.names),
            pid=None if self._life.connection is None else self._life.connection.pid,
            description=self.description,
        )

    async def list(self, method: ListMethod) -> list[JsonObject]:
        """All entries over all pages, as sent. See `Source.list`."""

        async def listing(connection: "Connection") -> list[Any]:
            return await connection.list(method, self._timeout)

        entries = await self._use(listing)
        return [cast("JsonObject", entry) for entry in entries if isinstance(entry, dict)]

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        """Send one request and return its result as sent. See `Source.request`."""
        if context.timeout is None:
            context = replace(context, timeout=self._timeout)

        async def requesting(connection: "Connection") -> JsonObject:
            return await connection.request(method, params, context)

        return await self._use(requesting)

    async def ensure(self) -> None:
        """Connect if need be; a new connection lists the tools. See `Source.ensure`."""
        await self._connected()

    async def relist(self) -> None:
        """List the tools anew, on the connection that there is or else on a new one.

        Raises:
            ServerError: It can't be reached, or can't list.
        """
        life = self._life
        used = None if life.connection is None or life.connection.ended.is_set() else life.connection
        connection = await self._connected()
        if connection is used:  # a new one has listed already
            await self._listing.fetch(connection, self._timeout)

    def switch(self, *, on: bool) -> None:
        """Let it be used, or no longer: then new requests are refused at once, and it stops after those under way."""
        self.config = replace(self.config, disabled=not on)
        if not on:
            self.retire()
        if not self.running:
            self._life.become("dormant")

    def retire(self) -> None:
        """Stop as soon as no request is under way; a later one starts it again."""
        life = self._life
        life.leaving = True
        if not life.busy:
            life.stop.set()
            life.connection = None

    def forgive(self) -> None:
        """Let the next need try again at once, however often it has failed."""
        self._life.breaker.reset()
        self._standing.need = None

    async def keep_running(self) -> None:
        """Keep a server running that is always to run: start it, and again whenever it has ended on its own."""
        life = self._life
        while not life.stop.is_set():
            with suppress(ServerError):
                await self.ensure()
            await life.gone.wait()
            if not life.stop.is_set():
                need = self._standing.need
                mended_unseen = need is not None and not need.by_login
                await anyio.sleep(LONGEST_PAUSE if mended_unseen else max(life.breaker.pause, FIRST_PAUSE))

    async def stop(self) -> None:
        """End the connection and the server's processes, and wait until they are gone."""
        life = self._life
        life.stop.set()
        life.connection = None
        if life.opening is not None:
            life.opening.cancel()
        await life.gone.wait()

    @property
    def _state(self) -> State:
        """The state as told: one that was switched off goes on being `ready` until it has stopped."""
        state = self._life.state
        off = self.config.disabled and self.config.error is None
        return "disabled" if off and state not in {"starting", "ready", "idle"} else state

    @property
    def _timeout(self) -> float:
        return self.config.options.timeout or self._around.timeout

    async def _use(self, send: "Callable[[Connection], Awaitable[_Answer]]") -> _Answer:
        """Send something; once more, where the connection proves to have ended before anything was sent."""
        try:
            return await self._use_once(send)
        except ServerClosedError:
            return await self._use_once(send)

    async def _use_once(self, send: "Callable[[Connection], Awaitable[_Answer]]") -> _Answer:
        connection = await self._connected()
        self._listing.note_use()
        life = self._life
        life.busy += 1
        if life.state == "idle" or (life.state == "needs_auth" and self._standing.outdated):
            life.become("ready")
        try:
            return await send(connection)
        except AuthRequiredError as error:
            life.become("needs_auth", str(error))
            raise
        finally:
            life.busy -= 1
            life.last_used = anyio.current_time()
            self._around.berths.touch()
            if life.leaving:
                self.retire()

    async def _connected(self) -> "Connection":
        life = self._life
        while True:
            if self.config.disabled:
                raise ServerError(
                    self.id,
                    f"Server {self.id} is disabled.",
                    hint=f"Enable it in the configuration, or with: toolcrib servers enable {self.config.key}",
                )
            if life.connection is not None and not life.connection.ended.is_set():
                return life.connection
            if self.config.error is not None:
                raise ServerStartError(self.id, str(self.config.error))
            attempt = life.attempt
            if attempt is not None:
                break
            if life.gone.is_set():
                need = self._standing.need
                if need is not None and need.closed and not self._standing.outdated:
                    raise need.error()
                if (pause := life.breaker.pause) > 0:
                    raise ServerStartError(
                        self.id,
                        f"{self.id} failed several times in a row, and is left alone for {pause:.0f} s: {life.reason}",
                        hint=f"toolcrib servers --refresh {self.id} tries at once.",
                    )
                attempt = self._begin()
                break
            await life.gone.wait()  # the owner of an ended connection is still clearing up
        await attempt.settled.wait()
        if attempt.error is not None:
            raise _copy(attempt.error)
        assert attempt.connection is not None
        return attempt.connection

    def _begin(self) -> Attempt:
        """Spawn the task that opens and owns a connection."""
        # The SDK takes most of a second to load, and most commands connect to nothing.
        from toolcrib.servers.owner import Owner

        life = self._life
        attempt = life.attempt = Attempt()
        life.stop, life.gone, life.leaving = anyio.Event(), anyio.Event(), False
        owner = Owner(
            self.id, self.config, self._around, self._listing, life, attempt, self.stop, standing=self._standing
        )
        self._around.spawn(owner.run)
        return attempt


def _copy(error: ServerError) -> ServerError:
    """One for each waiter: an exception raised in several tasks would gather all their tracebacks."""
    kind = next((each for each in (AuthRequiredError, ServerStartError) if isinstance(error, each)), ServerError)
    return kind(error.server, error.message, hint=error.hint)
