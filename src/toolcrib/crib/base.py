"""How a crib is wired together, entered and left."""

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
from anyio.abc import TaskGroup

from toolcrib.broker import (
    LOCAL,
    SEEN_FOLDER,
    Access,
    Approvals,
    Approver,
    Broker,
    Call,
    Caller,
    ChangeControl,
    ConfiguredPolicy,
    Effect,
    Explanation,
    JournalReader,
    Judged,
    Noticing,
    Observer,
    Parking,
    Pins,
    Policy,
    SeenShapes,
    Watch,
    mended,
)
from toolcrib.catalog import SKILLS, JsonObject, SnapshotStore, Tool, ToolRegistry
from toolcrib.config import (
    TOKENS_FILE,
    Config,
    Input,
    ServerConfig,
    Switches,
    TokenFile,
    Variables,
    user_state_dir,
)
from toolcrib.crib.approving import asking_of
from toolcrib.crib.changes import LISTS_OF, tell_if_changed, told_by
from toolcrib.crib.directory import Directory
from toolcrib.crib.dynamic import Dynamic
from toolcrib.crib.extracting import Extracting
from toolcrib.crib.finder import Finder
from toolcrib.crib.journaling import Prices, journal_of, ledger_of
from toolcrib.crib.keeping import StoredResults, flow_of
from toolcrib.crib.listings import Listings
from toolcrib.crib.narrowing import Narrowing
from toolcrib.crib.opening import connected_clients, index_file, quota_of
from toolcrib.crib.presence import record_presence
from toolcrib.crib.shared import SharedStore
from toolcrib.crib.shelf import Shelf
from toolcrib.crib.sources import SourceTable, list_clients
from toolcrib.crib.switchboard import Switchboard
from toolcrib.crib.watching import look_at_listings, watch_of
from toolcrib.errors import StoreError, UsageError
from toolcrib.events import EventBus, OffersChanged, ServerStateChanged
from toolcrib.redact import Secrets
from toolcrib.schema import UnknownServerError
from toolcrib.search import Searcher, make_searcher
from toolcrib.servers import McpServer, ServerPool, ServerStatus, Vault
from toolcrib.smallmodel import SmallModel

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client.session import ClientSession

    from toolcrib.scripts import ScriptRunner

SWITCHES_FILE = "switches.json"
"""Where, in the state directory, it stands what the user has switched on and off."""


def _searcher_of(config: Config, small_model: SmallModel | None) -> Searcher:
    settings = config.settings.search
    return make_searcher(settings.strategy, settings=settings, small_model=small_model)


