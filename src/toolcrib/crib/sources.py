"""The sources of one crib by id, as the broker asks for them."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

import anyio
from anyio.abc import TaskGroup

from toolcrib.broker import OWN_SOURCE, Call, Caller, CallerContext, Effect, Judged, judged
from toolcrib.catalog import (
    NO_CONTEXT,
    SAVED_SCRIPTS,
    SKILLS,
    ClientSide,
    JsonObject,
    RequestContext,
    Source,
    Tool,
    ToolRegistry,
)
from toolcrib.crib.changes import published
from toolcrib.errors import ServerError
from toolcrib.events import EventBus
from toolcrib.functions import LocalFunctions
from toolcrib.schema import server_ids
from toolcrib.servers import McpServer
from toolcrib.servers.asking import declared

if TYPE_CHECKING:
    from toolcrib.scripts import SavedScripts
    from toolcrib.servers.clients import ConnectedClient


_EXTERNAL = frozenset({"external"})


class OwnSource(Source, Protocol):
    """A source of the house's own."""

    @property
    def tools(self) -> Sequence[Tool]:
        """What it offers."""
        ...


class SourceTable:
    """The sources by id.

    Args:
        registry: Takes what a source lists.
        events: Told what that changes.
        is_off: Whether a source is not to be learned of.
        is_hidden: Whether a caller must not know of a source.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        events: EventBus,
        is_off: Callable[[str], bool] = lambda _: False,
        is_hidden: Callable[[str, Caller], bool] = lambda _id, _caller: False,
    ) -> None:
        self._registry = registry
        self._events = events
        self._is_off = is_off
        self._is_hidden = is_hidden
        self._sources: dict[str, Source] = {}
        self._own: dict[str, tuple[Source, Tool]] = {}

    def __iter__(self) -> Iterator[Source]:
        return iter(self._sources.values())

    def put(self, source: Source) -> None:
        """Add a source, in place of one of the same id."""
        self._sources[source.id] = source

    def put_own(self, source: OwnSource) -> None:
        """Add a source of the house's own, whose tools are in no catalog: only scripts reach them, by their ids."""
        self._own |= {tool.id: (source, tool) for tool in source.tools}

    def own(self, name: str, caller: Caller) -> tuple[Source, Tool] | None:
        """See `Sources.own`."""
        return self._own.get(name) if caller.origin == "script" else None

    def take(self, source_id: str, definitions: Sequence[JsonObject]) -> None:
        """Take in what a source that is no configured server lists now, and publish what that changes."""
        with published(self._registry, self._events, source_id):
            self._registry.cache_from_maps(definitions, server=source_id)

    def find(self, source_id: str) -> Source | None:
        """The source of that id, or None."""
        return self._sources.get(source_id) or next(
            (source for source, _ in self._own.values() if source.id == source_id), None
        )

    @property
    def servers(self) -> list[McpServer]:
        """The configured MCP servers among the sources."""
        return [source for source in self if isinstance(source, McpServer)]

    def effect(self, tool: Tool) -> Effect:
        """What a call of a tool may do."""
        return self.judged(tool).effect

    def judged(self, tool: Tool) -> Judged:
        """What a call of a tool may do, and what tells so."""
        overrides, trusted = self.effects(tool.server)
        if tool.server == SAVED_SCRIPTS and (effect := overrides.get(tool.name)) is not None:
            return Judged(effect, "the most that the tools may do which it names")
        return judged(tool, overrides, trusted=trusted)

    def effects(self, source_id: str) -> tuple[Mapping[str, Effect], bool]:
        """The configured effects by glob over tool names, and whether the source is trusted.

        Local functions are the program's own and trusted; clients that a program handed in are not. What saved scripts
        may do, the tools tell which they name; skills are only read.
        """
        source = self._sources.get(source_id)
        if isinstance(source, McpServer):
            options = source.config.options
            return cast("Mapping[str, Effect]", options.effects), options.trust == "trusted"
        if source is not None and source_id == SAVED_SCRIPTS:
            return cast("SavedScripts", source).effects(), False
        if source_id == SKILLS:
            return {"*": "read"}, False
        return {}, isinstance(source, LocalFunctions) or source_id == OWN_SOURCE

    def labels(self, call: Call) -> frozenset[str]:
        """The configured labels of what a call's result holds; what a model has made of something is `external`."""
        if call.source == OWN_SOURCE:
            return _EXTERNAL
        source = self._sources.get(call.source)
        if not isinstance(source, McpServer):
            return frozenset()
        options = source.config.options
        labels = set(options.labels)
        if call.tool is not None:
            for glob, more in options.tool_labels.items():
                if fnmatchcase(call.tool.name, glob):
                    labels.update(more)
        return frozenset(labels)

    def context(self, source_id: str, caller: Caller, client: ClientSide | None = None) -> RequestContext:
        """See `Sources.context`: the configuration says whose connection it is."""
        source = self._sources.get(source_id)
        if source_id in {SAVED_SCRIPTS, SKILLS}:
            return CallerContext(client=client, principal=caller.principal.name, caller=caller)
        connection = _connection(source, caller, client) if isinstance(source, McpServer) else "shared"
        keys = {"caller": caller.key, "run": caller.run_key}
        return RequestContext(connection_key=keys.get(connection), client=client, principal=caller.principal.name)

    async def learn(self, name: str, caller: Caller, client: ClientSide | None = None) -> bool:
        """Connect the source that a name begins with, if it was never listed; whether it is listed now.

        A source that can't be reached is the answer to a call of one of its tools, so that error passes.

        Raises:
            ServerError: The source can't be reached.
        """
        head = name.replace("__", ".").replace("/", ".").partition(".")[0]
        if not head:
            return False
        source = self.find(head) or self.find(next(iter(server_ids([head]).values())))
        if source is None or self._registry.part_for(source.id, caller.principal.name) is not None:
            return False
        if self._is_off(source.id) or self._is_hidden(source.id, caller):
            return False
        await self.list_tools(source, self.context(source.id, caller, client))
        return True

    async def list_tools(self, source: Source, context: RequestContext = NO_CONTEXT) -> None:
        """Bring the registry up to what a source lists.

        Args:
            source: The source.
            context: Whom it is for.

        Raises:
            ServerError: The source can't be reached.
        """
        if not isinstance(source, McpServer):
            await source.ensure(context)
            self.take(source.id, await source.list("tools/list", context))
            return
        await source.ensure_listed(context)
        if self._registry.part_for(source.id, context.principal) is None:
            raise ServerError(source.id, f"{source.id} lists no tools.")


