"""The names that people know from the deferred-loading pattern: each documented snippet, in Python.

The snippets are those that the pattern's documentation shows for its data layer: wrap a tool's name and
description, cache a listing, look metadata and full definitions up, list through a client, validate; and for the
layer above it: a client with the flag, the factory, and the manager by itself.
"""

import sys
from collections.abc import Awaitable, Callable
from subprocess import run
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
)

import toolcrib
from toolcrib import Crib, ToolMetadata, ToolRegistry, ValidationResult, follow_tools, list_tools_metadata
from toolcrib.errors import ProtocolError

pytestmark = pytest.mark.anyio

Lister = Callable[[Any, PaginatedRequestParams | None], Awaitable[ListToolsResult]]


def tool(name: str, description: str | None = None) -> Tool:
    return Tool(
        name=name,
        description=description,
        input_schema={"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
    )


def server(lister: Lister, bus: InMemorySubscriptionBus | None = None) -> Server[Any]:
    listen = None if bus is None else ListenHandler(bus)
    return Server("known-names", on_list_tools=lister, on_subscriptions_listen=listen)


def paged(*pages: list[Tool]) -> Lister:
    async def lister(_: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        index = int(params.cursor) if params and params.cursor else 0
        following = str(index + 1) if index + 1 < len(pages) else None
        return ListToolsResult(tools=pages[index], next_cursor=following)

    return lister


def test_every_public_name_is_there() -> None:
    for name in toolcrib.__all__:
        assert getattr(toolcrib, name).__name__ == name
    assert set(toolcrib.__all__) <= set(dir(toolcrib))
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = toolcrib.Nonsense


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = "import sys, toolcrib; print([m for m in ('mcp', 'numpy', 'pydantic', 'sqlalchemy') if m in sys.modules])"
    assert run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_metadata_snippet() -> None:
    metadata = ToolMetadata(name="calculator", description="Performs calculations")
    assert metadata.to_json() == {"name": "calculator", "description": "Performs calculations"}
    assert ToolMetadata.from_tool(tool("calculator", "Performs calculations")) == metadata
    assert ToolMetadata.from_map({"name": "calculator", "description": "Performs calculations"}) == metadata


def test_registry_snippet() -> None:
    registry = ToolRegistry()
    registry.cache_from_tools([tool("add", "Adds"), tool("sub")])
    assert registry.is_initialized
    assert registry.count == 2
    assert registry.tool_names == ["add", "sub"]
    assert [each.to_json() for each in registry.get_all_metadata()] == [
        {"name": "add", "description": "Adds"},
        {"name": "sub", "description": ""},
    ]
    definition = registry.get_schema("add")
    assert definition is not None
    assert definition["inputSchema"]["required"] == ["x"]
    registry.invalidate_all()
    assert not registry.is_initialized


async def test_listing_through_a_client_reads_all_pages() -> None:
    registry = ToolRegistry()
    async with Client(server(paged([tool("a", "A")], [tool("b")], [tool("c")]))) as client:
        metadata = await list_tools_metadata(client, registry)
    assert metadata == [ToolMetadata("a", "A"), ToolMetadata("b"), ToolMetadata("c")]
    assert registry.tool_names == ["a", "b", "c"]


async def test_an_empty_listing_is_a_listing() -> None:
    registry = ToolRegistry()
    async with Client(server(paged([]))) as client:
        assert await list_tools_metadata(client, registry) == []
    assert registry.is_initialized


async def test_a_failed_listing_leaves_the_registry_as_it_was() -> None:
    async def broken(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        raise MCPError(INTERNAL_ERROR, "database away")

    registry = ToolRegistry()
    registry.cache_from_tools([tool("old")])
    async with Client(server(broken)) as client:
        with pytest.raises(ProtocolError, match="database away"):
            await list_tools_metadata(client, registry)
    assert registry.tool_names == ["old"]


async def test_several_servers_share_a_registry() -> None:
    registry = ToolRegistry()
    async with Client(server(paged([tool("add")]))) as one, Client(server(paged([tool("add")]))) as two:
        await list_tools_metadata(one, registry, server="one")
        metadata = await list_tools_metadata(two, registry, server="two")
    assert metadata == [ToolMetadata("two.add")]
    assert registry.tool_names == ["one.add", "two.add"]


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_list_changed_is_followed(era: Any) -> None:
    tools = [tool("a")]
    bus = InMemorySubscriptionBus()
    session: list[Any] = []

    async def lister(context: Any, _: PaginatedRequestParams | None) -> ListToolsResult:
        session[:] = [context.session]
        return ListToolsResult(tools=list(tools))

    registry = ToolRegistry()
    async with Client(server(lister, bus), mode=era) as client:
        await list_tools_metadata(client, registry)
        async with follow_tools(client, registry):
            tools.append(tool("b"))
            with anyio.fail_after(20):
                while registry.count == 1:
                    if era == "legacy":
                        await session[0].send_tool_list_changed()
                    else:
                        await bus.publish(ToolsListChanged())
                    await anyio.lowlevel.checkpoint()
    assert registry.tool_names == ["a", "b"]


def test_validation_result_snippet() -> None:
    valid, invalid = ValidationResult.valid(), ValidationResult.invalid("Missing required parameter: x")
    assert (valid.is_valid, valid.error) == (True, None)
    assert (invalid.is_valid, invalid.error) == (False, "Missing required parameter: x")
    assert "valid" in repr(valid)
    assert "invalid" in repr(invalid)


async def test_the_broker_uses_the_same_validation_result() -> None:
    from toolcrib import InvalidArgumentsError

    def add(a: int, b: int) -> int:
        return a + b

    async with Crib.from_clients({}) as crib:
        crib.add_functions(add)
        with pytest.raises(InvalidArgumentsError) as caught:
            await crib.call("local.add", {"a": "one"})
    assert isinstance(caught.value.result, ValidationResult)
    assert {each.path for each in caught.value.result.errors} == {"/a", "/b"}


async def test_a_client_with_the_flag_snippet() -> None:
    from toolcrib.llm import LlmClient, ScriptedProvider

    llm_provider = ScriptedProvider(["hello"])
    async with Client(server(paged([tool("add", "Adds")]))) as mcp_client:
        client = LlmClient(llm_provider, mcp_client=mcp_client, use_deferred_loading=True, max_tool_rounds=3)
        response = await client.chat("hi")
        await client.close()
    assert (response.text, client.max_tool_rounds) == ("hello", 3)
    told = llm_provider.requests[0].tools
    assert [(each.name, each.description, each.input_schema) for each in told] == [
        ("mcp__add", "Adds", {"type": "object"})
    ]


async def test_the_factory_snippet() -> None:
    from toolcrib.llm import LlmConfiguration, MCPLlm, ScriptedProvider

    mcp_llm = MCPLlm()
    mcp_llm.register_provider("own", lambda configuration: ScriptedProvider([configuration.model]))
    async with Client(server(paged([tool("add")]))) as mcp_client:
        client = await mcp_llm.create_client(
            provider_name="own",
            config=LlmConfiguration(api_key="key", model="small"),
            mcp_client=mcp_client,
            use_deferred_loading=True,
            max_tool_rounds=3,
        )
        assert (await client.chat("hi")).text == "small"
        assert client.deferred is not None
        await client.close()


async def test_the_manager_snippet() -> None:
    from toolcrib.llm import DeferredToolManager, LlmToolMetadata

    manager = DeferredToolManager()
    async with Client(server(paged([tool("add", "Adds")]))) as client:
        await manager.initialize({"calc": client})
    assert manager.is_initialized
    assert manager.get_metadata_for_llm() == [LlmToolMetadata(name="calc__add", description="Adds")]
    definition = manager.get_full_schema("calc__add")
    assert definition is not None
    assert definition["inputSchema"]["required"] == ["x"]
    assert manager.validate_tool_call("calc__add", {"x": 1}).is_valid
    assert 'missing required parameter "x"' in str(manager.validate_tool_call("calc__add", {}).error)
    manager.invalidate()
    assert not manager.is_initialized
    manager.reset()
    assert manager.count == 0
