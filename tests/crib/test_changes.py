"""What changes of the catalog are told, whatever kind of source they come from."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from toolcrib import Crib
from toolcrib.broker import text_of
from toolcrib.crib.changes import MOST_WORDS, told_by
from toolcrib.errors import UnknownToolError
from toolcrib.events import CatalogChanged

pytestmark = pytest.mark.anyio

STUB = Path(__file__).resolve().parent.parent / "stubs" / "misbehave.py"


class Shop:
    """A server of the SDK whose tools change."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.bus = InMemorySubscriptionBus()
        self.sessions: list[Any] = []
        self.server = Server("shop", on_list_tools=self.list_tools, on_subscriptions_listen=ListenHandler(self.bus))

    async def list_tools(self, ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        self.sessions.append(ctx.session)
        tools = [types.Tool(name=name, description="", input_schema={"type": "object"}) for name in self.names]
        return types.ListToolsResult(tools=tools)

    async def change(self, *names: str) -> None:
        """Change what is on sale, and tell it in the way of each era."""
        self.names = names
        await self.bus.publish(ToolsListChanged())
        await self.sessions[-1].send_tool_list_changed()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("given", ["client", "session"])
async def test_a_change_at_a_given_client_is_taken_over_and_told(mode: Any, given: str) -> None:
    shop = Shop("apple", "bread")
    async with Client(shop.server, mode=mode) as client:
        one = client if given == "client" else client.session
        async with Crib.from_clients({"shop": one}) as crib:
            with crib.events.subscribe() as events, anyio.fail_after(10):
                await shop.change("bread", "cheese")
                change = await anext(events)
            assert change == CatalogChanged("shop", added=("shop.cheese",), removed=("shop.apple",))
            assert crib.registry.keys("shop") == ["shop.bread", "shop.cheese"]


async def test_a_call_whose_tool_is_removed_meanwhile_finishes_and_the_removal_is_told(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": ["-S", str(STUB), "RemovesInCall"]}
    ends: list[str] = []

    async def fleeting() -> None:
        ends.append(text_of((await crib.call("one.fleeting")).result))

    async with Crib.open({"one": entry}, state_dir=tmp_path) as crib:
        await crib.call("one.echo")
        with crib.events.subscribe() as events, anyio.fail_after(20):
            async with anyio.create_task_group() as calls:
                calls.start_soon(fleeting)
                assert await _next_change(events) == CatalogChanged("one", removed=("one.fleeting",))
                with pytest.raises(UnknownToolError):
                    await crib.call("one.fleeting")
                assert not ends
                await crib.call("one.echo")
        assert ends == ["in the end"]


async def _next_change(events: AsyncIterator[Any]) -> CatalogChanged:
    return await anext(each async for each in events if isinstance(each, CatalogChanged))


async def test_functions_and_sources_that_are_added_are_told() -> None:
    def greet(name: str) -> str:
        """Greets."""
        return name

    async with Crib.from_clients({}) as crib:
        with crib.events.subscribe() as events, anyio.fail_after(10):
            crib.add_functions(greet)
            assert await anext(events) == CatalogChanged("local", added=("local.greet",))


@pytest.mark.parametrize("kind", ["resources/list_changed", "tools/list_changed", "resources/updated"])
async def test_a_change_with_more_words_than_wait_for_slow_clients_is_told_without_them(kind: str) -> None:
    method, about = f"notifications/{kind}", {"uri": "up://it"} if kind == "resources/updated" else {}
    few, many = ({**about, "_meta": {"own": "x" * length}} for length in (100, MOST_WORDS))
    told, bare = told_by("up", method, few), told_by("up", method, many)
    assert told is not None
    assert told.words == {"_meta": {"own": "x" * 100}}
    if kind == "tools/list_changed":  # told by what has changed of the tools
        assert bare is None
    else:
        assert bare is not None
        assert (bare, bare.words) == (told, {})


async def test_a_resource_whose_uri_is_longer_than_any_is_not_told_of() -> None:
    assert told_by("up", "notifications/resources/updated", {"uri": "up://" + "x" * 10_000}) is None


async def test_a_server_that_was_not_there_at_first_is_listed_once_it_is(tmp_path: Path) -> None:
    """A gateway may run for weeks, and start before the servers behind it."""
    program = tmp_path / "server.py"
    entry = {"command": sys.executable, "args": ["-S", str(program), "Normal"]}
    config = {"mcpServers": {"late": entry}, "toolcrib": {"first_listing_wait": 60}}
    async with Crib.open(config, state_dir=tmp_path / "state") as crib:
        with anyio.fail_after(20), crib.events.subscribe() as events:
            assert await crib.list_first() == []  # it has failed
            program.symlink_to(STUB)
            assert await crib.list_first() == []  # nobody waits for what has failed once
            assert await _next_change(events) == CatalogChanged("late", added=("late.echo",))
        assert [tool.id for tool in crib.known_tools()] == ["late.echo"]
