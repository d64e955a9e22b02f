"""SDK clients that somebody else connected: used as sources, neither owned nor closed."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, cast

import anyio
from mcp import Client
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError

from toolcrib.catalog import (
    NO_CONTEXT,
    JsonObject,
    Listing,
    ListMethod,
    RequestContext,
    RequestMethod,
    ToolMetadata,
    ToolRegistry,
)
from toolcrib.errors import ServerClosedError, ServerError, UsageError
from toolcrib.servers.connection import Connection
from toolcrib.servers.dispatching import HEARD, OnHeard, deaf
from toolcrib.servers.era import Negotiated
from toolcrib.servers.following import follow_resource
from toolcrib.servers.wire import accepted_tools, overheard

_REQUEST_SECONDS = 60.0


class ConnectedClient:
    """A connected SDK client as a source.

    Args:
        source_id: The id that heads its tool ids.
        client: An entered `mcp.Client`, or an initialised `ClientSession`.

    Attributes:
        client: The same.
        on_heard: Told of changes of resources that are followed.

    Raises:
        UsageError: The client is not connected.
    """

    def __init__(self, source_id: str, client: Client | ClientSession) -> None:
        self.id = source_id
        self.description = ""
        session = _session(source_id, client)
        self.client = client
        self.on_heard: OnHeard = deaf
        self._connection = Connection(source_id, session, anyio.Event(), _negotiated=_agreed(session))

    @property
    def connection(self) -> Connection:
        """The connection around the client's session."""
        return self._connection

    def offers(self, capability: str) -> bool:
        """Whether the server claims a capability, such as `resources`."""
        return self._connection.offers(capability)

    async def ensure(self, context: RequestContext = NO_CONTEXT) -> None:
        """Nothing to do: whoever gave the client keeps it connected."""

    async def list(self, method: ListMethod, context: RequestContext = NO_CONTEXT) -> Listing:
        """All entries over all pages, as sent. See `Source.list`."""
        entries, freshness = await self._connection.list_all(method, _REQUEST_SECONDS)
        if method == "tools/list":
            entries = accepted_tools(self._connection.session, entries)[0]
        objects = (cast("JsonObject", entry) for entry in entries if isinstance(entry, dict))
        return Listing(objects, freshness.ttl, private=freshness.private)

    async def follow(self, uri: str, context: RequestContext, on_start: Callable[[], None]) -> None:
        """Be told when a resource changes, until cancelled."""
        await follow_resource(self._connection, uri, _REQUEST_SECONDS, on_start)

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        """Send one request and return its result as sent. See `Source.request`."""
        if context.timeout is None:
            context = replace(context, timeout=_REQUEST_SECONDS)
        try:
            return await self._connection.request(method, params, context)
        except RuntimeError as error:  # the SDK's word for a session that is not entered
            raise ServerClosedError(
                self.id, f"The client given for {self.id} is not connected: {error}.", hint="Enter it first."
            ) from error


async def list_tools_metadata(
    client: Client | ClientSession, registry: ToolRegistry, server: str | None = None
) -> list[ToolMetadata]:
    """List a connected client's tools over all pages, cache them, and return their metadata.

    A failed listing raises and leaves the registry as it was.

    Args:
        client: An entered `mcp.Client`, or an initialised `ClientSession`.
        registry: Takes the full definitions.
        server: Keys become tool ids and only this server's part is replaced; None replaces everything.

    Raises:
        ServerError: The server refused or was gone.
    """
    tools = await ConnectedClient(server or "client", client).list("tools/list")
    registry.cache_from_maps(tools, server=server)
    keys = registry.keys(server) if server is not None else registry.tool_names
    return [found for key in keys if (found := registry.get_metadata(key)) is not None]


@asynccontextmanager
async def follow_tools(
    client: Client | ClientSession, registry: ToolRegistry, server: str | None = None
) -> AsyncGenerator[None]:
    """Keep a registry fresh while the block runs: each `list_changed` of the client lists its tools again.

    Works in both protocol eras: by `subscriptions/listen` from 2026-07-28 on, by the notification before it.
    A listing that fails leaves the registry as it was.
    """

    async def relist() -> None:
        await list_tools_metadata(client, registry, server)

    async with follow_changes(client, relist):
        yield


@asynccontextmanager
async def follow_changes(
    client: Client | ClientSession,
    relist: Callable[[], Awaitable[None]],
    on_heard: OnHeard = deaf,
) -> AsyncGenerator[None]:
    """List a client's tools again, while the block runs, after each change that its server tells of.

    Args:
        client: An entered `mcp.Client`, or an initialised `ClientSession`.
        relist: Lists them; a `ServerError` that it raises is left alone.
        on_heard: Told of all changes, by the notification's method and params.
    """
    session = client if isinstance(client, ClientSession) else client.session
    changed = asyncio.Event()

    def hear(method: str, params: Mapping[str, Any]) -> None:
        if method in HEARD:
            on_heard(method, params)
        if method == "notifications/tools/list_changed":
            changed.set()

    with overheard(session, hear):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_relisting, changed, relist)
            if session.discover_result is not None:
                tasks.start_soon(_subscribed, session, changed.set)
            yield
            tasks.cancel_scope.cancel()


async def _relisting(changed: asyncio.Event, relist: Callable[[], Awaitable[None]]) -> None:
    while True:
        await changed.wait()
        changed.clear()
        with suppress(ServerError):
            await relist()


async def _subscribed(session: ClientSession, on_changed: Callable[[], None]) -> None:
    """Be told of changes by a server of the stateless era."""
    # A server that offers no subscriptions refuses, whatever it claims.
    with suppress(MCPError, SubscriptionLost):
        claimed = session.server_capabilities
        async with listen(
            session,
            tools_list_changed=True,
            resources_list_changed=claimed is not None and claimed.resources is not None,
            prompts_list_changed=claimed is not None and claimed.prompts is not None,
        ) as events:
            on_changed()  # nobody was told of what has changed since the first listing
            async for _ in events:  # what they say is overheard
                pass


def _session(source_id: str, client: Client | ClientSession) -> ClientSession:
    if isinstance(client, ClientSession):
        return client
    try:
        return client.session
    except RuntimeError as error:  # the SDK's word for a client that is not entered
        raise UsageError(
            f"The client given for {source_id} is not connected.", hint="Enter it with `async with` first."
        ) from error


def _agreed(session: ClientSession) -> Negotiated:
    result = session.initialize_result or session.discover_result
    raw = {} if result is None else result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return Negotiated(session.protocol_version or "", raw)
