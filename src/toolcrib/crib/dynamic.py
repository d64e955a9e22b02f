"""What a model may do about servers that are off: find them, enable them, and disable them again.

Only those of the configuration that start on request, and those that its allow-list names, are left to a model. What
it enables or disables holds for the whole crib, whichever conversation asked: the tools are the same for all of them,
and a caller still sees no more than its visible set.
"""

import logging
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

import anyio
from anyio.abc import TaskGroup

from toolcrib.broker import Access, Caller, Principal
from toolcrib.catalog import ToolRegistry, public_name
from toolcrib.config import Config, Input, ServerConfig
from toolcrib.crib.availability import Availability, AvailableServer, AvailableState, Enabled
from toolcrib.crib.directory import Directory
from toolcrib.crib.listings import Listings
from toolcrib.crib.ranking import Ranking, ServerWords
from toolcrib.crib.shelf import OffServer, Shelf
from toolcrib.crib.sources import SourceTable
from toolcrib.crib.switchboard import Switchboard
from toolcrib.errors import DeniedError, UnknownToolError, UsageError, shown
from toolcrib.schema import UnknownServerError, server_ids
from toolcrib.search import Needs, Query
from toolcrib.servers import McpServer

logger = logging.getLogger(__name__)

_MOST_FOUND = 8
_TOOL_WORDS = 4_000
"""Characters of tool names that describe a server beside its own words."""


