"""Listings of the configured servers: the first one of each, and what changes with every later one."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from toolcrib.catalog import (
    LOCAL_PRINCIPAL,
    NO_CONTEXT,
    RequestContext,
    Snapshot,
    ToolRegistry,
    owner_of,
    part_name,
    public_name,
)
from toolcrib.crib.changes import published
from toolcrib.errors import LostListingError, ServerError
from toolcrib.events import CatalogChanged, EventBus
from toolcrib.servers import McpServer

_Answer = TypeVar("_Answer")


class Listings:
    """Brings what servers list into the catalog.

    Args:
        registry: The catalog.
        events: Told what changed.
        servers: The configured servers.
        patience: Seconds that a search waits for servers that were never listed.
        is_off: Whether a server is off: then it is left alone.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        events: EventBus,
        servers: Callable[[], Sequence[McpServer]],
        patience: float,
        is_off: Callable[[str], bool],
    ) -> None:
        self._registry = registry
        self._events = events
        self._servers = servers
        self._patience = patience
        self._is_off = is_off
        self._digests: dict[str, str] = {}
        self._first: dict[str, anyio.Event] = {}
        self._trying_again: set[str] = set()

    def take_stored(self, server: McpServer) -> None:
        """Take in what a server listed last, if it is not there already; its definitions stay unread."""
        snapshot = server.snapshot
        if snapshot is None:
            return
        if self._registry.has(server.id):
            self.take(snapshot)
            return
        self._put(snapshot)
        self._events.publish(CatalogChanged(server.id, added=tuple(self._registry.keys(server.id))))

    def drop(self, server_id: str) -> None:
        """Take a server's tools out of the catalog, and publish that."""
        self._outdate_others(server_id)
        self._digests.pop(server_id, None)
        removed = tuple(self._registry.keys(server_id))
        self._registry.remove(server_id)
        if removed:
            self._events.publish(CatalogChanged(server_id, removed=removed))

    def take(self, snapshot: Snapshot) -> None:
        """Take in a new listing, and publish what it changed."""
        part = _part_of(snapshot)
        if self._digests.get(part) == _digest(snapshot):
            return
        with published(self._registry, self._events, part):
            self._put(snapshot)
        if part == snapshot.server:
            self._outdate_others(part)

    def _outdate_others(self, server_id: str) -> None:
        """Drop what was listed to single principals: what is listed to the others has changed."""
        for own in [part for part in self._registry.parts if public_name(part) == server_id and owner_of(part)]:
            self._registry.remove(own)
            self._digests.pop(own, None)
            self._first.pop(own, None)

    async def answered(self, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Ask something of the catalog; where a stored listing proves unreadable, list its server anew and ask again.

        One damaged file must cost nobody else's tools, and its own server's only until it has listed again.

        Args:
            ask: Asks; without effect when it raises `LostListingError`.
        """
        replaced: set[str] = set()
        while True:
            try:
                return await ask()
            except LostListingError as error:
                if error.server in replaced:
                    raise
                replaced.add(error.server)
                await self._replace(error.server)

    async def _replace(self, server_id: str) -> None:
        """Drop what cannot be read, and list the server anew; a failure is its own state."""
        self._outdate_others(server_id)
        self._registry.remove(server_id)
        self._digests.pop(server_id, None)
        for server in self._servers():
            wanted = server.running or server.config.options.start != "on_request"
            if server.id == server_id and server.usable and wanted:
                with anyio.move_on_after(self._patience), suppress(ServerError):
                    await server.relist()

    async def wait_for_first(
        self, tasks: TaskGroup, server: str | None, context: Callable[[str], RequestContext] = lambda _: NO_CONTEXT
    ) -> list[str]:
        """List servers that never were, wait a little, and name those that are still to come.

        One that could not be listed at first is tried again, for which nobody waits: it is told as a change.

        Args:
            tasks: The listings run on in it.
            server: Only this server; None means all. Servers that are off are left alone.
            context: Whom it is for, by the server's id: a private listing is made for each principal.
        """
        wanted = [
            (each, asked)
            for each in self._servers()
            if each.usable
            and (server is None or each.id == server)
            and not self._is_off(each.id)
            and not self.is_listed_for(each, (asked := context(each.id)).principal)
        ]
        for each, asked in wanted:
            part = part_name(each.id, asked.principal)
            if part not in self._first:
                tasks.start_soon(self.list_quietly, each, asked)
                self._first[part] = anyio.Event()
            elif self._first[part].is_set() and part not in self._trying_again:
                self._trying_again.add(part)
                tasks.start_soon(self._list_again, part, each, asked)
        with anyio.move_on_after(self._patience):
            for each, asked in wanted:
                if (first := self._first.get(part_name(each.id, asked.principal))) is not None:
                    await first.wait()
        return [each.id for each, asked in wanted if not self._is_first_done(each.id, asked)]

    @property
    def tried_again(self) -> frozenset[str]:
        """The servers that could not be listed and are being tried again."""
        return frozenset(map(public_name, self._trying_again))

    async def _list_again(self, part: str, server: McpServer, context: RequestContext) -> None:
        """Connect a server that could not be listed; one that has failed often is left alone for a while."""
        try:
            await self.list_quietly(server, context)
        finally:
            self._trying_again.discard(part)

    def is_listed_for(self, server: McpServer, principal: str) -> bool:
        """Whether the catalog has what a server lists to a principal; what it listed before is taken in for it."""
        if principal == LOCAL_PRINCIPAL:
            return server.snapshot is not None
        if (stored := server.stored_for(principal)) is not None:
            self.take(stored)
        return self._registry.part_for(server.id, principal) is not None

    def _is_first_done(self, server_id: str, context: RequestContext) -> bool:
        first = self._first.get(part_name(server_id, context.principal))
        return first is not None and first.is_set()

    async def refresh(self, servers: Sequence[McpServer]) -> None:
        """List servers anew on new connections; a failure is that server's own state."""

        async def one(server: McpServer) -> None:
            with suppress(ServerError):
                await server.restart()

        async with anyio.create_task_group() as tasks:
            for server in servers:
                if server.usable:
                    tasks.start_soon(one, server)

    async def list_quietly(self, server: McpServer, context: RequestContext = NO_CONTEXT) -> None:
        """Connect a server so that it is listed; a failure is its own state."""
        listed = self._first.setdefault(part_name(server.id, context.principal), anyio.Event())
        with suppress(ServerError):
            await server.ensure_listed(context)
        listed.set()

    def _put(self, snapshot: Snapshot) -> None:
        self._registry.put(
            snapshot.definitions,
            server=snapshot.server,
            ids=snapshot.ids,
            private=snapshot.private,
            owner=snapshot.owner,
        )
        self._digests[_part_of(snapshot)] = _digest(snapshot)


def _part_of(snapshot: Snapshot) -> str:
    return part_name(snapshot.server, snapshot.owner if snapshot.private else "")


def _digest(snapshot: Snapshot) -> str:
    return f"{snapshot.digest}{' private' if snapshot.private else ''}"
