"""`Crib`: opens a configuration and wires the floors together; the library's front door."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
from anyio.abc import TaskGroup

from toolcrib.broker import (
    LOCAL,
    Access,
    Approver,
    Broker,
    Caller,
    Options,
    Outcome,
    Policy,
)
from toolcrib.catalog import (
    JsonObject,
    OnProgress,
    RequestMethod,
    SnapshotStore,
    Source,
    Tool,
    ToolRegistry,
)
from toolcrib.config import Config, Input, ServerConfig, Switches, Variables, config_from_mapping, user_state_dir
from toolcrib.crib.directory import Directory
from toolcrib.crib.dynamic import Availability, Dynamic, Enabled
from toolcrib.crib.finder import Finder, SearchAnswer, SourceSummary
from toolcrib.crib.listings import Listings
from toolcrib.crib.narrowing import Narrowing, Only
from toolcrib.crib.opening import ConfigLike, connected_clients, index_file, loaded, server_lists
from toolcrib.crib.presence import record_presence, states_elsewhere
from toolcrib.crib.shelf import Shelf
from toolcrib.crib.sources import SourceTable, list_clients
from toolcrib.errors import UnknownToolError, UsageError
from toolcrib.events import EventBus, ServerStateChanged
from toolcrib.functions import LocalFunctions
from toolcrib.search import Searcher, make_searcher
from toolcrib.servers import McpServer, ServerPool, ServerStatus, Vault
from toolcrib.store import ServerState

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client.session import ClientSession

DEFAULT_LIMIT = 8
"""Hits in one page of a search."""

SWITCHES_FILE = "switches.json"
"""Where, in the state directory, it stands what the user has switched on and off."""


class Crib:
    """Every tool of every configured server, behind one door.

    Use `Crib.open(...)` or `Crib.from_clients(...)` as an async context manager; nothing is started before it
    is needed, and everything that was started is ended on leaving. It may be entered and left in different
    tasks.

    Attributes:
        config: The configuration.
        registry: The catalog: all tools known, by id.
        events: Changes of the catalog and of servers.
    """

    def __init__(
        self,
        config: Config,
        *,
        clients: "Mapping[str, Client | ClientSession] | None" = None,
        searcher: Searcher | None = None,
        approver: Approver | None = None,
        policy: Policy | None = None,
        variables: Variables | None = None,
        state_dir: str | Path | None = None,
        lists_first: bool = True,
    ) -> None:
        self.config = config
        self.registry = ToolRegistry()
        self.events = EventBus()
        self._inputs = dict(config.inputs)
        self._variables = variables or Variables(inputs=self._inputs)
        self._state_dir = Path(state_dir or user_state_dir())
        self._instance = secrets.token_hex(16)
        self._sources = SourceTable(self.registry, self._is_off)
        policy = policy or server_lists(config)
        self._access = Access(self.registry, policy)
        self._broker = Broker(self._sources, self.registry, policy, self._access, approver=approver)
        self._finder = Finder(
            self.registry,
            self._access,
            searcher or make_searcher(config.settings.search.strategy, settings=config.settings.search),
            lambda: [source for source in self._sources if not self._is_off(source.id)],
            Narrowing(self.registry, self._sources, lambda: list(self._sources)),
            index_file(config, self._state_dir),
        )
        self._clients = connected_clients(clients or {})
        for client in self._clients:
            self._sources.put(client)
        self._pool: ServerPool | None = None
        self._owner: asyncio.Task[None] | None = None
        self._opened = asyncio.Event()
        self._closing = asyncio.Event()
        self._lists_first = lists_first
        patience = config.settings.first_listing_wait
        self._listings = Listings(self.registry, self.events, lambda: self._sources.servers, patience, self._is_off)
        self._dynamic = Dynamic(
            config,
            self.registry,
            self._sources,
            self._access,
            self._listings,
            Shelf(policy, index_file(config, self._state_dir, "-off")),
            Directory(config.settings.registries, self._state_dir),
            Switches(self._state_dir / SWITCHES_FILE),
            self._add_server,
        )
        self._hashes: dict[str, str] = {}
        self._tasks: TaskGroup | None = None

    @classmethod
    def open(
        cls,
        config: ConfigLike = None,
        *,
        searcher: Searcher | None = None,
        approver: Approver | None = None,
        policy: Policy | None = None,
        variables: Variables | None = None,
        state_dir: str | Path | None = None,
        lists_first: bool = True,
    ) -> "Crib":
        """A crib over a configuration.

        Args:
            config: A file, several files (later ones win), a parsed mapping, or None for the user's own
                configuration directory.
            searcher: The search strategy; None takes the configured one.
            approver: Asked where the policy wants to be asked; without one such calls are refused.
            policy: What may be seen and called; None takes the `allow` and `deny` lists of the servers.
            variables: Resolves `${…}`; None takes the environment and the keyring.
            state_dir: Where snapshots and the index are kept; None takes the user's state directory.
            lists_first: Whether a search starts servers that were never listed.

        Raises:
            ConfigError: The configuration can't be used as a whole.
        """
        return cls(
            loaded(config),
            searcher=searcher,
            approver=approver,
            policy=policy,
            variables=variables,
            state_dir=state_dir,
            lists_first=lists_first,
        )

    @classmethod
    def from_clients(
        cls,
        clients: "Mapping[str, Client | ClientSession]",
        *,
        searcher: Searcher | None = None,
        approver: Approver | None = None,
        policy: Policy | None = None,
    ) -> "Crib":
        """A crib over SDK clients that are connected already; it neither owns nor closes them.

        Args:
            clients: Connected clients by the id that heads their tool ids.
            searcher: See `open`.
            approver: See `open`.
            policy: See `open`; None hides nothing.
        """
        return cls(
            config_from_mapping({"mcpServers": {}}),
            clients=clients,
            searcher=searcher,
            approver=approver,
            policy=policy,
        )

    async def __aenter__(self) -> Self:
        if self._owner is not None:
            raise UsageError("A crib can be entered once.", hint="Open another one.")
        self._dynamic.prepare()
        self._owner = asyncio.create_task(self._own(), name="toolcrib")
        opened = asyncio.create_task(self._opened.wait())
        await asyncio.wait({self._owner, opened}, return_when=asyncio.FIRST_COMPLETED)
        opened.cancel()
        if self._owner.done():
            await self._owner
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._owner is not None
        self._closing.set()
        with anyio.CancelScope(shield=True):
            await self._owner

    @property
    def servers(self) -> list[ServerStatus]:
        """What is known of each configured server, in the order of the configuration."""
        return [server.status for server in self._sources.servers]

    async def states_elsewhere(self) -> dict[str, ServerState]:
        """The states of these very servers in other running instances of the same state directory, by id.

        Raises:
            StoreError: The shared store can't be read.
        """
        return await states_elsewhere(self._state_dir, self._instance, self._hashes)

    def add_functions(self, *functions: Callable[..., Any], server: str = "local", description: str = "") -> list[str]:
        """Add Python functions as tools beside those of the servers, and return their ids.

        Args:
            functions: Functions with annotated parameters; coroutine functions are awaited.
            server: The id that heads their tool ids.
            description: One line about them together.

        Raises:
            UsageError: A function can't be described, or the id is a configured server's.
        """
        source = self._sources.find(server)
        if source is None:
            source = LocalFunctions(server, description)
            self._sources.put(source)
        elif not isinstance(source, LocalFunctions):
            raise UsageError(f"{server} is a server already.", hint="Give the functions another `server`.")
        for function in functions:
            source.add(function)
        self._put_definitions(source)
        return self.registry.keys(server)

    async def add_source(self, source: Source) -> list[str]:
        """Add a source of any kind, list its tools, and return their ids.

        Raises:
            UsageError: The id is taken.
            ServerError: The source can't list its tools.
        """
        if self._sources.find(source.id) is not None:
            raise UsageError(f"There is a source {source.id} already.", hint="Give this one another id.")
        definitions = await source.list("tools/list")
        self._sources.put(source)
        self.registry.cache_from_maps(definitions, server=source.id)
        return self.registry.keys(source.id)

    async def search(
        self,
        query: str | None,
        *,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
        server: str | None = None,
        tag: str | None = None,
        read_only: bool = False,
        caller: Caller = LOCAL,
    ) -> SearchAnswer:
        """Find tools by what they do.

        Args:
            query: Words; several needs on several lines; `select:id,id`; empty for the servers.
            limit: Hits in this page.
            offset: Hits of earlier pages.
            server: Only tools of this server, by its id or its key in the configuration.
            tag: Only tools of servers with this tag, or in a group of this name.
            read_only: Only tools that read and change nothing, by the configuration or by their own word.
            caller: Sees nothing outside its visible set.

        Raises:
            UsageError: There is no such server, or the query is malformed.
        """
        if server is not None:
            server = self._source_id(server)
        tasks = self._follow_switches()
        missing = await self._listings.wait_for_first(tasks, server) if self._lists_first else []
        answer = await self._listings.answered(
            lambda: self._finder.search(
                query,
                caller=caller,
                limit=limit,
                offset=offset,
                only=Only(server, tag, read_only, self._dynamic.aside),
                missing=missing,
            )
        )
        if offset or tag is not None:
            return answer
        return replace(answer, off=await self._dynamic.fitting(answer.query, caller, server))

    async def tool(self, name: str, *, caller: Caller = LOCAL) -> Tool:
        """One tool with its full definition, by its id or another spelling of it.

        Raises:
            UnknownToolError, AmbiguousNameError: No visible tool, or several, have that name.
            ServerError: Its server was never listed and can't be reached.
        """

        self._follow_switches()

        async def ask() -> Tool:
            try:
                tool_id = self._access.resolve(name, caller.principal)
            except UnknownToolError as error:
                if not await self._sources.learn(name):
                    raise self._dynamic.explained(error) from None
                tool_id = self._access.resolve(name, caller.principal)
            return self.registry.tool(tool_id)

        return await self._listings.answered(ask)

    async def call(
        self,
        name: str,
        arguments: JsonObject | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        caller: Caller = LOCAL,
    ) -> Outcome:
        """Call a tool; see `Broker.request` for what it raises.

        Args:
            name: The tool's id, or another spelling of it.
            arguments: Its arguments; safe mismatches are mended, others are not sent.
            timeout: Seconds; None takes the server's own limit.
            on_progress: Receives progress.
            caller: Who asks.
        """
        return await self.request(
            "tools/call", name, arguments, caller, Options(timeout=timeout, on_progress=on_progress)
        )

    async def request(
        self,
        method: RequestMethod,
        target: str,
        arguments: JsonObject | None = None,
        caller: Caller = LOCAL,
        options: Options | None = None,
    ) -> Outcome:
        """Make any request through the broker; see `Broker.request`."""
        self._follow_switches()
        try:
            return await self._listings.answered(
                lambda: self._broker.request(method, target, arguments, caller, options or Options())
            )
        except UnknownToolError as error:
            raise self._dynamic.explained(error) from None

    async def available(self, query: str = "", *, caller: Caller = LOCAL) -> Availability:
        """Find servers that are on, off, or only known from a registry, by what they are for.

        Args:
            query: Words; empty for all configured servers.
            caller: Who asks.
        """
        return await self._dynamic.available(query, caller, self._follow_switches())

    async def enable(self, name: str, *, caller: Caller = LOCAL) -> Enabled:
        """Turn on a server that is off: connect it, so that its tools can be found at once, in this whole crib.

        Args:
            name: Its id or key; or its name in a registry, where the allow-list of the configuration has it.
            caller: Who asks.

        Raises:
            UsageError: There is no such server.
            DeniedError: The configuration does not leave it to whoever is not the user.
            ServerError: It can't be reached; it stays off.
        """
        self._follow_switches()
        return await self._dynamic.enable(name, caller)

    async def disable(self, name: str, *, caller: Caller = LOCAL) -> str:
        """Take a server's tools out of searches at once and let it stop; calls that are under way, and later ones
        of conversations that know its tools, still work. Returns its id.

        Raises:
            UsageError: There is no such server.
            DeniedError: It is not one that starts on request or that the allow-list names.
        """
        self._follow_switches()
        return await self._dynamic.disable(name, caller)

    def configured(self) -> list[tuple[str, str]]:
        """Id and configured description of each source that is on from the start: nothing that a server said."""
        rows: list[tuple[str, str]] = []
        for source in self._sources:
            if isinstance(source, McpServer):
                if not self._dynamic.starts_off(source):
                    rows.append((source.id, source.config.options.description))
            else:
                rows.append((source.id, source.description))
        return rows

    def overview(self, caller: Caller = LOCAL) -> list[SourceSummary]:
        """The servers and other sources that have something for the caller."""
        return self._finder.overview(caller)

    async def refresh(self, server: str | None = None) -> list[ServerStatus]:
        """List servers anew, all usable ones or one, and return their states; failures are states, not errors."""
        chosen = self._sources.servers if server is None else [self._server(server)]
        await self._listings.refresh(chosen)
        return [each.status for each in chosen]

    async def _own(self) -> None:
        """Hold everything that lives as long as the crib, in one task that enters and leaves it."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            self._pool = ServerPool(
                self.config,
                tasks,
                variables=self._variables,
                snapshots=SnapshotStore(self._state_dir / "snapshots"),
                vault=Vault(self._state_dir / "auth"),
                marker=self._instance,
                on_listed=self._dynamic.take,
                on_state=self._on_state,
            )
            for server in self._pool:
                self._sources.put(server)
                self._hashes[server.id] = server.config.config_hash
            self._dynamic.open(tasks)
            if self.config.servers:
                tasks.start_soon(
                    record_presence,
                    self._state_dir,
                    self._instance,
                    self.events,
                    lambda: self.servers,
                    self._hashes,
                )
            await list_clients(self._clients, self._sources, self.registry, tasks, self._closing)
            self._opened.set()
            await self._closing.wait()
            await self._pool.close()
            tasks.cancel_scope.cancel()

    def _follow_switches(self) -> TaskGroup:
        """Do what the user has switched, and give the tasks of the open crib."""
        if self._tasks is None:
            raise UsageError("The crib is not open.", hint="Use it inside `async with`.")
        self._dynamic.follow_switches(self._tasks)
        return self._tasks

    def _is_off(self, server_id: str) -> bool:
        return self._dynamic.is_off(server_id)

    def _add_server(self, server_id: str, entry: ServerConfig, inputs: Mapping[str, Input]) -> McpServer:
        """Take in a server that the configuration does not have but allows."""
        assert self._pool is not None
        self._inputs.update(inputs)
        server = self._pool.add(server_id, entry)
        self._hashes[server_id] = entry.config_hash
        self._sources.put(server)
        return server

    def _on_state(self, status: ServerStatus) -> None:
        self.events.publish(ServerStateChanged(status.id, status.state, status.reason))

    def _put_definitions(self, source: LocalFunctions) -> None:
        self.registry.cache_from_maps(source.definitions, server=source.id)

    def _server(self, name: str) -> McpServer:
        if self._pool is None:
            raise UsageError("The crib is not open.", hint="Use it inside `async with`.")
        return self._pool.get(name)

    def _source_id(self, name: str) -> str:
        if self._sources.find(name) is not None:
            return name
        return self._server(name).id
