"""One configured MCP server as a source: its connections, the shared one and those of single callers."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import anyio

from toolcrib.catalog import (
    LOCAL_PRINCIPAL,
    NO_CONTEXT,
    JsonObject,
    Listing,
    ListMethod,
    RequestContext,
    RequestMethod,
    Snapshot,
)
from toolcrib.config import ServerConfig
from toolcrib.errors import ServerError
from toolcrib.servers.asking import declared
from toolcrib.servers.auth import Standing
from toolcrib.servers.freshness import Freshness
from toolcrib.servers.keeping import Keeper
from toolcrib.servers.life import Life
from toolcrib.servers.line import Line, listing_of
from toolcrib.servers.listings import ToolListings
from toolcrib.servers.offering import Offering
from toolcrib.servers.status import ServerStatus, State
from toolcrib.servers.surroundings import Surroundings

if TYPE_CHECKING:
    from toolcrib.servers.connection import Connection

_IN_USE: tuple[State, ...] = ("ready", "idle", "starting")
"""States of a connection that is there or about to be, the one that counts for the server first."""


class McpServer:
    """One configured MCP server.

    Nothing runs until a request or listing needs it. A failed start is the state of this server alone; the next
    need tries again. Requests of all callers use the shared connection, on which no client capabilities are
    declared; those that name a connection of their own get one, with what their client can do.

    Args:
        server_id: The id that heads its tool ids.
        config: Its entry in the configuration.
        surroundings: What it shares with the others.

    Attributes:
        offering: What it offers beside its tools.
    """

    def __init__(self, server_id: str, config: ServerConfig, surroundings: Surroundings) -> None:
        self.id = server_id
        self.config = config
        self._around = surroundings
        self._standing = Standing(server_id, surroundings.vault, surroundings.secrets)
        self._life = Life.at_first(config, surroundings.failures.of(server_id, config.config_hash), self._tell)
        self._listed = ToolListings(server_id, config.config_hash, surroundings.snapshots, surroundings.on_listed)
        kept = config.options.start == "always"
        self._shared = Line(
            server_id, lambda: self.config, surroundings, self._life, self._listed.to_all, self._standing, kept=kept
        )
        self._keeper = Keeper(self._shared, self._standing)
        self._own: dict[tuple[str, str], Line] = {}
        self.offering = Offering(surroundings.snapshots.folder, config.config_hash, lambda: self.snapshot)

    @property
    def snapshot(self) -> Snapshot | None:
        """What it listed last, in this run or an earlier one; None when it never was listed."""
        return self._listed.to_all.snapshot

    def stored_for(self, principal: str) -> Snapshot | None:
        """What it listed to one principal alone, and has reported no change of; None where it lists to all alike."""
        return self._listed.stored_for(principal)

    @property
    def description(self) -> str:
        """The configured description, else the server's own title or name, else the empty string."""
        return self.config.options.description or self.title

    def description_for(self, principal: str) -> str:
        """The same as far as a principal may know of it."""
        return self.config.options.description or self.title_for(principal)

    @property
    def title(self) -> str:
        """What the server calls itself; empty while it was never listed."""
        return "" if self.snapshot is None else self.snapshot.title

    def title_for(self, principal: str) -> str:
        """The same as far as a principal may know of it: what the server told one principal may be for it alone."""
        snapshot = self.snapshot
        if principal == LOCAL_PRINCIPAL or snapshot is None or snapshot.discovered.get("cacheScope") != "private":
            return self.title
        own = self.stored_for(principal)
        return "" if own is None else own.title

    def offers(self, capability: str) -> bool | None:
        """Whether it claimed a capability, such as `resources`, when it was listed last; None while it never was."""
        return self.offering.claims(capability)

    @property
    def asks_midway(self) -> bool:
        """Whether the server may ask something while a request is under way: it speaks the handshake era."""
        return self.snapshot is not None and not self.snapshot.modern

    @property
    def asked_in_vain(self) -> bool:
        """Whether it has asked something over the shared connection, where nobody can be asked."""
        return self._shared.asked_in_vain

    async def follow(self, uri: str, context: RequestContext, on_start: Callable[[], None]) -> None:
        """Be told when a resource changes, until cancelled. See `Line.follow`."""
        await self._line(context).follow(uri, self._timeout, on_start)

    def freshness_for(self, principal: str) -> Freshness:
        """For how long still, and for whom, what it lists to a principal may be kept."""
        return self._listed.freshness_for(principal)

    @property
    def usable(self) -> bool:
        """Whether it may be connected to at all."""
        return not self.config.disabled and self.config.error is None

    @property
    def running(self) -> bool:
        """Whether a connection is being opened, used or closed."""
        return any(line.running for line in self._lines)

    @property
    def pids(self) -> set[int]:
        """The processes that it runs in."""
        return {line.pid for line in self._lines if line.pid is not None}

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
            listed_at=None if snapshot is None else snapshot.listed_at,
            pid=next((line.pid for line in self._lines if line.pid is not None), None),
            connections=sum(line.life.connection is not None for line in self._lines),
            description=self.description,
        )

    @property
    def output(self) -> tuple[str, ...]:
        """The first and last lines on standard error, without secrets, of the process that runs or of the last one."""
        told = [line.life.said() if line.running else line.life.output or line.life.said() for line in self._lines]
        return next(filter(None, told), ())

    async def list(self, method: ListMethod, context: RequestContext = NO_CONTEXT) -> Listing:
        """All entries over all pages, as sent. See `Source.list`."""
        line = self._line(context) if self._listed.only_to_callers else self._shared
        answer = await line.asked(method, {}, context, self._timeout)
        listing = listing_of(answer)
        if line is self._shared:
            await self.offering.keep(method, listing)
        return listing

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        """Send one request and return its result as sent. See `Source.request`."""
        if context.timeout is None:
            context = replace(context, timeout=self._timeout)
        if method == "resources/read":
            line = self._line(context)
            with line.serving(context):
                return await line.asked(method, params, context, self._timeout)

        line = self._line(context)

        async def requesting(connection: "Connection") -> JsonObject:
            return await connection.request(method, params, context)

        with line.serving(context):
            return await line.use(requesting)

    async def ensure(self, context: RequestContext = NO_CONTEXT) -> None:
        """Connect if need be; a new connection lists the tools. See `Source.ensure`."""
        if context.connection_key is not None:
            await self._list_to_all()
        line = self._line(context)
        await line.ensure()
        if self._listed.differ_for(context.principal):
            await self._list_for(context.principal, line)

    async def ensure_listed(self, context: RequestContext) -> None:
        """Connect if need be so that the tools are listed for whom asks: a connection of its own is opened only
        where nothing else lists them.

        Raises:
            ServerError: It can't be reached.
        """
        if context.connection_key is not None:
            await self._list_to_all()
            if self.snapshot is not None and not self._listed.differ_for(context.principal):
                return
        await self.ensure(context)

    async def _list_to_all(self) -> None:
        """What is listed to nobody in particular is listed to all; only where that can't be had, a caller's counts."""
        if self.snapshot is None and not self._listed.only_to_callers:
            with suppress(ServerError):
                await self._shared.ensure()
            self._listed.only_to_callers = self.snapshot is None

    async def relist(self) -> None:
        """List the tools anew, on the connection that there is or else on a new one.

        Raises:
            ServerError: It can't be reached, or can't list.
        """
        await self._shared.relist(self._timeout)

    def switch(self, *, on: bool) -> None:
        """Let it be used, or no longer: then new requests are refused at once, and it stops after those under way."""
        self.config = replace(self.config, disabled=not on)
        if not on:
            self.retire()
        if not self._shared.running:
            self._life.become("dormant")

    def retire(self) -> None:
        """Stop as soon as no request is under way; a later one starts it again."""
        self._keeper.rest()
        for line in self._lines:
            line.retire()

    def release(self, connection_key: str) -> None:
        """End the connections of one caller or run as soon as no request uses them."""
        for (key, _), line in list(self._own.items()):
            if key == connection_key:
                line.retire()

    async def roots_changed(self, connection_key: str) -> None:
        """Tell the server, over the connections of one caller or run, that its client has other roots now.

        From 2026-07-28 on servers are told nothing: they ask for the roots when they need them.
        """
        for (key, _), line in list(self._own.items()):
            connection = line.open_connection
            if key == connection_key and connection is not None and not connection.negotiated.modern:
                roots = declared(line.client).get("roots")
                if isinstance(roots, dict) and cast("JsonObject", roots).get("listChanged") is True:
                    await connection.tell("notifications/roots/list_changed")

    def forgive(self) -> None:
        """Let the next need try again at once, however often it has failed."""
        self._life.breaker.reset()
        self._standing.need = None
        self._listed.only_to_callers = False

    async def restart(self) -> None:
        """End all connections and connect anew at once, however often that has failed; one that is always to run is
        kept running from then on.

        Raises:
            ServerError: It can't be reached.
        """
        await self.stop()
        self.forgive()
        if self.config.options.start == "always":
            self._around.spawn(self.keep_running)
        await self.ensure()

    async def keep_running(self) -> None:
        """Keep a server running that is always to run: start it, and again whenever it has ended on its own. Ends
        when the server is stopped or switched off."""
        await self._keeper.keep()

    async def stop(self) -> None:
        """End all connections and processes of the server, and wait until they are gone."""
        self._keeper.rest()
        async with anyio.create_task_group() as stops:
            for line in self._lines:
                stops.start_soon(line.stop)

    @property
    def _lines(self) -> "tuple[Line, ...]":
        return (self._shared, *self._own.values())

    @property
    def _state(self) -> State:
        """The state as told: one that was switched off goes on being `ready` until it has stopped."""
        states = [line.life.state for line in self._lines]
        state = self._life.state
        for each in _IN_USE:
            if each in states:
                state = each
                break
        off = self.config.disabled and self.config.error is None
        return "disabled" if off and state not in _IN_USE else state

    @property
    def _timeout(self) -> float:
        return self.config.options.timeout or self._around.timeout

    def _tell(self) -> None:
        status = self.status
        self._around.failures.note(status, self.config.config_hash)
        self._around.on_state(status)

    def _line(self, context: RequestContext) -> Line:
        """The way that a request takes."""
        if context.connection_key is None:
            return self._shared
        capabilities = declared(context.client)
        key = (context.connection_key, json.dumps(capabilities, sort_keys=True))
        line = self._own.get(key)
        if line is None:
            line = self._own[key] = self._opened_for(key, capabilities, context)
        line.client = context.client
        return line

    def _opened_for(self, key: tuple[str, str], capabilities: Mapping[str, Any], context: RequestContext) -> Line:
        """A way to the server for one caller alone; a failure of it is the server's, and they share one breaker."""

        def tell() -> None:
            if life.state in {"failed", "backing_off", "needs_auth"} and not self._shared.running:
                self._life.become(life.state, life.reason, life.output)
                return
            if life.state == "ready" and self._life.reason and not self._shared.running:
                self._life.become("dormant")
                return
            self._tell()

        def forget() -> None:
            if self._own.get(key) is line and not line.running and not life.busy:
                del self._own[key]

        life = Life("dormant", "", tell, self._life.breaker)
        listing = self._listed.to(context.principal, key[1] if capabilities else "")
        line = Line(
            self.id,
            lambda: self.config,
            self._around,
            life,
            listing,
            self._standing,
            client=context.client,
            on_idle=forget,
        )
        return line

    async def _list_for(self, principal: str, line: Line) -> None:
        """List the tools for one principal, once a connection and after each change; nobody else sees them."""
        own = line is not self._shared
        listing = line.listing if own else self._listed.to(principal)
        connection = line.open_connection
        if connection is None or listing.is_of(connection):
            return

        async def fetch(connection: "Connection") -> None:
            await listing.fetch(connection, self._timeout)

        await line.use(fetch)
