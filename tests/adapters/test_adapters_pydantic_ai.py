"""A crib as a toolset of pydantic-ai, with that library's own test models."""

from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from toolcrib import Crib
from toolcrib.adapters.pydantic_ai import CribToolset
from toolcrib.errors import UsageError

pytestmark = pytest.mark.anyio


def scripted(*steps: Any) -> FunctionModel:
    """A model that wants these calls made, each (name, arguments), and then says how it went."""
    left = list(steps)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if not left:
            return ModelResponse([TextPart("done")])
        return ModelResponse([ToolCallPart(name, arguments) for name, arguments in [left.pop(0)]])

    return FunctionModel(answer)


def parts(result: Any, kind: type[Any]) -> list[Any]:
    return [part for message in result.all_messages() for part in message.parts if isinstance(part, kind)]


async def test_an_agent_finds_and_calls_through_the_constant_tools(crib: Crib, shop: Any) -> None:
    call = ("call_tool", {"name": "shop.add", "arguments": {"a": 1, "b": 2}})
    agent = Agent(scripted(("search_tools", {"query": "add whole numbers"}), call), toolsets=[CribToolset(crib)])
    result = await agent.run("What is 1 + 2?")
    found, added = parts(result, ToolReturnPart)
    assert "shop.add" in found.content
    assert (added.content, result.output) == ("3", "done")
    assert shop.calls[0]["arguments"] == {"a": 1, "b": 2}


async def test_the_test_model_can_call_every_tool_by_itself(crib: Crib, shop: Any) -> None:
    model = TestModel(call_tools=["shop__add", "shop__picture"])
    result = await Agent(model, toolsets=[CribToolset(crib, "all")]).run("go")
    told = {tool.name: tool for tool in model.last_model_request_parameters.function_tools}
    assert sorted(told) == ["shop__add", "shop__fail", "shop__picture", "shop__set"]
    assert told["shop__add"].parameters_json_schema["required"] == ["a", "b"]
    words, picture = next(part for part in parts(result, ToolReturnPart) if part.tool_name == "shop__picture").content
    assert words == "the shop"
    assert isinstance(picture, BinaryContent)
    assert (picture.media_type, picture.data[:4]) == ("image/png", b"\x89PNG")


async def test_a_call_that_does_not_fit_is_mended_and_a_failure_is_told(crib: Crib, shop: Any) -> None:
    steps = (("shop__add", {"a": "x"}), ("shop__add", {"a": 1, "b": 2}), ("shop__fail", {}))
    result = await Agent(scripted(*steps), toolsets=[CribToolset(crib, "all")]).run("add, then fail")
    mistake, added, failed = parts(result, ToolReturnPart)
    assert "/a: must be an integer" in mistake.content
    assert "Schema: " in mistake.content
    assert (mistake.outcome, added.content) == ("retried", "3")
    assert (failed.content, failed.outcome) == ("out of stock", "failed")
    assert [call["name"] for call in shop.calls] == ["add", "fail"]


async def test_calls_belong_to_the_conversation_of_the_run_or_to_one_that_is_named(crib: Crib, recorded: Any) -> None:
    named = CribToolset(crib, "all", conversation="own")
    for toolset, conversation in ((CribToolset(crib, "all"), "talk-1"), (named, "talk-2")):
        agent = Agent(scripted(("shop__add", {"a": 1, "b": 2})), toolsets=[toolset])
        await agent.run("add", conversation_id=conversation)
    assert await recorded() == {"talk-1", "own"}


def test_what_is_told_is_one_of_two(crib: Crib) -> None:
    with pytest.raises(UsageError, match="everything"):
        CribToolset(crib, "everything")  # type: ignore[arg-type]