def _connection(server: McpServer, caller: Caller, client: ClientSide | None) -> str:
    """Whose connection to a server a caller's requests use.

    A server of the handshake era can ask a client only over a connection on which that client is declared. Such a one
    costs nothing to speak of where this program has one client, or where the server is no process of its own; else it
    is worth its cost for a server that has tried to ask.
    """
    options = server.config.options
    if options.connection != "auto":
        return options.connection
    cheap = caller.face == "stdio" or server.config.url is not None or server.asked_in_vain
    wanted = server.asks_midway and options.start != "always" and bool(declared(client))
    return "caller" if cheap and wanted else "shared"


async def list_clients(
    clients: "Sequence[ConnectedClient]",
    sources: SourceTable,
    tasks: TaskGroup,
    closing: asyncio.Event,
    on_heard: Callable[[str, str, Mapping[str, Any]], None],
) -> None:
    """List what given clients offer, and keep it fresh; one that can't list costs only its own tools.

    Args:
        clients: The clients, connected.
        sources: All sources; takes what they list.
        tasks: Runs what follows their changes.
        closing: Ends that.
        on_heard: Told of each notification that says that something has changed, with its source and params.
    """
    if not clients:
        return
    from toolcrib.servers.clients import follow_changes

    async def one(client: "ConnectedClient") -> None:
        with suppress(ServerError):
            await sources.list_tools(client)

    async def follow(client: "ConnectedClient") -> None:
        client.on_heard = partial(on_heard, client.id)
        async with follow_changes(client.client, partial(sources.list_tools, client), client.on_heard):
            await closing.wait()

    async with anyio.create_task_group() as listings:
        for client in clients:
            listings.start_soon(one, client)
            tasks.start_soon(follow, client)
