"""Listings of the configured servers: the first one of each, and what changes with every later one."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from toolcrib.catalog import Snapshot, ToolRegistry
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

    def take_stored(self, server: McpServer) -> None:
        """Take in what a server listed last, if it is not there already; its definitions stay unread."""
        snapshot = server.snapshot
        if snapshot is None:
            return
        if server.id in self._registry.servers:
            self.take(snapshot)
            return
        self._put(snapshot)
        self._events.publish(CatalogChanged(server.id, added=tuple(self._registry.keys(server.id))))

    def drop(self, server_id: str) -> None:
        """Take a server's tools out of the catalog, and publish that."""
        self._digests.pop(server_id, None)
        removed = tuple(self._registry.keys(server_id))
        self._registry.remove(server_id)
        if removed:
            self._events.publish(CatalogChanged(server_id, removed=removed))

    def take(self, snapshot: Snapshot) -> None:
        """Take in a new listing, and publish what it changed."""
        if self._digests.get(snapshot.server) == snapshot.digest:
            return
        with published(self._registry, self._events, snapshot.server):
            self._put(snapshot)

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
        self._registry.remove(server_id)
        self._digests.pop(server_id, None)
        for server in self._servers():
            wanted = server.running or server.config.options.start != "on_request"
            if server.id == server_id and server.usable and wanted:
                with anyio.move_on_after(self._patience), suppress(ServerError):
                    await server.relist()

    async def wait_for_first(self, tasks: TaskGroup, server: str | None) -> list[str]:
        """List servers that never were, wait a little, and name those that are still to come.

        Args:
            tasks: The listings run on in it.
            server: Only this server; None means all. Servers that are off are left alone.
        """
        wanted = [
            each
            for each in self._servers()
            if each.usable
            and each.snapshot is None
            and (server is None or each.id == server)
            and not self._is_off(each.id)
        ]
        for each in wanted:
            if each.id not in self._first:
                self._first[each.id] = anyio.Event()
                tasks.start_soon(self.list_quietly, each)
        with anyio.move_on_after(self._patience):
            for each in wanted:
                await self._first[each.id].wait()
        return [each.id for each in wanted if not self._first[each.id].is_set()]

    async def refresh(self, servers: Sequence[McpServer]) -> None:
        """List servers anew on new connections; a failure is that server's own state."""

        async def one(server: McpServer) -> None:
            with suppress(ServerError):
                await server.stop()
                server.forgive()
                await server.ensure()

        async with anyio.create_task_group() as tasks:
            for server in servers:
                if server.usable:
                    tasks.start_soon(one, server)

    async def list_quietly(self, server: McpServer) -> None:
        """Connect a server so that it is listed; a failure is its own state."""
        listed = self._first.setdefault(server.id, anyio.Event())
        with suppress(ServerError):
            await server.ensure()
        listed.set()

    def _put(self, snapshot: Snapshot) -> None:
        self._registry.put(snapshot.definitions, server=snapshot.server, ids=snapshot.ids)
        self._digests[snapshot.server] = snapshot.digest
