"""Which servers are on, by the configuration, the user's switches and what models have enabled or set aside.

A server is off while its `start` is `on_request` and nobody has enabled it, or while the configuration has it
`disabled`. What is off is not in the catalog, so nothing of it can be found, shown or called.

A model's disabling sets the tools aside: they are in no search, the server may stop, and what another conversation
has begun with them still works. The user's disabling, by `toolcrib servers disable` or the configuration, ends all of
it, and no model can undo it.
"""

from anyio.abc import TaskGroup

from toolcrib.catalog import Snapshot
from toolcrib.config import Config, ServerConfig, Switches
from toolcrib.crib.listings import Listings
from toolcrib.crib.sources import SourceTable
from toolcrib.errors import UsageError
from toolcrib.schema import server_ids
from toolcrib.servers import McpServer


class Switchboard:
    """Knows which servers are on, and keeps the catalog to what they listed.

    Args:
        config: The configuration.
        sources: All sources.
        listings: Brings tools into the catalog.
        switches: What the user has switched.
    """

    def __init__(self, config: Config, sources: SourceTable, listings: Listings, switches: Switches) -> None:
        self._entries = {server_id: config.servers[key] for key, server_id in server_ids(config.servers).items()}
        self._sources = sources
        self._listings = listings
        self._switches = switches
        self._on: set[str] = set()
        self._aside: frozenset[str] = frozenset()
        self._switched: dict[str, bool | None] = {}
        self._switched_at_first: dict[str, bool | None] = {}
        self._kept_running: set[str] = set()

    @property
    def aside(self) -> frozenset[str]:
        """Servers that a model has disabled: still callable, but in no search."""
        return self._aside

    def is_off(self, server_id: str) -> bool:
        """Whether a server's tools are not to be known of."""
        server = self._sources.find(server_id)
        if not isinstance(server, McpServer):
            return False
        if not server.usable:
            return True
        switched = self._switches.get(server.config)
        return server.config.options.start == "on_request" and switched is not True and server_id not in self._on

    def starts_off(self, server: McpServer) -> bool:
        """Whether a server is off before anybody but the user has done anything: it stays the same from then on."""
        entry = self._entries.get(server.id)
        if entry is None:
            return True
        switched = self._switched_at_first.get(server.id)
        return switched is False or (switched is None and (entry.disabled or entry.options.start == "on_request"))

    def prepare(self) -> None:
        """Read what the user has switched.

        Raises:
            StoreError: That can't be told.
        """
        self._switches.changed()

    def open(self, tasks: TaskGroup) -> None:
        """Take in what the servers that are on listed in earlier runs, and start those that are always to run."""
        self._apply_switches(tasks)
        self._switched_at_first = dict(self._switched)

    def follow_switches(self, tasks: TaskGroup) -> None:
        """Do what the user has switched since the last time.

        Args:
            tasks: Servers that are always to run run in it.

        Raises:
            StoreError: That can't be told.
        """
        if self._switches.changed():
            self._apply_switches(tasks)

    def switch(self, server: McpServer, tasks: TaskGroup, *, on: bool) -> None:
        """Switch a server on or off as the user does; see `Switches.turn`.

        Raises:
            UsageError: It is none of the configuration.
            StoreError: That can't be kept.
        """
        entry = self._entries.get(server.id)
        if entry is None:
            raise UsageError(f"{server.id} came from a registry, and is no server of the configuration.")
        self._switches.turn(entry, on=on)
        self._apply_switches(tasks)

    def take(self, snapshot: Snapshot) -> None:
        """Take in a new listing, unless its server is off."""
        if not self.is_off(snapshot.server):
            self._listings.take(snapshot)

    def entry_of(self, server: McpServer) -> ServerConfig:
        """A server's entry as the configuration has it, whatever was switched since."""
        return self._entries.get(server.id, server.config)

    def is_kept_off(self, server: McpServer) -> bool:
        """Whether the user has switched a server off, so that no model can enable it."""
        return self._switches.get(server.config) is False

    def is_enabled(self, server_id: str) -> bool:
        """Whether a model has enabled a server."""
        return server_id in self._on

    def turn_on(self, server: McpServer) -> None:
        """Put the tools of a server that a model enables into the catalog and into searches."""
        self._on.add(server.id)
        self._aside -= {server.id}
        self._listings.take_stored(server)

    def set_aside(self, server: McpServer) -> None:
        """Take the tools of a server that a model disables out of searches, and let it stop."""
        self._aside |= {server.id}
        server.retire()

    def _apply_switches(self, tasks: TaskGroup) -> None:
        for server_id, entry in self._entries.items():
            server = self._sources.find(server_id)
            if not isinstance(server, McpServer):
                continue
            switched = self._switches.get(entry)
            if switched is False:
                self._on.discard(server_id)
            if switched is True and self._switched.get(server_id) is not True:
                self._aside -= {server_id}  # the user's word counts for more than a model's
            self._switched[server_id] = switched
            on = switched is True or (switched is None and (not entry.disabled or server_id in self._on))
            if on == server.config.disabled:
                server.switch(on=on)
            if self.is_off(server_id):
                self._kept_running.discard(server_id)
                self._listings.drop(server_id)
                continue
            self._listings.take_stored(server)
            if entry.options.start == "always" and server_id not in self._kept_running:
                self._kept_running.add(server_id)
                tasks.start_soon(server.keep_running)
