"""What one server lists: fetched at each connection, kept as a snapshot, and fetched again when it changes."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from toolcrib.catalog import Snapshot, SnapshotStore
from toolcrib.errors import ProtocolError, ServerError, ServerStartError, StoreError

if TYPE_CHECKING:
    from toolcrib.servers.connection import Connection

_SHORTEST_REST = 0.05
_LONGEST_REST = 60.0
"""Seconds between two listings of a server that reports one change after the other; the rest doubles each time.
Some report a change whenever they are asked for their list."""

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
"""Seconds before a lost subscription is opened again; the pause doubles each time."""


class ToolListing:
    """The tools of one server, as it listed them last.

    Args:
        server: The server's id.
        config_hash: Its snapshot is filed under this.
        snapshots: Where listings are kept.
        on_listed: Told of every new listing.

    Attributes:
        snapshot: The last listing, from this run or an earlier one; None when there never was one.
    """

    def __init__(
        self, server: str, config_hash: str, snapshots: SnapshotStore, on_listed: Callable[[Snapshot], None]
    ) -> None:
        self._server = server
        self._config_hash = config_hash
        self._snapshots = snapshots
        self._on_listed = on_listed
        self._outdated = anyio.Event()
        self._ttl: float | None = None
        self._listed_at = 0.0
        self.snapshot = snapshots.load(server, config_hash)

    async def fetch(self, connection: "Connection", timeout: float) -> None:
        """List the tools and store them; a server that can't list keeps what it listed before.

        Args:
            connection: An open connection.
            timeout: Seconds for each page.

        Raises:
            ServerStartError: The server refuses, and never listed before.
            ServerError: The connection broke or did not answer.
        """
        from toolcrib.servers.wire import accepted_tools

        self._outdated = anyio.Event()  # a change that is reported from here on is one that the answer may lack
        entries: list[Any] = []
        if connection.offers("tools"):
            try:
                entries, self._ttl = await connection.list_with_ttl("tools/list", timeout)
                self._listed_at = anyio.current_time()
            except ProtocolError as error:
                if self.snapshot is None:
                    raise ServerStartError(
                        self._server, f"{self._server} can't list its tools: {error.rpc_message}."
                    ) from error
                return
        tools, _refused = accepted_tools(connection.session, entries)
        negotiated = connection.negotiated
        fresh = Snapshot.of_listing(
            self._server, self._config_hash, negotiated.protocol_version, negotiated.discovered, tools, self.snapshot
        )
        try:
            self.snapshot = await anyio.to_thread.run_sync(self._snapshots.save, fresh)
        except StoreError:
            self.snapshot = fresh  # a state directory that can't be written costs only the next start
        self._on_listed(self.snapshot)

    def note_use(self) -> None:
        """List again in the background if the server's own promise of freshness has run out.

        Until that is done the old listing serves: a promise that ran out is no change. Most servers make none.
        """
        if self._ttl is not None and anyio.current_time() >= self._listed_at + self._ttl:
            self._ttl = None
            self._outdated.set()

    async def changed(self) -> None:
        """Take a `list_changed` notification."""
        self._outdated.set()

    async def follow(self, connection: "Connection", timeout: float) -> None:
        """List again after each change, until cancelled; many changes at once cause at most two listings, and the
        more often a server reports one, the longer it waits."""
        async with anyio.create_task_group() as tasks:
            if connection.negotiated.modern and connection.tells_of_changes("tools"):
                tasks.start_soon(self._subscribe, connection)
            rest, listed = 0.0, -_LONGEST_REST
            while True:
                await self._outdated.wait()
                if anyio.current_time() - listed > 2 * max(rest, _SHORTEST_REST):
                    rest = 0.0
                else:
                    rest = min(max(2 * rest, _SHORTEST_REST), _LONGEST_REST)
                await anyio.sleep(rest)
                with suppress(ServerError):  # the end of the connection is its owner's matter; the old listing stays
                    await self.fetch(connection, timeout)
                listed = anyio.current_time()

    async def _subscribe(self, connection: "Connection") -> None:
        """Hear of changes from 2026-07-28 on, where they are sent to subscribers alone.

        Nothing is replayed to a subscription that was lost, so each new one begins with a listing
        (specification, basic/patterns/subscriptions).
        """
        from mcp.client.subscriptions import SubscriptionLost, listen
        from mcp.shared.exceptions import MCPError

        pause = _FIRST_PAUSE
        while True:
            try:
                async with listen(connection.session, tools_list_changed=True) as events:
                    async for _ in events:
                        pause = _FIRST_PAUSE
                        await self.changed()
            except MCPError:
                return  # the server does not offer subscriptions, whatever it claims
            except SubscriptionLost:
                pass
            await anyio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            await self.changed()
