"""What one server lists: fetched at each connection, kept as a snapshot, and fetched again when it changes."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from toolcrib.catalog import Snapshot, SnapshotStore
from toolcrib.errors import ProtocolError, ServerError, ServerStartError, StoreError
from toolcrib.servers.freshness import Freshness

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
    """The tools of one server, as it listed them last to whom this is for.

    Args:
        server: The server's id.
        config_hash: Its snapshot is filed under this.
        snapshots: Where listings are kept.
        on_listed: Told of every new listing.
        owner: The principal that it was listed for alone; empty where nobody in particular asked.
        like: The listing of the same server's shared connection: tells the era that it spoke last.

    Attributes:
        snapshot: The last listing, from this run or an earlier one; None when there never was one.
        outdated: Whether what is listed to others has changed since.
    """

    def __init__(
        self,
        server: str,
        config_hash: str,
        snapshots: SnapshotStore,
        on_listed: Callable[[Snapshot], None],
        *,
        owner: str = "",
        like: "ToolListing | None" = None,
    ) -> None:
        self._server = server
        self._config_hash = config_hash
        self._snapshots = snapshots
        self._on_listed = on_listed
        self._owner = owner
        self._like = like
        self._outdated = anyio.Event()
        self._freshness = Freshness()
        self._listed_at = 0.0
        self._listed_on: Connection | None = None
        self.outdated = False
        self.snapshot = snapshots.load(server, config_hash, owner)

    @property
    def of_handshake_era(self) -> bool:
        """Whether the server is known to speak the handshake era."""
        if self.snapshot is None:
            return self._like is not None and self._like.of_handshake_era
        return not self.snapshot.modern

    @property
    def freshness(self) -> Freshness:
        """For how long still, and for whom, it may be kept."""
        ttl = self._freshness.ttl
        left = None if ttl is None else max(0.0, self._listed_at + ttl - anyio.current_time())
        return Freshness(left, private=self._freshness.private or (self.snapshot is not None and self.snapshot.private))

    def is_of(self, connection: "Connection") -> bool:
        """Whether it was made on this connection, and is not outdated."""
        expired = self._freshness.ttl is not None and anyio.current_time() >= self._listed_at + self._freshness.ttl
        return self._listed_on is connection and not expired and not self.outdated

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
        await connection.discover_again(timeout)
        if connection.offers("tools"):
            try:
                entries, self._freshness = await connection.list_all("tools/list", timeout)
                self._listed_at = anyio.current_time()
            except ProtocolError as error:
                if self.snapshot is None:
                    raise ServerStartError(
                        self._server, f"{self._server} can't list its tools: {error.rpc_message}."
                    ) from error
                return
        self._listed_on, self.outdated = connection, False
        tools, _refused = accepted_tools(connection.session, entries)
        negotiated = connection.negotiated
        fresh = Snapshot.of_listing(
            self._server,
            self._config_hash,
            negotiated.protocol_version,
            negotiated.discovered,
            tools,
            self.snapshot,
            private=self._freshness.private,
            owner=self._owner,
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
        ttl = self._freshness.ttl
        if ttl is not None and anyio.current_time() >= self._listed_at + ttl:
            self._freshness = Freshness(private=self._freshness.private)
            self._outdated.set()

    def changed(self) -> None:
        """List again: the server says that something has changed."""
        self._outdated.set()

    def heard(self, method: str) -> None:
        """Take a notification of the connection; what a caller's own one says may hold for all."""
        if method == "notifications/tools/list_changed":
            self.changed()
            if self._like is not None:
                self._like.changed()

    async def follow(self, connection: "Connection", timeout: float) -> None:
        """List again after each change, until cancelled; many changes at once cause at most two listings, and the
        more often a server reports one, the longer it waits."""
        async with anyio.create_task_group() as tasks:
            if connection.negotiated.modern and any(
                map(connection.tells_of_changes, ("tools", "resources", "prompts"))
            ):
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

        Nothing is replayed to a subscription, so each one begins with a listing: what has changed before was told to
        nobody (specification, basic/patterns/subscriptions). The first does so unless the server has promised for
        how long its list is fresh: then that is when it is asked again.
        """
        from mcp.client.subscriptions import SubscriptionLost, listen
        from mcp.shared.exceptions import MCPError

        pause, is_first = _FIRST_PAUSE, True
        while True:
            try:
                async with listen(
                    connection.session,
                    tools_list_changed=connection.tells_of_changes("tools"),
                    resources_list_changed=connection.tells_of_changes("resources"),
                    prompts_list_changed=connection.tells_of_changes("prompts"),
                ) as events:
                    if not (is_first and self._freshness.ttl):
                        self.changed()
                    is_first = False
                    async for _ in events:  # what they say is heard like any notification
                        pause = _FIRST_PAUSE
            except MCPError:
                return  # the server does not offer subscriptions, whatever it claims
            except SubscriptionLost:
                pass
            await anyio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
