"""Anthropic's Messages API: what goes over the wire, against a server that refuses what the API refuses."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("anthropic")

from doubles import anthropic_api as api
from doubles import anthropic_rules
from doubles.serving import Double, Refusal, served

from toolcrib import Crib
from toolcrib.llm import (
    BrokenAnswerError,
    ContextTooLongError,
    LlmClient,
    LlmConfiguration,
    Message,
    ProviderAuthError,
    ProviderBusyError,
    ProviderError,
    Request,
    ThinkingDelta,
    ToolResult,
    ToolUse,
    Usage,
)
from toolcrib.llm.providers.anthropic import AnthropicProvider

pytestmark = pytest.mark.anyio

GOOD = {"a": 1, "b": 2}


@asynccontextmanager
async def client_over(
    crib: Crib, *script: Any, model: str = "claude-sonnet-5", key: str = "key", **options: Any
) -> AsyncIterator[tuple[LlmClient, Double]]:
    double = Double(api.check, list(script))
    async with served(double, "/v1/messages"):
        provider = AnthropicProvider(LlmConfiguration(model, key, double.url), max_retries=0)
        async with LlmClient(provider, crib, **options) as client:
            yield client, double


async def test_a_call_and_its_answer_go_over_the_wire(crib: Crib, calls: list[Any]) -> None:
    script = [
        api.answer(api.text("Let me add."), api.call("local__add", GOOD, "toolu_1"), stop="tool_use"),
        api.answer(api.text("It is 3.")),
    ]
    async with client_over(crib, *script, system="Be brief.") as (client, double):
        response = await client.chat("1 + 2?")
    assert (response.text, calls) == ("It is 3.", [("add", (1, 2))])
    assert response.usage == Usage(input=20, output=14)
    assert double.bodies[1]["messages"][1:] == [
        {"role": "assistant", "content": [api.text("Let me add."), api.call("local__add", GOOD, "toolu_1")]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [{"type": "text", "text": "3"}],
                    "cache_control": {"type": "ephemeral"},
                }
            ],
        },
    ]


@pytest.mark.parametrize("surface", ["all", "deferred", "search", "native"])
async def test_every_surface_is_accepted_with_a_mistake_and_its_repair(
    crib: Crib, calls: list[Any], surface: Any
) -> None:
    name, wrap = ("call_tool", True) if surface == "search" else ("local__add", False)

    def call(arguments: dict[str, Any], call_id: str) -> Any:
        given = {"name": "local.add", "arguments": arguments} if wrap else arguments
        return api.answer(api.call(name, given, call_id), stop="tool_use")

    script = [call({"a": "x"}, "toolu_1"), call(GOOD, "toolu_2"), api.answer(api.text("3"))]
    async with client_over(crib, *script, surface=surface) as (client, double):
        assert (await client.chat("1 + 2?")).text == "3"
    assert calls == [("add", (1, 2))]
    assert len(double.bodies[2]["messages"]) == 3


async def test_our_search_refers_to_tools_that_the_api_holds_back(crib: Crib, calls: list[Any]) -> None:
    script = [
        api.answer(api.call("search_tools", {"query": "add whole numbers"}, "toolu_1"), stop="tool_use"),
        api.answer(api.call("local__add", GOOD, "toolu_2"), stop="tool_use"),
        api.answer(api.text("3")),
    ]
    async with client_over(crib, *script, surface="native") as (client, double):
        await client.chat("1 + 2?")
    result = double.bodies[1]["messages"][2]["content"][0]
    assert result["content"][1] == {"type": "tool_reference", "tool_name": "local__add"}
    assert [tool.get("defer_loading", False) for tool in double.bodies[0]["tools"]] == [False, True, True, True, True]
    assert calls == [("add", (1, 2))]


async def test_reasoning_goes_back_unchanged_and_keeps_a_failed_call_in_its_place(crib: Crib) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    script = [
        api.answer(thought, api.call("local__add", {"a": "x"}, "toolu_1"), stop="tool_use"),
        api.answer(api.call("local__add", GOOD, "toolu_2"), stop="tool_use"),
        api.answer(api.text("3")),
    ]
    async with client_over(crib, *script) as (client, double):
        events = [event async for event in client.stream("1 + 2?")]
    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["hm"]
    assert double.bodies[2]["messages"][1]["content"][0] == thought
    assert double.bodies[2]["messages"][2]["content"][0]["is_error"] is True


async def test_reasoning_that_is_bound_to_what_precedes_it_is_accepted_whatever_comes(crib: Crib) -> None:
    """Some models refuse reasoning once system, tools or earlier messages have changed."""

    def thinks(*blocks: Any, stop: str = "end_turn") -> Any:
        def step(body: dict[str, Any]) -> Any:
            signed = anthropic_rules.signature(body, "hm")
            return api.answer({"type": "thinking", "thinking": "hm", "signature": signed}, *blocks, stop=stop)

        return step

    script = [
        thinks(api.call("local__add", {"a": "x"}, "toolu_1"), stop="tool_use"),
        thinks(api.call("local__add", GOOD, "toolu_2"), stop="tool_use"),
        thinks(api.text("3")),
        thinks(api.call("local__ping", {}, "toolu_3"), stop="tool_use"),
        thinks(api.text("pong")),
    ]

    def late() -> str:
        """Come later."""
        return "late"

    async with client_over(crib, *script, surface="deferred") as (client, double):
        await client.chat("1 + 2?")
        crib.add_functions(late, server="later")
        assert (await client.chat("ping")).text == "pong"
    assert len(double.bodies) == len(script)


async def test_requests_begin_with_the_last_one_save_for_cache_marks(crib: Crib) -> None:
    script = [
        api.answer(api.call("local__add", GOOD, "toolu_1"), stop="tool_use"),
        api.answer(api.text("3")),
        api.answer(api.text("bye")),
    ]
    async with client_over(crib, *script) as (client, double):
        await client.chat("1 + 2?")
        await client.chat("thanks")
    bare = [
        json.loads(json.dumps(body).replace(', "cache_control": {"type": "ephemeral"}', "")) for body in double.bodies
    ]
    for earlier, later in pairwise(bare):
        assert later["tools"] == earlier["tools"]
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"]


def test_images_go_as_images() -> None:
    provider = AnthropicProvider(LlmConfiguration("claude-sonnet-5", "key", "http://localhost:1"))
    image = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    sound = {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}
    messages = (
        Message("assistant", (ToolUse("c 1", "x.y", {}),)),
        Message("user", (ToolResult("c 1", "x.y", (image, sound)),)),
    )
    body = provider.payload(Request(messages))
    assert body["messages"][0]["content"][0]["name"] == "x_y"
    result = body["messages"][1]["content"][0]
    assert result["tool_use_id"] == body["messages"][0]["content"][0]["id"] == "c_1"
    assert result["content"][0]["source"] == {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert result["content"][1]["text"] == "[audio: audio/wav, 3 bytes, not shown]"


async def test_a_stream_that_is_cut_runs_nothing(crib: Crib, calls: list[Any]) -> None:
    whole = api.answer(api.call("local__add", GOOD, "toolu_1"), stop="tool_use")
    cuts = [whole[:cut] for cut in range(1, len(whole) - 2)]
    async with client_over(crib, *cuts) as (client, _):
        for _ in cuts:
            with pytest.raises(BrokenAnswerError):
                await client.chat("1 + 2?")
    assert calls == []


async def test_arguments_that_are_no_json_are_answered_with_the_schema(crib: Crib, calls: list[Any]) -> None:
    script = [
        api.answer(api.call("local__add", {}, "toolu_1", raw='{"a": 1, "b"'), stop="tool_use"),
        api.answer(api.text("I give up")),
    ]
    async with client_over(crib, *script) as (client, double):
        await client.chat("1 + 2?")
    assert double.bodies[1]["messages"][1]["content"][0]["input"] == {"INVALID_JSON": '{"a": 1, "b"'}
    assert calls == []


async def test_stop_reasons(crib: Crib, calls: list[Any]) -> None:
    async with client_over(
        crib, api.answer(api.call("local__add", GOOD, "toolu_1"), stop="max_tokens"), api.answer(stop="refusal")
    ) as (client, _):
        assert (await client.chat("1 + 2?")).ended == "length"
        refused = await client.chat("again")
        assert (refused.ended, refused.detail) == ("refused", "no")
    paused = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    async with client_over(crib, api.answer(paused, stop="pause_turn"), api.answer(api.text("done"))) as (
        client,
        double,
    ):
        double.check = lambda body, headers: None
        assert (await client.chat("search")).text == "done"
        assert double.bodies[1]["messages"][1]["content"][0]["id"] == "srvtoolu_1"
    assert calls == []


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.mark.parametrize(
    ("answer", "raised", "wait"),
    [
        (api.refuse("slow down", "rate_limit_error", 429, retry_after="7"), ProviderBusyError, 7.0),
        (api.refuse("slow down", "rate_limit_error", 429), ProviderBusyError, None),
        (api.refuse("Overloaded", "overloaded_error", 529), ProviderBusyError, None),
        (api.refuse("oops", "api_error", 500), ProviderBusyError, None),
        (api.refuse("no", "permission_error", 403), ProviderAuthError, None),
        (api.refuse("prompt is too long: 210000 tokens > 200000 maximum"), ContextTooLongError, None),
        (api.refuse("model: nothing", "not_found_error", 404), ProviderError, None),
        (Refusal(502, "<html>Bad gateway</html>"), ProviderError, None),
        ([api.answer()[0], OVERLOADED], ProviderBusyError, None),
    ],
)
async def test_refusals_and_failures_are_told_apart(crib: Crib, answer: Any, raised: Any, wait: float | None) -> None:
    async with client_over(crib, answer) as (client, _):
        with pytest.raises(raised) as caught:
            await client.chat("hi")
        assert type(caught.value) is raised
        assert caught.value.retry_after == wait
        assert client.conversation.messages == ()


async def test_a_wrong_key_is_said_without_the_key(crib: Crib) -> None:
    async with client_over(crib, key="wrong-secret") as (client, _):
        with pytest.raises(ProviderAuthError) as caught:
            await client.chat("hi")
    assert "wrong-secret" not in str(caught.value)


async def test_a_server_that_is_not_there(crib: Crib) -> None:
    provider = AnthropicProvider(LlmConfiguration("claude-sonnet-5", "key", "http://127.0.0.1:9"), max_retries=0)
    with pytest.raises(ProviderError, match="can't be reached"):
        await LlmClient(provider, crib).chat("hi")