class Dynamic:
    """Finds servers that are off, and turns servers on and off as a model asks.

    Args:
        config: The configuration.
        registry: The catalog: it holds the tools of servers that are on.
        sources: All sources.
        access: Says what a caller may know of.
        listings: Brings tools into the catalog.
        shelf: Holds the tools of servers that are off.
        directory: The registries.
        switchboard: Knows which servers are on.
        add: Takes a further server in.
    """

    def __init__(
        self,
        config: Config,
        registry: ToolRegistry,
        sources: SourceTable,
        access: Access,
        listings: Listings,
        shelf: Shelf,
        directory: Directory,
        switchboard: Switchboard,
        add: Callable[[str, ServerConfig, Mapping[str, Input]], McpServer],
    ) -> None:
        self._allow = config.settings.dynamic.allow
        self._offers = config.settings.dynamic.enabled
        self._patience = config.settings.first_listing_wait
        self._registry = registry
        self._sources = sources
        self._access = access
        self._listings = listings
        self._shelf = shelf
        self._directory = directory
        self._switchboard = switchboard
        self._add = add
        self._added: dict[str, str] = {}
        self._ranking = Ranking()

    async def fitting(self, query: Query, caller: Caller, only: str | None) -> list[OffServer]:
        """Servers that are off and may have what is searched for; none where a model may turn none on."""
        if not self._offers or not isinstance(query, Needs):
            return []
        self._shelf.take(self._turned_off())
        return await self._shelf.fitting(query, caller.principal, only)

    def explained(self, error: UnknownToolError, caller: Caller) -> UnknownToolError:
        """The same error, with what enabling would take where the name begins with a server that is off."""
        head = error.name.replace("__", ".").replace("/", ".").partition(".")[0]
        server = self._find(head, caller) if self._offers else None
        if server is None or not self._switchboard.is_off(server.id) or not self._may_turn(server):
            return error
        hint = f'{server.id} is off; enable_server("{server.id}") makes its tools available.'
        return UnknownToolError(error.name, error.candidates, hint=hint)

    async def available(self, query: str, caller: Caller, tasks: TaskGroup) -> Availability:
        """The servers that fit a query; without one, all configured ones.

        Args:
            query: Words.
            caller: Who asks.
            tasks: Registries are read on in it when that takes long.
        """
        off = self._turned_off()
        self._shelf.take(off)
        rows = {
            each.id: self._row(each, caller.principal) for each in self._sources.servers if self._is_told(each, caller)
        }
        rows = {name: row for name, row in rows.items() if row.tools != 0}
        if not query.strip():
            return Availability(list(rows.values()))
        words = [self._words(name, caller.principal) for name in rows]
        found = [rows[name] for name in await self._ranking.search(query, words, _MOST_FOUND)]
        await self._read_registries(tasks)
        known = set(self._added.values())
        strangers = [
            AvailableServer(
                each.name,
                "not configured",
                each.title if not each.description else each.description,
                may_enable=self._is_allowed(each.name, each.version),
                place=each.place,
                deprecated=each.status == "deprecated",
            )
            for each in await self._directory.search(query, _MOST_FOUND)
            if each.name not in known
        ]
        return Availability([*found, *strangers], self._directory.problems, self._directory.unread)

    async def enable(self, name: str, caller: Caller) -> Enabled:
        """Turn a server on: connect it and put its tools into the catalog.

        Args:
            name: Its id or key in the configuration, or a name that the allow-list lets a model take from a registry.
            caller: Who asks.

        Raises:
            UsageError: There is no such server.
            DeniedError: It is not left to a model.
            ServerError: It can't be reached; it stays off.
        """
        server = self._find(name, caller)
        if server is None:
            server = await self._from_registry(name, caller)
        elif self._switchboard.is_off(server.id) and not self._may_turn(server):
            raise DeniedError(
                f"{server.id} is disabled by the user.", hint=f"The user can run: toolcrib servers enable {server.id}"
            )
        was_disabled = server.config.disabled
        if was_disabled:
            server.switch(on=True)
        try:
            await server.ensure(self._sources.context(server.id, caller))
        except BaseException:
            if was_disabled and not self._switchboard.is_enabled(server.id):
                server.switch(on=False)
            raise
        if self._switchboard.is_kept_off(server):  # the user has switched it off meanwhile
            raise DeniedError(f"{server.id} is disabled by the user.")
        self._switchboard.turn_on(server)
        self._listings.is_listed_for(server, caller.principal.name)
        return Enabled(server.id, [public_name(key) for key in self._seen(server.id, caller.principal)])

    async def disable(self, name: str, caller: Caller) -> str:
        """Take a server's tools out of searches, and let it stop; returns its id.

        Raises:
            UsageError: There is no such server.
            DeniedError: It is not left to a model.
        """
        server = self._find(name, caller)
        if server is None:
            raise self._unknown(name, caller)
        if not self._may_turn(server):
            raise DeniedError(
                f"{server.id} is always on here, or switched by the user alone.",
                hint="Only servers that start on request, or that the configuration allows, can be disabled.",
            )
        if not self._switchboard.is_off(server.id):
            self._switchboard.set_aside(server)
        return server.id

    def _turned_off(self) -> list[McpServer]:
        """The servers that are off, or set aside, and that a model may enable."""
        return [
            each
            for each in self._sources.servers
            if (each.id in self._switchboard.aside or self._switchboard.is_off(each.id)) and self._may_turn(each)
        ]

    def _may_turn(self, server: McpServer) -> bool:
        """Whether turning a server on and off is left to a model."""
        if server.config.error is not None or self._switchboard.is_kept_off(server):
            return False
        entry = self._switchboard.entry_of(server)
        if entry.disabled:
            return self._is_allowed(entry.key, "")
        return entry.options.start == "on_request"

    def _is_allowed(self, name: str, version: str) -> bool:
        exact = f"{name}@{version}"
        return any(fnmatchcase(name, glob) or fnmatchcase(exact, glob) for glob in self._allow)

    def _is_told(self, server: McpServer, caller: Caller) -> bool:
        if self._access.hides_source(server.id, caller.principal):
            return False
        return not self._switchboard.is_off(server.id) or self._may_turn(server)

    def _row(self, server: McpServer, principal: Principal) -> AvailableServer:
        off = self._switchboard.is_off(server.id)
        if off or server.id in self._switchboard.aside:
            tools = self._shelf.count(server, principal)
        elif self._registry.part_for(server.id, principal.name) is not None:
            tools = len(self._seen(server.id, principal))
        else:
            tools = None
        state: AvailableState = "off" if off or server.id in self._switchboard.aside else "on"
        about = server.description_for(principal.name)
        return AvailableServer(server.id, state, about, tools, state == "off")

    def _words(self, server_id: str, principal: Principal) -> ServerWords:
        server = self._sources.find(server_id)
        assert isinstance(server, McpServer)
        names = self._shelf.names(server, principal)
        if not names:
            names = list(self._seen(server_id, principal).values())
        text = "\n".join(
            (server.description_for(principal.name), *server.config.options.tags, " ".join(names)[:_TOOL_WORDS])
        )
        return ServerWords(server_id, server.title_for(principal.name), text)

    def _seen(self, server_id: str, principal: Principal) -> dict[str, str]:
        """The keys of a server's tools that a principal sees, with their names on the wire."""
        part = self._registry.part_for(server_id, principal.name)
        if part is None:
            return {}
        visible = self._access.visible(principal)
        return {key: raw for key, raw in self._registry.raw_names(part).items() if key in visible}

    def _find(self, name: str, caller: Caller) -> McpServer | None:
        for server in self._sources.servers:
            if name in {server.id, server.config.key, self._added.get(server.id)}:
                return None if self._access.hides_source(server.id, caller.principal) else server
        return None

    def _unknown(self, name: str, caller: Caller) -> UnknownServerError:
        sources = self._sources.servers
        known = [each.id for each in sources if not self._access.hides_source(each.id, caller.principal)]
        return UnknownServerError(name, known, otherwise="search_available_servers finds those that can be enabled.")

    async def _read_registries(self, tasks: TaskGroup) -> None:
        """Read the registries, and wait a little for it; it goes on for the next time."""
        if not len(self._directory):
            return
        done = anyio.Event()

        async def read() -> None:
            await self._directory.read()
            done.set()

        tasks.start_soon(read)
        with anyio.move_on_after(self._patience):
            await done.wait()

    async def _from_registry(self, name: str, caller: Caller) -> McpServer:
        """A server that only a registry knows, taken in as the allow-list lets a model do it."""
        heads = [glob.partition("@")[0] for glob in self._allow]
        if not any(fnmatchcase(name, head) for head in heads):
            if "/" not in name:
                raise self._unknown(name, caller)
            raise DeniedError(
                f"{shown(name)} is not configured here, and nothing allows to enable it.",
                hint=f"The user can run: toolcrib servers add {name}",
            )
        await self._directory.read()
        described = self._directory.servers().get(name)
        if described is None:
            raise self._unknown(name, caller)
        if not self._is_allowed(name, described.version):
            raise DeniedError(
                f"Version {described.version} of {shown(name)} is not one that the configuration allows.",
                hint=f"The user can run: toolcrib servers add {name}",
            )
        from toolcrib.config.entry import parse_entry
        from toolcrib.servers.registries import propose

        key = self._free_key(name)
        proposal = propose(described, key)
        entry, _ = parse_entry(key, {**proposal.entry, "toolcrib": {"start": "on_request"}}, None)
        logger.warning("The allow-list lets a model enable %s of %s: %s", name, described.place, proposal.command_line)
        inputs = {each["id"]: _input(each) for each in proposal.inputs}
        server = self._add(key, entry, inputs)
        self._added[server.id] = name
        return server

    def _free_key(self, name: str) -> str:
        """An id of its own for a server of a registry: the last part of its name, else the whole of it."""
        taken = {source.id for source in self._sources}
        for wish in (name.rpartition("/")[2], name):
            [server_id] = server_ids([wish]).values()
            if server_id not in taken:
                return server_id
        raise UsageError(f"{shown(name)} can't be enabled: its id is taken.", hint="Add it under another key.")


def _input(entry: Mapping[str, object]) -> Input:
    default = entry.get("default")
    return Input(
        id=str(entry["id"]),
        description=str(entry.get("description", "")),
        password=entry.get("password") is True,
        default=default if isinstance(default, str) else None,
    )