class CribBase:
    """A crib without what one asks of it: its parts, and the task that holds what lives as long as it does."""

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
        small_model: SmallModel | None = None,
    ) -> None:
        self.config = config
        self.registry = ToolRegistry()
        self.events = EventBus()
        self.observers: list[Observer] = []
        self.secrets = Secrets(config.settings.redact)
        for entry in config.servers.values():
            self.secrets.add_entry(entry)
        self._inputs = dict(config.inputs)
        self._variables = variables or Variables(inputs=self._inputs)
        self.state_dir = Path(state_dir or user_state_dir())
        self.instance = secrets.token_hex(16)
        self._shared = SharedStore(self.state_dir, self.instance, config.settings.store, self._variables)
        self._sources = SourceTable(self.registry, self.events, self._is_off, self._is_hidden)
        self._small_model = small_model
        self._extract: Tool | None = None
        if small_model is not None:
            extracting = Extracting(small_model, self.secrets)
            self._sources.put_own(extracting)
            self._extract = extracting.tool
        self._flow = flow_of(config.settings, self._sources.labels)
        self._policy = policy or ConfiguredPolicy(config, self._sources.effects, self._flow)
        self._access = Access(self.registry, self._policy)
        self._remember()
        self._answer_for_calls(approver)
        self._find_by(searcher or _searcher_of(config, small_model))
        self._clients = connected_clients(clients or {})
        for client in self._clients:
            self._sources.put(client)
        self._vault = Vault(self.state_dir / "auth")
        self._pool: ServerPool | None = None
        self._hashes: dict[str, str] = {}
        self._switch_servers()
        self.tokens = TokenFile(self.state_dir / TOKENS_FILE)
        self._lists_first = lists_first
        self._owner: asyncio.Task[None] | None = None
        self._opened = asyncio.Event()
        self._closing = asyncio.Event()
        self._tasks: TaskGroup | None = None
        self._scripts: ScriptRunner | None = None

    def _remember(self) -> None:
        """Wire what is kept of calls and their results."""
        settings = self.config.settings
        self._ledger = ledger_of(self._shared, self.state_dir)
        self._journal = journal_of(
            settings.journal,
            self._ledger,
            self.instance,
            self.secrets,
            labels=self._flow.labels,
            prices=Prices(self.registry, self._access),
        )
        self.journal = JournalReader(self._ledger, self._flush_journal, self._shared.exists)
        self._results = StoredResults(
            settings.results,
            self.state_dir,
            labels=self._sources.labels,
            policy=self._policy,
            flow=self._flow,
            registry=self.registry,
        )
        self.seen = SeenShapes(self.state_dir / SEEN_FOLDER, self.secrets.text)

    def _answer_for_calls(self, approver: Approver | None) -> None:
        """Wire the broker, and who is asked about a call and about a definition that has changed."""
        settings = self.config.settings
        self._parking = Parking()
        asking = asking_of(settings.approvals, approver, self._shared, self.secrets, self._flow, self.events)
        self.approvals = Approvals(asking)
        self._pins = Pins(self._shared.opened, self._shared.exists)
        self.changes = ChangeControl(self._pins, self.registry, self._watch)
        self._broker = Broker(
            self._sources,
            self.registry,
            self._policy,
            self._access,
            journal=self._journal,
            flow=self._flow,
            fit=Noticing(self._results.handles, self.seen),
            parking=self._parking,
            asking=asking,
            watcher=self.changes,
            quota=quota_of(settings),
            observers=self.observers,
        )

    def _find_by(self, searcher: Searcher) -> None:
        """Wire the search."""
        self._finder = Finder(
            self.registry,
            self._access,
            searcher,
            lambda: [each for each in self._sources if each.id != SKILLS and not self._is_off(each.id)],
            Narrowing(self.registry, self._sources, lambda: list(self._sources)),
            self._sources.effect,
            index_file(self.config, self.state_dir),
        )

    def _switch_servers(self) -> None:
        """Wire which servers are on, when each is listed first, and those that a caller may turn on."""
        config = self.config
        patience = config.settings.first_listing_wait
        self._listings = Listings(self.registry, self.events, lambda: self._sources.servers, patience, self._is_off)
        switches = Switches(self.state_dir / SWITCHES_FILE)
        self._switchboard = Switchboard(config, self._sources, self._listings, switches)
        self._dynamic = Dynamic(
            config,
            self.registry,
            self._sources,
            self._access,
            self._listings,
            Shelf(self._policy, index_file(config, self.state_dir, "-off")),
            Directory(config.settings.registries, self.state_dir),
            self._switchboard,
            self._add_server,
        )

    async def __aenter__(self) -> Self:
        if self._owner is not None:
            raise UsageError("A crib can be entered once.", hint="Open another one.")
        self._switchboard.prepare()
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

    def effect(self, tool: Tool) -> Effect:
        """What a call of a tool may do, as the policy takes it."""
        return self._sources.effect(tool)

    def judged(self, tool: Tool) -> Judged:
        """The same, with what tells so, in words that follow a colon."""
        return self._sources.judged(tool)

    async def explain(self, name: str, arguments: JsonObject | None = None, *, caller: Caller = LOCAL) -> Explanation:
        """What the configured policy says of a call, and why; nothing is called. It is for whoever made the policy:
        it tells of hidden tools too.

        Args:
            name: The tool's id, or another spelling of it.
            arguments: Of the call; they need not fit the tool's schema.
            caller: Who would call.

        Raises:
            UnknownToolError, AmbiguousNameError: No tool that was listed, or several, have that name.
            UsageError: The policy is the program's own.
        """
        self._follow_switches()
        if not isinstance(self._policy, ConfiguredPolicy):
            raise UsageError("The policy of this crib is the program's own, and explains nothing.")
        tool = self.registry.tool(self._access.known(name, caller.principal))
        params = {"name": tool.name, "arguments": mended(tool, arguments or {})}
        call = Call("tools/call", tool.id, tool.server, params, caller, tool, self.effect(tool))
        return self._policy.explain(call)

    async def _own(self) -> None:
        """Hold everything that lives as long as the crib, in one task that enters and leaves it."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            self._shared.start(tasks)
            self._parking.start(tasks)
            if self._journal is not None:
                self._journal.start(tasks)
            self._pool = ServerPool(
                self.config,
                tasks,
                variables=self._variables,
                snapshots=SnapshotStore(self.state_dir / "snapshots"),
                vault=self._vault,
                marker=self.instance,
                on_listed=self._switchboard.take,
                on_state=self._on_state,
                on_heard=self._on_heard,
                secrets=self.secrets,
            )
            for server in self._pool:
                self._sources.put(server)
                self._hashes[server.id] = server.config.config_hash
            tasks.start_soon(self._pins.keep)
            tasks.start_soon(look_at_listings, self.changes, self.events)
            self._switchboard.open(tasks)
            if self.config.servers:
                tasks.start_soon(record_presence, self._shared, self.events, lambda: self.servers, self._hashes)
            await list_clients(self._clients, self._sources, tasks, self._closing, self._on_heard)
            self._opened.set()
            await self._closing.wait()
            if self._scripts is not None:
                await self._scripts.aclose()
            await self._pool.close()
            if self._journal is not None:
                await self._journal.close()
            with suppress(StoreError):  # it was told when it was tried before
                await self._pins.flush()
            await self._shared.close()
            self._flow.close()
            self.seen.save()
            if self._small_model is not None:
                await self._small_model.close()
            tasks.cancel_scope.cancel()

    async def _first_listings(self, tasks: TaskGroup, server: str | None, caller: Caller) -> list[str]:
        return await self._listings.wait_for_first(
            tasks, server, lambda server_id: self._sources.context(server_id, caller)
        )

    async def _flush_journal(self) -> None:
        if self._journal is not None:
            await self._journal.flush()

    def _follow_switches(self) -> TaskGroup:
        """Do what the user has switched, and give the tasks of the open crib."""
        if self._tasks is None:
            raise UsageError("The crib is not open.", hint="Use it inside `async with`.")
        self._switchboard.follow_switches(self._tasks)
        return self._tasks

    def _is_hidden(self, source_id: str, caller: Caller) -> bool:
        return self._access.hides_source(source_id, caller.principal)

    def _is_off(self, server_id: str) -> bool:
        return self._switchboard.is_off(server_id)

    def _add_server(self, server_id: str, entry: ServerConfig, inputs: Mapping[str, Input]) -> McpServer:
        """Take in a server that the configuration does not have but allows."""
        assert self._pool is not None
        self._inputs.update(inputs)
        self.secrets.add_entry(entry)
        server = self._pool.add(server_id, entry)
        self._hashes[server_id] = entry.config_hash
        self._sources.put(server)
        return server

    def _watch(self, source_id: str) -> Watch | None:
        return watch_of(self._sources.find(source_id), self.config.settings.changes, self._hashes)

    def _on_state(self, status: ServerStatus) -> None:
        self.events.publish(ServerStateChanged(status.id, status.state, status.reason))

    def _on_heard(self, source_id: str, method: str, params: Mapping[str, Any]) -> None:
        """Publish what a source said of what it offers beside its tools."""
        event = told_by(source_id, method, params)
        if event is None:
            return
        server = self._sources.find(source_id)
        if isinstance(event, OffersChanged) and isinstance(server, McpServer) and self._tasks is not None:
            before = server.offering.seen(*LISTS_OF[event.kind])
            if before is not None:
                self._tasks.start_soon(tell_if_changed, server, event, before, self.events)
                return
        self.events.publish(event)

    def _server(self, name: str) -> McpServer:
        if self._pool is None:
            raise UsageError("The crib is not open.", hint="Use it inside `async with`.")
        return self._pool.get(name)

    def _source_id(self, name: str, caller: Caller) -> str:
        """The id of a source that the caller may know of, by its id or its key."""
        if self._pool is None:
            raise UsageError("The crib is not open.", hint="Use it inside `async with`.")
        known = [each for each in self._sources if not self._is_hidden(each.id, caller)]
        for source in known:
            if source.id == name or (isinstance(source, McpServer) and source.config.key == name):
                return source.id
        raise UnknownServerError(name, [each.id for each in known])
