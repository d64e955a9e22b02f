"""A crib as tools of the OpenAI Agents SDK, with a model that follows a script."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from toolcrib import Crib
from toolcrib.adapters.openai_agents import crib_tools

pytestmark = pytest.mark.anyio


class Scripted(Model):
    """Wants these calls made, one a turn, and then says that it is done; keeps what it was sent."""

    def __init__(self, *calls: tuple[str, str]) -> None:
        self.left = list(calls)
        self.items: list[Any] = []

    async def get_response(self, *args: Any, **given: Any) -> ModelResponse:
        self.items = [item for item in given["input"] if isinstance(item, dict)]
        if not self.left:
            words = ResponseOutputText(text="done", type="output_text", annotations=[])
            output: Any = ResponseOutputMessage(
                id="m", content=[words], role="assistant", status="completed", type="message"
            )
        else:
            name, arguments = self.left.pop(0)
            output = ResponseFunctionToolCall(
                call_id=f"c{len(self.left)}", name=name, arguments=arguments, type="function_call"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **given: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def outputs(crib: Crib, *calls: tuple[str, Any], config: RunConfig | None = None, **options: Any) -> list[Any]:
    """What the model is given for each call."""
    model = Scripted(*((name, given if isinstance(given, str) else json.dumps(given)) for name, given in calls))
    agent = Agent(name="a", model=model, tools=list(await crib_tools(crib, **options)))
    run = config or RunConfig()
    run.tracing_disabled = True
    result = await Runner.run(agent, "go", run_config=run)
    assert result.final_output == "done"
    return [item["output"] for item in model.items if item.get("type") == "function_call_output"]


async def test_an_agent_finds_and_calls_through_the_constant_tools(crib: Crib, shop: Any) -> None:
    call = ("call_tool", {"name": "shop.add", "arguments": {"a": 1, "b": 2}})
    found, added = await outputs(crib, ("search_tools", {"query": "add whole numbers"}), call)
    assert "shop.add" in found
    assert added == "3"
    assert shop.calls[0]["arguments"] == {"a": 1, "b": 2}


async def test_every_tool_by_itself_has_the_schema_that_the_server_sent(crib: Crib) -> None:
    tools = {tool.name: tool for tool in await crib_tools(crib, "all")}
    assert sorted(tools) == ["shop__add", "shop__fail", "shop__picture", "shop__set"]
    assert tools["shop__add"].params_json_schema["required"] == ["a", "b"]
    assert tools["shop__add"].strict_json_schema is False


async def test_pictures_stay_pictures(crib: Crib, pixel: str) -> None:
    (given,) = await outputs(crib, ("shop__picture", {}), told="all")
    assert [part["type"] for part in given] == ["input_text", "input_image"]
    assert given[1]["image_url"] == f"data:image/png;base64,{pixel}"


async def test_mistakes_and_failures_say_that_they_are_errors(crib: Crib, shop: Any) -> None:
    calls = (("shop__add", {"a": "x"}), ("shop__add", '{"a": 1'), ("shop__fail", {}))
    mistake, broken, failure = await outputs(crib, *calls, told="all")
    assert mistake.startswith("Error: ")
    assert "/a: must be an integer" in mistake
    assert "must be one JSON object" in broken
    assert failure == "Error: out of stock"
    assert [call["name"] for call in shop.calls] == ["fail"]


async def test_calls_belong_to_the_group_of_the_run_or_to_the_conversation_that_is_named(
    crib: Crib, recorded: Any
) -> None:
    call = ("shop__add", {"a": 1, "b": 2})
    await outputs(crib, call, config=RunConfig(group_id="group-1"), told="all")
    await outputs(crib, call, config=RunConfig(group_id="group-2"), told="all", conversation="own")
    assert await recorded() == {"group-1", "own"}
