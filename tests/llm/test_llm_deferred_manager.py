"""`DeferredToolManager` and `MCPLlm`: the names that people know from the deferred-loading pattern (its tests B1 to
B11, and T16 to T22 of those it lacks)."""

import json
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp_types import ListToolsResult, Tool

from toolcrib import Crib, ToolMetadata
from toolcrib.errors import UsageError
from toolcrib.llm import (
    DeferredToolManager,
    LlmClient,
    LlmConfiguration,
    LlmToolMetadata,
    MCPLlm,
    ScriptedProvider,
    register_provider,
)

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "expression": {"type": "string", "description": "What to calculate, such as 2 + 3 * 4"},
        "precision": {"type": "integer", "minimum": 0, "maximum": 15, "description": "Digits behind the point"},
    },
    "required": ["expression"],
}


def server(name: str, *tools: Tool, pages: int = 1) -> Server[Any]:
    async def listing(_: Any, params: Any) -> ListToolsResult:
        place = int(params.cursor) if params and params.cursor else 0
        share = tools[place::pages]
        return ListToolsResult(tools=list(share), next_cursor=str(place + 1) if place + 1 < pages else None)

    return Server(name, on_list_tools=listing)


def tool(name: str, description: str = "", schema: dict[str, Any] = SCHEMA) -> Tool:
    return Tool(name=name, description=description, input_schema=schema)


def test_b4_metadata_for_a_model_is_the_catalog_s() -> None:
    assert LlmToolMetadata is ToolMetadata


def test_b5_b6_a_new_manager_knows_nothing() -> None:
    manager = DeferredToolManager()
    assert (manager.is_initialized, manager.count, manager.tool_names) == (False, 0, [])
    assert manager.get_metadata_for_llm() == []
    assert manager.get_metadata("calculator") is None
    assert manager.get_full_schema("calculator") is None
    assert manager.validate_tool_call("calculator", {}).error == "Tool not found: calculator"


async def test_initialize_lists_one_client_with_all_pages() -> None:
    manager = DeferredToolManager()
    tools = [tool(f"t{number}", f"Tool {number}.") for number in range(5)]
    async with Client(server("one", *tools, pages=2)) as client:
        await manager.initialize(client)
    assert (manager.is_initialized, manager.count) == (True, 5)
    assert ToolMetadata("mcp__t3", "Tool 3.") in manager.get_metadata_for_llm()
    full = manager.get_full_schema("mcp__t3")
    assert full is not None
    assert (full["name"], full["inputSchema"]) == ("mcp__t3", SCHEMA)
    assert manager.get_full_schema("t3") == full == manager.get_full_schema("mcp.t3")


async def test_validation_is_of_the_whole_schema() -> None:
    manager = DeferredToolManager()
    async with Client(server("one", tool("calculator"))) as client:
        await manager.initialize(client)
    assert manager.validate_tool_call("calculator", {"expression": "1 + 1"}).is_valid
    assert "expression" in str(manager.validate_tool_call("calculator", {}).error)
    assert "/precision" in str(manager.validate_tool_call("calculator", {"expression": "1", "precision": 99}).error)
    assert not manager.validate_tool_call("calculator", {"expression": None}).is_valid


async def test_b7_invalidate_and_reset_forget() -> None:
    manager = DeferredToolManager()
    async with Client(server("one", tool("a"))) as client:
        await manager.initialize(client)
        manager.invalidate()
        assert (manager.is_initialized, manager.count) == (False, 0)
        await manager.initialize(client)
        manager.reset()
    assert manager.tool_names == []


async def test_t21_several_at_once_list_once_and_an_invalidation_meanwhile_wins() -> None:
    listings = 0
    first = anyio.Event()
    go_on = anyio.Event()

    async def listing(_: Any, params: Any) -> ListToolsResult:
        nonlocal listings
        listings += 1
        if listings == 1:
            first.set()
            await go_on.wait()
            return ListToolsResult(tools=[tool("old")])
        return ListToolsResult(tools=[tool("new")])

    manager = DeferredToolManager()
    with anyio.fail_after(10):
        async with Client(Server("one", on_list_tools=listing)) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(manager.initialize, client)
            tasks.start_soon(manager.initialize, client)
            await first.wait()
            manager.invalidate()
            go_on.set()
    assert manager.tool_names == ["mcp__new"]
    assert listings == 2


async def test_t22_one_name_on_two_servers_is_two_tools() -> None:
    manager = DeferredToolManager()
    async with Client(server("a", tool("run", "From a."))) as a, Client(server("b", tool("run", "From b."))) as b:
        await manager.initialize({"a": a, "b": b})
    assert manager.tool_names == ["a__run", "b__run"]
    assert manager.get_metadata("b__run") == ToolMetadata("b__run", "From b.")
    assert not manager.has_tool("run")


async def test_t16_t20_over_a_crib_changes_show_at_once(crib: Crib) -> None:
    manager = DeferredToolManager()
    await manager.initialize(crib)
    assert manager.has_tool("local__add")

    def late(text: str) -> str:
        """Late."""
        return text

    crib.add_functions(late, server="later")
    assert manager.has_tool("later__late")
    assert manager.has_tool("local__add")


async def test_b9_metadata_is_under_half_of_the_whole() -> None:
    manager = DeferredToolManager()
    async with Client(server("one", tool("calculator", "Performs calculations"))) as client:
        await manager.initialize(client)
    metadata = json.dumps(manager.get_metadata_for_llm()[0].to_json())
    assert len(metadata) < len(json.dumps(manager.get_full_schema("calculator"))) / 2


async def test_b8_b11_a_client_shows_its_manager_only_with_the_flag(crib: Crib) -> None:
    assert LlmClient(ScriptedProvider([]), crib).deferred is None
    client = LlmClient(ScriptedProvider(["hello"]), crib, use_deferred_loading=True, max_tool_rounds=3)
    assert client.deferred is not None
    await client.chat("hi")
    assert client.deferred.is_initialized


async def test_a_client_over_connected_sdk_clients_opens_and_closes_its_own_crib() -> None:
    provider = ScriptedProvider(["hello", "hello"])
    async with Client(server("a", tool("run"))) as sdk, LlmClient(provider, mcp_client={"a": sdk}) as client:
        await client.chat("hi")
    assert [each.name for each in provider.requests[0].tools] == ["a__run"]
    async with Client(server("a", tool("run"))) as sdk:
        lazy = LlmClient(provider, mcp_client=sdk)
        await lazy.chat("hi")
        await lazy.close()
    assert [each.name for each in provider.requests[1].tools] == ["mcp__run"]


async def test_the_factory_makes_clients_of_registered_providers() -> None:
    seen: list[LlmConfiguration] = []

    def make(configuration: LlmConfiguration) -> ScriptedProvider:
        seen.append(configuration)
        return ScriptedProvider(["hello"])

    factory = MCPLlm()
    factory.register_provider("mine", make)
    config = LlmConfiguration(api_key="very-secret", model="small", base_url="http://localhost:1")
    async with Client(server("a", tool("run"))) as sdk:
        client = await factory.create_client(
            provider_name="mine", config=config, mcp_client=sdk, use_deferred_loading=True, max_tool_rounds=2
        )
        assert (await client.chat("hi")).text == "hello"
        await client.close()
    assert seen == [config]
    assert "very-secret" not in repr(config)
    register_provider("yours", make)
    assert LlmClient("yours:big").provider.name == "scripted"
    assert seen[-1].model == "big"


async def test_no_clients_are_no_tools() -> None:
    with pytest.raises(UsageError, match="no clients"):
        await DeferredToolManager().initialize({})
