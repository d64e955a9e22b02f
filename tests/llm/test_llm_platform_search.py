"""The vendors' own search for tools (`native_search="platform"`): what is sent, what they find, and what goes back."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("anthropic")
pytest.importorskip("openai")

from doubles import anthropic_api, openai_responses_api
from doubles.serving import Double, served

from toolcrib import Crib
from toolcrib.llm import Conversation, LlmClient, LlmConfiguration, ScriptedProvider, Traits
from toolcrib.llm.providers.anthropic import AnthropicProvider
from toolcrib.llm.providers.openai_responses import OpenAIProvider

pytestmark = pytest.mark.anyio

GOOD = {"a": 1, "b": 2}
WRONG = {"a": "many"}


@asynccontextmanager
async def anthropic(crib: Crib, *script: Any, **options: Any) -> AsyncIterator[tuple[LlmClient, Double]]:
    double = Double(anthropic_api.check, list(script))
    search = options.pop("tool_search", "bm25")
    async with served(double, "/v1/messages"):
        configuration = LlmConfiguration("claude-sonnet-5", "key", double.url)
        provider = AnthropicProvider(configuration, tool_search=search, max_retries=0)
        async with LlmClient(provider, crib, surface="native", native_search="platform", **options) as client:
            yield client, double


@asynccontextmanager
async def openai(crib: Crib, *script: Any, **options: Any) -> AsyncIterator[tuple[LlmClient, Double]]:
    double = Double(openai_responses_api.check, list(script))
    async with served(double, "/v1/responses"):
        provider = OpenAIProvider(LlmConfiguration("gpt-5.6", "key", f"{double.url}/v1"), max_retries=0)
        async with LlmClient(provider, crib, surface="native", native_search="platform", **options) as client:
            yield client, double


def finds_and_calls(arguments: dict[str, Any], call_id: str) -> Any:
    """Anthropic's platform searches for the tool, and its model calls it, in one turn."""

    def answered(body: dict[str, Any]) -> Any:
        found = anthropic_api.searched(body, "add")
        call = anthropic_api.call("local__add", arguments, call_id)
        return anthropic_api.answer(anthropic_api.text("Let me look."), *found, call, stop="tool_use")

    return answered


def loads_and_calls(arguments: dict[str, Any], call_id: str) -> Any:
    """OpenAI's platform loads the tools, and its model calls one, in one turn."""

    def answered(body: dict[str, Any]) -> Any:
        found = openai_responses_api.searched(body, "local__add")
        call = openai_responses_api.call("local__add", arguments, call_id, namespace="local")
        return openai_responses_api.answer(*found, call)

    return answered


@pytest.mark.parametrize("kind", ["bm25", "regex"])
async def test_anthropic_is_sent_its_own_search_tool_and_all_definitions(crib: Crib, kind: Any) -> None:
    hello = anthropic_api.answer(anthropic_api.text("hi"))
    async with anthropic(crib, hello, tool_search=kind) as (client, double):
        await client.chat("hi")
    search, *rest = double.bodies[0]["tools"]
    assert search == {
        "type": f"tool_search_tool_{kind}_20251119",
        "name": f"tool_search_tool_{kind}",
        "cache_control": {"type": "ephemeral"},
    }
    assert all(tool["defer_loading"] and tool["input_schema"]["type"] == "object" for tool in rest)


async def test_what_anthropic_found_goes_back_unchanged_and_is_called(crib: Crib, calls: list[Any]) -> None:
    answers = [finds_and_calls(GOOD, "toolu_1"), *map(_said, ("3", "bye"))]
    async with anthropic(crib, *answers) as (client, double):
        response = await client.chat("1 + 2?")
        loaded = Conversation.load(client.conversation.save())
        await client.chat("thanks", conversation=loaded)
    assert (response.text, response.rounds, calls) == ("3", 1, [("add", (1, 2))])
    assert [call.kind for call in response.tool_calls] == ["called"]
    turn = double.bodies[1]["messages"][1]["content"]
    assert turn[1:3] == anthropic_api.searched(double.bodies[0], "add")
    assert turn[2]["content"]["tool_references"] == [{"type": "tool_reference", "tool_name": "local__add"}]
    bare = [
        json.loads(json.dumps(body).replace(', "cache_control": {"type": "ephemeral"}', "")) for body in double.bodies
    ]
    for earlier, later in pairwise(bare):
        assert later["tools"] == earlier["tools"]
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"]


def _said(words: str) -> Any:
    return anthropic_api.answer(anthropic_api.text(words))


async def test_a_mistake_beside_anthropic_s_search_stays_since_the_found_tools_stand_on_it(
    crib: Crib, calls: list[Any]
) -> None:
    mended = anthropic_api.answer(anthropic_api.call("local__add", GOOD, "toolu_2"), stop="tool_use")
    async with anthropic(crib, finds_and_calls(WRONG, "toolu_1"), mended, _said("3")) as (client, double):
        await client.chat("1 + 2?")
    assert calls == [("add", (1, 2))]
    kinds = [block["type"] for message in double.bodies[2]["messages"] for block in message["content"]]
    assert kinds == [
        "text", "text", "server_tool_use", "tool_search_tool_result", "tool_use", "tool_result", "tool_use",
        "tool_result",
    ]  # fmt: skip


