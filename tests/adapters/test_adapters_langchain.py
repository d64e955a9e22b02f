"""A crib as tools of LangChain, with that library's own fake model."""

from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool

from toolcrib import Crib
from toolcrib.adapters.langchain import CribTool, crib_tools

pytestmark = pytest.mark.anyio


async def made(tools: list[CribTool], *calls: tuple[str, Any], thread: str = "") -> list[ToolMessage]:
    """What the calls of a fake model's turn come to."""
    wanted = [
        {"name": name, "args": arguments, "id": f"c{place}", "type": "tool_call"}
        for place, (name, arguments) in enumerate(calls)
    ]
    model = GenericFakeChatModel(messages=iter([AIMessage("", tool_calls=wanted)]))
    turn = await model.ainvoke("go")
    named = {tool.name: tool for tool in tools}
    config: RunnableConfig = {"configurable": {"thread_id": thread}} if thread else {}
    return [await named[call["name"]].ainvoke({**call, "type": "tool_call"}, config) for call in turn.tool_calls]


async def test_a_model_finds_and_calls_through_the_constant_tools(crib: Crib, shop: Any) -> None:
    tools = await crib_tools(crib)
    assert [tool.name for tool in tools][:3] == ["search_tools", "get_tool_details", "call_tool"]
    found, added = await made(
        tools,
        ("search_tools", {"query": "add whole numbers"}),
        ("call_tool", {"name": "shop.add", "arguments": {"a": 1, "b": 2}}),
    )
    assert "shop.add" in found.text
    assert (added.text, added.status, added.tool_call_id) == ("3", "success", "c1")
    assert shop.calls[0]["arguments"] == {"a": 1, "b": 2}


async def test_every_tool_by_itself_has_the_schema_that_the_server_sent(crib: Crib) -> None:
    tools = {tool.name: convert_to_openai_tool(tool)["function"] for tool in await crib_tools(crib, "all")}
    assert sorted(tools) == ["shop__add", "shop__fail", "shop__picture", "shop__set"]
    assert tools["shop__add"]["parameters"]["properties"] == {"a": {"type": "integer"}, "b": {"type": "integer"}}


async def test_pictures_stay_pictures_and_blocks_stay_beside_them(crib: Crib, pixel: str) -> None:
    (message,) = await made(await crib_tools(crib, "all"), ("shop__picture", {}))
    assert message.content == [
        {"type": "text", "text": "the shop"},
        {"type": "image", "base64": pixel, "mime_type": "image/png"},
    ]
    assert message.artifact[1] == {"type": "image", "data": pixel, "mimeType": "image/png"}


async def test_mistakes_and_failures_are_messages_marked_as_errors(crib: Crib, shop: Any) -> None:
    mistake, failure = await made(await crib_tools(crib, "all"), ("shop__add", {"a": "x"}), ("shop__fail", {}))
    assert (mistake.status, failure.status, failure.text) == ("error", "error", "out of stock")
    assert "/a: must be an integer" in mistake.text
    assert [call["name"] for call in shop.calls] == ["fail"]


async def test_parameters_may_be_called_as_those_of_the_library(crib: Crib, shop: Any) -> None:
    given = {"config": "loud", "run_manager": "me"}
    (message,) = await made(await crib_tools(crib, "all"), ("shop__set", given))
    assert (message.status, shop.calls[0]["arguments"]) == ("success", given)


async def test_calls_belong_to_the_thread_or_to_the_conversation_that_is_named(crib: Crib, recorded: Any) -> None:
    call = ("shop__add", {"a": 1, "b": 2})
    await made(await crib_tools(crib, "all"), call, thread="thread-1")
    await made(await crib_tools(crib, "all", conversation="own"), call, thread="thread-2")
    assert await recorded() == {"thread-1", "own"}


async def test_without_asyncio_a_tool_says_what_to_do(crib: Crib) -> None:
    tool = (await crib_tools(crib))[0]
    assert "use ainvoke" in str(tool.invoke({"query": "add"}))
    tool.handle_tool_error = False
    with pytest.raises(ToolException, match="ainvoke"):
        tool.invoke({"query": "add"})
