"""Chat completions: what goes over the wire, against OpenAI's rules and the ways of other servers."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("openai")

from doubles import openai_chat_api as api
from doubles.openai_rules import refuse
from doubles.serving import Double, Refusal, served

from toolcrib import Crib
from toolcrib.llm import (
    BrokenAnswerError,
    ContextTooLongError,
    LlmClient,
    LlmConfiguration,
    ProviderAuthError,
    ProviderBusyError,
    ProviderError,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from toolcrib.llm.providers.openai_chat import ChatProvider

pytestmark = pytest.mark.anyio

GOOD = {"a": 1, "b": 2}
ADD = ("local__add", GOOD, "call_1")


@asynccontextmanager
async def client_over(
    crib: Crib, *script: Any, key: str = "key", **options: Any
) -> AsyncIterator[tuple[LlmClient, Double]]:
    double = Double(api.check, list(script))
    async with served(double, "/v1/chat/completions"):
        provider = ChatProvider(LlmConfiguration("m", key, f"{double.url}/v1"), max_retries=0)
        async with LlmClient(provider, crib, **options) as client:
            yield client, double


async def test_a_call_and_its_answer_go_over_the_wire(crib: Crib, calls: list[Any]) -> None:
    async with client_over(crib, api.answer("", ADD), api.answer("It is 3."), system="Be brief.") as (client, double):
        response = await client.chat("1 + 2?")
    assert (response.text, calls) == ("It is 3.", [("add", (1, 2))])
    assert response.usage == Usage(20, 14, cache_read=8)
    system, question, turn, result = double.bodies[1]["messages"]
    assert (system, question) == ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "1 + 2?"})
    assert (turn["content"], turn["tool_calls"][0]["function"]) == (
        "",
        {"name": "local__add", "arguments": '{"a":1,"b":2}'},
    )
    assert result == {"role": "tool", "tool_call_id": turn["tool_calls"][0]["id"], "content": "3"}


@pytest.mark.parametrize("surface", ["all", "deferred", "search"])
async def test_every_surface_is_accepted_with_a_mistake_and_its_repair(
    crib: Crib, calls: list[Any], surface: Any
) -> None:
    def call(arguments: dict[str, Any]) -> Any:
        if surface == "search":
            return api.answer("", ("call_tool", {"name": "local.add", "arguments": arguments}, "call_1"))
        return api.answer("", ("local__add", arguments, "call_1"))

    async with client_over(crib, call({"a": "x"}), call(GOOD), api.answer("3"), surface=surface) as (client, double):
        assert (await client.chat("1 + 2?")).text == "3"
    assert calls == [("add", (1, 2))]
    assert len(double.bodies[2]["messages"]) == 3


WAYS = {
    "whole": api.Ways(whole=True),
    "as an object": api.Ways(as_object=True),
    "twice in a text": api.Ways(twice=True),
    "without ids": api.Ways(no_ids=True),
    "with one id for all": api.Ways(one_id=True),
    "without an index": api.Ways(no_index=True),
    "with a prefix": api.Ways(prefix="functions."),
    "ended with stop": api.Ways(stop="stop", usage=False),
}


@pytest.mark.parametrize("ways", WAYS.values(), ids=WAYS.keys())
async def test_the_ways_of_other_servers_are_understood(crib: Crib, calls: list[Any], ways: api.Ways) -> None:
    first = api.answer("", ADD, ("local__ping", {}, "call_2"), ways=ways)
    again = api.answer("", ("local__ping", {}, "call_1"), ways=ways)
    async with client_over(crib, first, again, api.answer("done"), max_tool_rounds=2) as (client, double):
        assert (await client.chat("add and ping, then ping")).text == "done"
    # The calls of one turn run side by side.
    assert sorted(calls[:2]) == [("add", (1, 2)), ("ping", None)]
    assert calls[2:] == [("ping", None)]
    ids = [call["id"] for message in double.bodies[2]["messages"] for call in message.get("tool_calls", [])]
    assert len(set(ids)) == 3


WRITTEN = {
    "bare": '{"name": "local__add", "arguments": {"a": 1, "b": 2}}',
    "fenced": '```json\n{"name": "local__add", "parameters": {"a": 1, "b": 2}}\n```',
    "in tags": ' <tool_call>\n{"name": "local__add", "arguments": "{\\"a\\": 1, \\"b\\": 2}"}\n</tool_call>',
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN.keys())
async def test_a_call_that_a_model_wrote_as_words_is_a_call(crib: Crib, calls: list[Any], written: str) -> None:
    """As Qwen2.5-Coder writes it under llama.cpp, whose reader wants another form of it."""
    async with client_over(crib, api.answer(written), api.answer("3")) as (client, double):
        events = [event async for event in client.stream("1 + 2?")]
    assert calls == [("add", (1, 2))]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["3"]
    assert double.bodies[1]["messages"][1]["tool_calls"][0]["function"]["name"] == "local__add"


@pytest.mark.parametrize(
    "words",
    [
        '{"name": "Ann"}',
        '{"name": "local__add", "arguments": {}, "b": 1}',
        '{"name": "sine", "parameters": {"amplitude": 2}}',
        '{"name": "Dr. Who", "arguments": []}',
        "{ is a brace",
        "```\nls\n```",
        "[1]",
    ],
)
async def test_other_words_that_begin_like_a_call_are_an_answer(crib: Crib, calls: list[Any], words: str) -> None:
    async with client_over(crib, api.answer(words)) as (client, _):
        response = await client.chat("say it")
    assert (response.text, response.tool_calls, calls) == (words, (), [])


async def test_members_that_only_the_server_understands_go_back_to_it(crib: Crib) -> None:
    first = api.answer("", ADD, reasoning_content="hm", odd={"x": 1})
    signature = {"google": {"thought_signature": "sig"}}
    first[1]["choices"][0]["delta"]["tool_calls"][0]["extra_content"] = signature
    async with client_over(crib, first, api.answer("3")) as (client, double):
        events = [event async for event in client.stream("1 + 2?")]
    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["hm"]
    turn = double.bodies[1]["messages"][1]
    assert (turn["reasoning_content"], turn["odd"]) == ("hm", {"x": 1})
    assert turn["tool_calls"][0]["extra_content"] == signature


async def test_a_server_that_ignores_the_choice_of_tools_does_not_run_more(crib: Crib, calls: list[Any]) -> None:
    async with client_over(crib, api.answer("", ADD), api.answer("and", ADD)) as (client, double):
        response = await client.chat("1 + 2?")
    assert double.bodies[1]["tool_choice"] == "none"
    assert (response.ended, response.text, len(calls)) == ("rounds", "and", 1)


async def test_requests_begin_with_the_last_one(crib: Crib) -> None:
    async with client_over(crib, api.answer("", ADD), api.answer("3"), api.answer("bye")) as (client, double):
        await client.chat("1 + 2?")
        await client.chat("thanks")
    for earlier, later in pairwise(double.bodies):
        assert later["tools"] == earlier["tools"]
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"]


async def test_a_stream_that_is_cut_runs_nothing(crib: Crib, calls: list[Any]) -> None:
    whole = api.answer("", ADD)
    cuts = [whole[:cut] for cut in range(1, len(whole) - 3)]
    async with client_over(crib, *cuts) as (client, _):
        for _ in cuts:
            with pytest.raises(BrokenAnswerError):
                await client.chat("1 + 2?")
    assert calls == []


@pytest.mark.parametrize("written", ['{"a": 1', "[1]", "3", '{"a": 1}{"b": 2}'])
async def test_arguments_that_are_no_object_are_answered_with_the_schema(
    crib: Crib, calls: list[Any], written: str
) -> None:
    async with client_over(crib, api.answer("", ("local__add", written, "call_1")), api.answer("no")) as (
        client,
        double,
    ):
        await client.chat("1 + 2?")
    assert "must be one JSON object" in double.bodies[1]["messages"][2]["content"]
    assert calls == []


async def test_a_refusal_of_the_model_is_told(crib: Crib) -> None:
    async with client_over(crib, api.answer("", refusal="I won't.")) as (client, _):
        response = await client.chat("do harm")
    assert (response.ended, response.detail) == ("refused", "I won't.")


@pytest.mark.parametrize(
    ("answer", "raised", "wait"),
    [
        (refuse("Rate limit", "rate_limit_exceeded", status=429, retry_after="7"), ProviderBusyError, 7.0),
        (refuse("Rate limit", "rate_limit_exceeded", status=429, retry_after_ms="500"), ProviderBusyError, 0.5),
        (refuse("You exceeded your current quota", "insufficient_quota", status=429), ProviderError, None),
        (
            refuse("This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
            ContextTooLongError,
            None,
        ),
        (
            refuse("the request exceeds the available context size", "exceed_context_size_error"),
            ContextTooLongError,
            None,
        ),
        (Refusal(500, "<html>oops</html>"), ProviderBusyError, None),
        (Refusal(400, {"error": "registry.example/m does not support tools"}), ProviderError, None),
    ],
)
async def test_refusals_and_failures_are_told_apart(crib: Crib, answer: Any, raised: Any, wait: float | None) -> None:
    async with client_over(crib, answer) as (client, _):
        with pytest.raises(raised) as caught:
            await client.chat("hi")
        assert type(caught.value) is raised
        assert caught.value.retry_after == wait


async def test_a_wrong_key_is_said_without_the_key(crib: Crib) -> None:
    async with client_over(crib, key="wrong-secret") as (client, _):
        with pytest.raises(ProviderAuthError) as caught:
            await client.chat("hi")
    assert "wrong-secret" not in str(caught.value)


TOOL: dict[str, Any] = {"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}
CALL = {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
BODY: dict[str, Any] = {
    "model": "m",
    "tools": [TOOL],
    "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ],
}
RULES: list[tuple[Any, str]] = [
    (lambda body: body.update(odd=1), "Unrecognized request argument"),
    (lambda body: body.update(tools=[]), "too short"),
    (lambda body: body.update(tools=[TOOL] * 129), "maximum length 128"),
    (lambda body: body["tools"].append(TOOL), "unique"),
    (lambda body: (body.pop("tools"), body.update(tool_choice="auto")), "only allowed when"),
    (lambda body: body["tools"][0]["function"].update(name="a.b"), "does not match pattern"),
    (lambda body: body["tools"][0]["function"].update(name="a" * 65), "too long"),
    (lambda body: body["tools"][0]["function"].update(parameters={}), "JSON Schema of 'type"),
    (lambda body: body["tools"][0]["function"]["parameters"].update(anyOf=[]), "at the top level"),
    (lambda body: body["tools"][0]["function"]["parameters"].update(required=["x"]), "Extra required key"),
    (
        lambda body: body["tools"][0]["function"]["parameters"].update(properties={"a": {"type": "array"}}),
        "array schema missing items",
    ),
    (lambda body: body["messages"].pop(), "did not have response messages"),
    (lambda body: body["messages"].insert(2, {"role": "user", "content": "x"}), "did not have response messages"),
    (lambda body: body["messages"].pop(1), "must be a response to a preceeding"),
    (lambda body: body["messages"][1].pop("tool_calls"), "expected a string, got null"),
    (lambda body: body["messages"][1]["tool_calls"][0].update(id="c" * 41), "too long"),
    (
        lambda body: body["messages"][1]["tool_calls"][0]["function"].update(arguments="[]"),
        "invalid tool call arguments",
    ),
    (lambda body: body["messages"][2].update(content=[{"type": "image_url"}]), "tool content"),
    (lambda body: body["messages"][0].update(role="robot"), "Invalid value"),
    (lambda body: body["messages"][0].update(content=""), "Invalid content"),
    (lambda body: body["messages"][0].update(content="x" * 600_000), "maximum context length"),
]


@pytest.mark.parametrize(
    ("change", "message"), RULES, ids=[f"{place}-{rule[1][:30]}" for place, rule in enumerate(RULES)]
)
def test_the_double_refuses_what_the_api_refuses(change: Any, message: str) -> None:
    body = json.loads(json.dumps(BODY))
    api.check_body(body)
    change(body)
    with pytest.raises(Refusal) as caught:
        api.check_body(body)
    assert message in caught.value.body["error"]["message"]