async def test_a_search_of_anthropic_s_that_finds_nothing_or_fails_goes_back_too(crib: Crib) -> None:
    def nothing(body: dict[str, Any]) -> Any:
        use, result = anthropic_api.searched(body, "nonsense")
        failed = {"type": "tool_search_tool_result_error", "error_code": "unavailable"}
        again = [{**use, "id": "srvtoolu_2"}, {**result, "tool_use_id": "srvtoolu_2", "content": failed}]
        return anthropic_api.answer(use, result, *again, anthropic_api.text("Nothing."))

    async with anthropic(crib, nothing, _said("bye")) as (client, double):
        assert (await client.chat("hm?")).text == "Nothing."
        await client.chat("bye")
    assert double.bodies[1]["messages"][1]["content"][1]["content"]["tool_references"] == []


async def test_a_platform_that_pauses_for_ever_is_not_asked_for_ever(crib: Crib) -> None:
    def paused(body: dict[str, Any]) -> Any:
        number = len(body["messages"])
        return anthropic_api.answer(*anthropic_api.searched(body, "add", number), stop="pause_turn")

    async with anthropic(crib, *[paused] * 20) as (client, double):
        double.check = lambda body, headers: None  # a paused turn is asked on with the assistant's message last
        response = await client.chat("search")
    assert (response.ended, len(double.bodies)) == ("rounds", 11)


async def test_openai_is_sent_its_own_search_tool_and_a_namespace_for_each_server(crib: Crib) -> None:
    crib.add_functions(_shout, server="voice", description="Says things.")
    async with openai(crib, openai_responses_api.answer(openai_responses_api.words("hi"))) as (client, double):
        await client.chat("hi")
    search, local, voice = double.bodies[0]["tools"]
    assert search == {"type": "tool_search"}
    assert (local["name"], local["description"]) == ("local", "Tools of local.")
    assert (voice["type"], voice["name"], voice["description"]) == ("namespace", "voice", "Says things.")
    assert all(tool["defer_loading"] and tool["strict"] is False for tool in (*local["tools"], *voice["tools"]))


def _shout(text: str) -> str:
    """Shout."""
    return text.upper()


async def test_what_openai_loaded_goes_back_unchanged_and_is_called_in_its_namespace(
    crib: Crib, calls: list[Any]
) -> None:
    answers = [loads_and_calls(GOOD, "call_1"), *map(_worded, ("3", "bye"))]
    async with openai(crib, *answers) as (client, double):
        response = await client.chat("1 + 2?")
        loaded = Conversation.load(client.conversation.save())
        await client.chat("thanks", conversation=loaded)
    assert (response.text, calls) == ("3", [("add", (1, 2))])
    _, call, output, used, result = double.bodies[1]["input"]
    assert (call["call_id"], output["call_id"]) == (None, None)
    assert [tool["name"] for tool in output["tools"][0]["tools"]] == ["local__add"]
    assert (used["namespace"], result["output"]) == ("local", "3")
    for earlier, later in pairwise(double.bodies):
        assert later["tools"] == earlier["tools"]
        assert later["input"][: len(earlier["input"])] == earlier["input"]


def _worded(words: str) -> Any:
    return openai_responses_api.answer(openai_responses_api.words(words))


async def test_a_mistake_beside_openai_s_search_stays_since_the_loaded_tools_stand_on_it(
    crib: Crib, calls: list[Any]
) -> None:
    mended = openai_responses_api.answer(openai_responses_api.call("local__add", GOOD, "call_2", namespace="local"))
    async with openai(crib, loads_and_calls(WRONG, "call_1"), mended, _worded("3")) as (client, double):
        await client.chat("1 + 2?")
    assert calls == [("add", (1, 2))]
    assert [item["type"] for item in double.bodies[2]["input"]] == [
        "message", "tool_search_call", "tool_search_output", "function_call", "function_call_output", "function_call",
        "function_call_output",
    ]  # fmt: skip


async def test_a_stream_tells_the_calls_and_not_the_platform_s_search(crib: Crib) -> None:
    async with anthropic(crib, finds_and_calls(GOOD, "toolu_1"), _said("3")) as (client, _):
        events = [type(event).__name__ async for event in client.stream("1 + 2?")]
    told = [name for place, name in enumerate(events) if name != "TextDelta" or events[place - 1] != "TextDelta"]
    assert told == ["TextDelta", "TurnEnded", "ToolStarted", "ToolEnded", "TextDelta", "TurnEnded", "ChatResponse"]


async def test_a_model_without_a_search_of_its_own_gets_the_constant_tools(crib: Crib) -> None:
    model = ScriptedProvider(["hi"], traits=Traits(200_000))
    client = LlmClient(model, crib, surface="native", native_search="platform")
    await client.chat("hi")
    assert client.conversation.surface == "search"
