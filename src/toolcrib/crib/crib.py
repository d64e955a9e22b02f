"""`Crib`: opens a configuration and wires the floors together; the library's front door."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
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
from toolcrib.config import Config, Variables, config_from_mapping, user_state_dir
from toolcrib.crib.finder import Finder, SearchAnswer, SourceSummary
from toolcrib.crib.listings import Listings
from toolcrib.crib.narrowing import Narrowing, Only
from toolcrib.crib.opening import ConfigLike, connected_clients, index_file, loaded, server_lists
from toolcrib.crib.presence import record_presence, states_elsewhere
from toolcrib.crib.sources import SourceTable
from toolcrib.errors import ServerError, UnknownToolError, UsageError
from toolcrib.events import EventBus, ServerStateChanged
from toolcrib.functions import LocalFunctions
from toolcrib.search import Searcher, make_searcher
from toolcrib.servers import McpServer, ServerPool, ServerStatus, Vault
from toolcrib.store import ServerState

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client.session import ClientSession

    from toolcrib.servers.clients import ConnectedClient

DEFAULT_LIMIT = 8
"""Hits in one page of a search."""


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
    ) -> None:
        self.config = config
        self.registry = ToolRegistry()
        self.events = EventBus()
        self._variables = variables or Variables(inputs=config.inputs)
        self._state_dir = Path(state_dir or user_state_dir())
        self._instance = secrets.token_hex(16)
        self._sources = SourceTable(self.registry)
        policy = policy or server_lists(config)
        self._access = Access(self.registry, policy)
        self._broker = Broker(self._sources, self.registry, policy, self._access, approver=approver)
        self._finder = Finder(
            self.registry,
            self._access,
            searcher or make_searcher(config.settings.search.strategy),
            lambda: list(self._sources),
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
        self._listings = Listings(
            self.registry, self.events, lambda: self._sources.servers, config.settings.first_listing_wait
        )
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
        return await states_elsewhere(self._state_dir, self._instance, self._config_hashes())

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
        if self._tasks is None:
            raise UsageError("The crib is not open.", hint="Use it inside `async with`.")
        missing = await self._listings.wait_for_first(self._tasks, server)
        return await self._listings.answered(
            lambda: self._finder.search(
                query,
                caller=caller,
                limit=limit,
                offset=offset,
                only=Only(server, tag, read_only),
                missing=missing,
            )
        )

    async def tool(self, name: str, *, caller: Caller = LOCAL) -> Tool:
        """One tool with its full definition, by its id or another spelling of it.

        Raises:
            UnknownToolError, AmbiguousNameError: No visible tool, or several, have that name.
            ServerError: Its server was never listed and can't be reached.
        """

        async def ask() -> Tool:
            try:
                tool_id = self._access.resolve(name, caller.principal)
            except UnknownToolError:
                if not await self._sources.learn(name):
                    raise
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
        return await self._listings.answered(
            lambda: self._broker.request(method, target, arguments, caller, options or Options())
        )

    def configured(self) -> list[tuple[str, str]]:
        """Id and configured description of each source that is not disabled: nothing that a server said."""
        rows: list[tuple[str, str]] = []
        for source in self._sources:
            if isinstance(source, McpServer):
                if not source.config.disabled:
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
                on_listed=self._listings.take,
                on_state=self._on_state,
            )
            for server in self._pool:
                self._sources.put(server)
                self._listings.take_stored(server)
                if server.usable and server.config.options.start == "always":
                    tasks.start_soon(server.keep_running)
            if self.config.servers:
                tasks.start_soon(
                    record_presence,
                    self._state_dir,
                    self._instance,
                    self.events,
                    lambda: self.servers,
                    self._config_hashes(),
                )
            await self._list_clients(tasks)
            self._opened.set()
            await self._closing.wait()
            await self._pool.close()
            tasks.cancel_scope.cancel()

    async def _list_clients(self, tasks: TaskGroup) -> None:
        """List what the given clients offer, and keep it fresh; one that can't list costs only its own tools."""
        if not self._clients:
            return
        from toolcrib.servers.clients import follow_tools

        async def one(client: "ConnectedClient") -> None:
            with suppress(ServerError):
                await self._sources.list_tools(client)

        async def follow(client: "ConnectedClient") -> None:
            async with follow_tools(client.connection.session, self.registry, client.id):
                await self._closing.wait()

        async with anyio.create_task_group() as listings:
            for client in self._clients:
                listings.start_soon(one, client)
                tasks.start_soon(follow, client)

    def _config_hashes(self) -> dict[str, str]:
        return {server.id: server.config.config_hash for server in self._sources.servers}

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
