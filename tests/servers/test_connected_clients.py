"""SDK clients that somebody else connected, as sources and as what keeps a registry fresh."""

from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.session import ClientSession
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError

from toolcrib.catalog import RequestContext, ToolMetadata, ToolRegistry
from toolcrib.errors import ProtocolError, ServerClosedError, ServerError
from toolcrib.servers.clients import ConnectedClient, follow_tools, list_tools_metadata

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


class Shop:
    """A low-level server of the SDK whose tools can change, two a page."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.listings = 0
        self.broken = False
        self.bus = InMemorySubscriptionBus()
        self.sessions: list[Any] = []
        self.server = Server(
            "shop",
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_subscriptions_listen=ListenHandler(self.bus),
        )

    async def list_tools(self, ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        self.sessions.append(ctx.session)
        self.listings += 1
        if self.broken:
            raise MCPError(code=-32603, message="closed for today")
        start = int(params.cursor) if params is not None and params.cursor else 0
        tools = [
            types.Tool(name=name, description=f"Sells {name}.", input_schema={"type": "object"})
            for name in self.names[start : start + 2]
        ]
        cursor = str(start + 2) if start + 2 < len(self.names) else None
        return types.ListToolsResult(tools=tools, next_cursor=cursor)

    async def call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in self.names:
            raise MCPError(code=-32602, message=f"Unknown tool: {params.name}")
        return types.CallToolResult(content=[types.TextContent(type="text", text=f"sold {params.name}")])

    async def change(self, *names: str) -> None:
        """Change what is on sale, and tell it in the way of each era."""
        self.names = list(names)
        await self.bus.publish(ToolsListChanged())
        await self.sessions[-1].send_tool_list_changed()


@MODES
async def test_listing_returns_metadata_over_all_pages_and_caches_full_definitions(mode):
    shop, registry = Shop("apple", "bread", "cheese", "date", "egg"), ToolRegistry()
    async with Client(shop.server, mode=mode) as client:
        found = await list_tools_metadata(client, registry)
    assert found == [ToolMetadata(name, f"Sells {name}.") for name in ("apple", "bread", "cheese", "date", "egg")]
    assert shop.listings == 3
    assert registry.get_schema("cheese")["inputSchema"] == {"type": "object"}


@MODES
async def test_listing_again_replaces_what_was_cached(mode):
    shop, registry = Shop("apple", "bread"), ToolRegistry()
    async with Client(shop.server, mode=mode) as client:
        await list_tools_metadata(client, registry)
        shop.names = ["cheese"]
        assert await list_tools_metadata(client, registry) == [ToolMetadata("cheese", "Sells cheese.")]
    assert registry.tool_names == ["cheese"]


async def test_under_a_server_id_only_its_own_part_is_replaced_and_keys_are_tool_ids():
    registry = ToolRegistry()
    async with Client(Shop("apple").server) as one, Client(Shop("bread").server) as two:
        await list_tools_metadata(one, registry, server="one")
        found = await list_tools_metadata(two, registry, server="two")
    assert found == [ToolMetadata("two.bread", "Sells bread.")]
    assert registry.tool_names == ["one.apple", "two.bread"]


@MODES
async def test_a_listing_that_fails_raises_and_leaves_the_registry_as_it_was(mode):
    shop, registry = Shop("apple"), ToolRegistry()
    async with Client(shop.server, mode=mode) as client:
        await list_tools_metadata(client, registry)
        shop.broken = True
        with pytest.raises(ProtocolError, match="closed for today"):
            await list_tools_metadata(client, registry)
    assert registry.tool_names == ["apple"]


@MODES
async def test_a_change_is_followed_while_the_block_runs(mode):
    shop, registry = Shop("apple"), ToolRegistry()
    async with Client(shop.server, mode=mode) as client:
        await list_tools_metadata(client, registry)
        async with follow_tools(client, registry):
            await shop.change("bread", "cheese")  # at once: what changes before a subscription is there is seen too
            with anyio.fail_after(20):
                while registry.tool_names != ["bread", "cheese"]:
                    await anyio.lowlevel.checkpoint()
        listings = shop.listings
        await shop.change("date")
        await anyio.wait_all_tasks_blocked()
        assert shop.listings == listings
        assert registry.tool_names == ["bread", "cheese"]


@MODES
async def test_a_change_that_cannot_be_listed_leaves_the_registry_as_it_was(mode):
    shop, registry = Shop("apple"), ToolRegistry()
    async with Client(shop.server, mode=mode) as client:
        await list_tools_metadata(client, registry)
        async with follow_tools(client, registry):
            await anyio.wait_all_tasks_blocked()
            shop.broken, listings = True, shop.listings
            await shop.change("bread")
            with anyio.fail_after(20):
                while shop.listings == listings:
                    await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
    assert registry.tool_names == ["apple"]


@MODES
async def test_a_connected_client_is_a_source(mode):
    async with Client(Shop("apple", "bread", "cheese").server, mode=mode) as client:
        source = ConnectedClient("shop", client)
        await source.ensure()
        assert [tool["name"] for tool in await source.list("tools/list")] == ["apple", "bread", "cheese"]
        result = await source.request("tools/call", {"name": "bread", "arguments": {}}, RequestContext())
        assert result["content"] == [{"type": "text", "text": "sold bread"}]
        with pytest.raises(ProtocolError) as caught:
            await source.request("tools/call", {"name": "gold"})
        assert caught.value.rpc_code == -32602


async def test_the_session_of_a_client_serves_as_well():
    registry = ToolRegistry()
    async with Client(Shop("apple").server) as client:
        assert isinstance(client.session, ClientSession)
        await list_tools_metadata(client.session, registry)
        source = ConnectedClient("shop", client.session)
        result = await source.request("tools/call", {"name": "apple"})
    assert registry.tool_names == ["apple"]
    assert result["content"][0]["text"] == "sold apple"


async def test_a_client_that_was_left_is_a_clear_error():
    async with Client(Shop("apple").server) as client:
        source = ConnectedClient("shop", client)
    with pytest.raises((ServerClosedError, ServerError)):
        await source.request("tools/call", {"name": "apple"})
