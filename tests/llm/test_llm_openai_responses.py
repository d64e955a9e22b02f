"""The Responses API: what goes over the wire, against a server that refuses what the API refuses."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("openai")

from doubles import openai_responses_api as api
from doubles.openai_rules import refuse
from doubles.serving import Double, Refusal, served

from toolcrib import Crib
from toolcrib.llm import (
    BrokenAnswerError,
    ContextTooLongError,
    LlmClient,
    LlmConfiguration,
    ProviderBusyError,
    ProviderError,
    Usage,
)
from toolcrib.llm.providers.openai_responses import OpenAIProvider

pytestmark = pytest.mark.anyio

GOOD = {"a": 1, "b": 2}


@asynccontextmanager
async def client_over(
    crib: Crib, *script: Any, model: str = "gpt-5.6", **options: Any
) -> AsyncIterator[tuple[LlmClient, Double]]:
    double = Double(api.check, list(script))
    async with served(double, "/v1/responses"):
        provider = OpenAIProvider(LlmConfiguration(model, "key", f"{double.url}/v1"), max_retries=0)
        async with LlmClient(provider, crib, **options) as client:
            yield client, double


async def test_a_call_and_its_answer_go_over_the_wire(crib: Crib, calls: list[Any]) -> None:
    script = [api.answer(api.call("local__add", GOOD, "call_1")), api.answer(api.words("It is 3."))]
    async with client_over(crib, *script, system="Be brief.") as (client, double):
        response = await client.chat("1 + 2?")
    assert (response.text, calls) == ("It is 3.", [("add", (1, 2))])
    assert response.usage == Usage(20, 14, cache_read=8, cache_write=4)
    body = double.bodies[1]
    assert (body["instructions"], body["store"]) == ("Be brief.", False)
    assert all(tool["strict"] is False for tool in body["tools"])
    assert body["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "1 + 2?"}]},
        {"type": "function_call", "call_id": "call_1", "name": "local__add", "arguments": '{"a":1,"b":2}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "3"},
    ]


@pytest.mark.parametrize("surface", ["all", "deferred", "search", "native"])
async def test_every_surface_is_accepted_with_a_mistake_and_its_repair(
    crib: Crib, calls: list[Any], surface: Any
) -> None:
    def call(arguments: dict[str, Any], call_id: str) -> Any:
        if surface == "search":
            return api.answer(api.call("call_tool", {"name": "local.add", "arguments": arguments}, call_id))
        return api.answer(api.call("local__add", arguments, call_id))

    script = [call({"a": "x"}, "call_1"), call(GOOD, "call_2"), api.answer(api.words("3"))]
    async with client_over(crib, *script, surface=surface) as (client, double):
        assert (await client.chat("1 + 2?")).text == "3"
    assert calls == [("add", (1, 2))]
    assert len(double.bodies[2]["input"]) == 3


async def test_our_search_brings_the_definitions_that_were_held_back(crib: Crib, calls: list[Any]) -> None:
    script = [
        api.answer(api.search("add whole numbers", "call_1")),
        api.answer(api.call("local__add", GOOD, "call_2")),
        api.answer(api.words("3")),
    ]
    async with client_over(crib, *script, surface="native") as (client, double):
        await client.chat("1 + 2?")
    assert [tool["type"] for tool in double.bodies[0]["tools"]] == ["tool_search"]
    found = double.bodies[1]["input"][2]
    assert (found["type"], found["call_id"], found["execution"]) == ("tool_search_output", "call_1", "client")
    assert found["tools"][0]["name"] == "local__add"
    assert found["tools"][0]["parameters"] == crib.registry.tool("local.add").input_schema
    assert calls == [("add", (1, 2))]


async def test_a_model_that_cannot_search_falls_back_to_the_constant_tools(crib: Crib) -> None:
    async with client_over(crib, api.answer(api.words("hi")), model="gpt-4.1", surface="native") as (client, _):
        await client.chat("hi")
    assert client.conversation.surface == "search"


async def test_reasoning_and_phases_go_back_in_their_places(crib: Crib, calls: list[Any]) -> None:
    spoken = api.words("Let me add.", phase="commentary")
    script = [
        api.answer(api.reasoning("1"), spoken, api.call("local__add", {"a": "x"}, "call_1", id="fc_r1", namespace="n")),
        api.answer(api.reasoning("2"), api.call("local__add", GOOD, "call_2", id="fc_r2")),
        api.answer(api.words("3")),
        api.answer(api.words("bye")),
    ]
    async with client_over(crib, *script) as (client, double):
        assert (await client.chat("1 + 2?")).text == "3"
        await client.chat("thanks")
    first = double.bodies[1]["input"]
    assert [item["type"] for item in first] == [
        "message",
        "reasoning",
        "message",
        "function_call",
        "function_call_output",
    ]
    assert (first[2]["phase"], first[3]["id"], first[3]["namespace"]) == ("commentary", "fc_r1", "n")
    # Reasoning is tied to what follows it, so that the failed call stays.
    assert [item["type"] for item in double.bodies[2]["input"]][3:5] == ["function_call", "function_call_output"]
    for earlier, later in pairwise(double.bodies):
        assert later["input"][: len(earlier["input"])] == earlier["input"]
    assert calls == [("add", (1, 2))]


async def test_a_stream_that_is_cut_runs_nothing(crib: Crib, calls: list[Any]) -> None:
    whole = api.answer(api.call("local__add", GOOD, "call_1"))
    cuts = [whole[:cut] for cut in range(1, len(whole))]
    async with client_over(crib, *cuts) as (client, _):
        for _ in cuts:
            with pytest.raises(BrokenAnswerError):
                await client.chat("1 + 2?")
    assert calls == []


async def test_endings(crib: Crib, calls: list[Any]) -> None:
    refusal = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "refusal", "refusal": "No."}],
    }
    script = [
        api.answer(api.call("local__add", GOOD, "call_1"), status="incomplete", reason="max_output_tokens"),
        api.answer(api.words("x"), status="incomplete", reason="content_filter"),
        api.answer(refusal),
    ]
    async with client_over(crib, *script) as (client, _):
        assert (await client.chat("1 + 2?")).ended == "length"
        assert (await client.chat("1 + 2?")).ended == "refused"
        assert (await client.chat("1 + 2?")).detail == "No."
    assert calls == []


@pytest.mark.parametrize(
    ("answer", "raised"),
    [
        (refuse("Slow Down", "slow_down", status=503), ProviderBusyError),
        (
            refuse("Your input exceeds the context window of this model.", "context_length_exceeded"),
            ContextTooLongError,
        ),
        (api.failed("Your input exceeds the context window", "context_length_exceeded"), ContextTooLongError),
        (api.failed("oops", "server_error"), ProviderBusyError),
        (api.failed("oops", "invalid_prompt"), ProviderError),
    ],
)
async def test_refusals_and_failures_are_told_apart(crib: Crib, answer: Any, raised: Any) -> None:
    async with client_over(crib, answer) as (client, _):
        with pytest.raises(raised) as caught:
            await client.chat("hi")
        assert type(caught.value) is raised


TOOL: dict[str, Any] = {"type": "function", "name": "t", "parameters": {"type": "object"}, "strict": False}
SEARCH: dict[str, Any] = {"type": "tool_search", "execution": "client", "parameters": {"type": "object"}}
SPACE: dict[str, Any] = {"type": "namespace", "name": "s", "description": "About.", "tools": [TOOL]}
HOSTED = {"type": "tool_search_call", "execution": "server", "call_id": None, "arguments": {"paths": ["s"]}}
BODY: dict[str, Any] = {
    "model": "gpt-5.6",
    "tools": [TOOL, SEARCH],
    "input": [
        {"type": "message", "role": "user", "content": []},
        api.reasoning("1"),
        api.call("t", {}, "c1", id="fc_r1"),
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        api.search("x", "c2"),
        {"type": "tool_search_output", "call_id": "c2", "execution": "client", "tools": [TOOL]},
    ],
}
RULES: list[tuple[Any, str]] = [
    (lambda body: body.update(odd=1), "Unknown parameter"),
    (lambda body: body["tools"].append(TOOL), "unique"),
    (lambda body: body["tools"][0].pop("strict"), "strict: false"),
    (lambda body: body["tools"][0].update(name="a.b"), "does not match pattern"),
    (lambda body: body["tools"][0]["parameters"].update(oneOf=[]), "at the top level"),
    (lambda body: body["tools"][0]["parameters"].pop("type"), "JSON Schema of 'type"),
    (lambda body: (body["tools"].pop(), body["tools"][0].update(defer_loading=True)), "need a tool_search"),
    (lambda body: body["input"].pop(), "No tool output found"),
    (lambda body: body["input"].pop(3), "No tool output found"),
    (lambda body: body.update(input=body["input"][:2]), "provided without its required following item"),
    (lambda body: body["input"].pop(1), "without its required 'reasoning' item"),
    (lambda body: body["input"].insert(2, body["input"].pop(3)), "No tool call found"),
    (lambda body: body["input"].append(body["input"][3]), "No tool call found"),
    (lambda body: body["input"][2].update(id="call_1"), "begins with 'fc'"),
    (lambda body: body["input"].insert(0, body["input"][1]), "Duplicate item"),
    (lambda body: body["input"][2].update(arguments={}), "expected a string"),
    (lambda body: body["input"][2].update(name="a.b"), "Invalid 'input[2].name'"),
    (lambda body: body["input"][0].update(type="robot"), "Invalid value"),
    (lambda body: body["tools"].pop(), "without a tool_search tool"),
    (lambda body: body["tools"].append({"type": "tool_search", "parameters": {}}), "takes no parameters"),
    (lambda body: body["tools"].append({**SPACE, "description": ""}), "description"),
    (lambda body: body["tools"].append({**SPACE, "tools": [TOOL, TOOL]}), "unique"),
    (lambda body: body["tools"].__setitem__(0, SPACE), "Missing namespace"),
    (lambda body: (body.update(input=[]), body.update(tools=[SPACE])), "need a tool_search"),
    (lambda body: body["input"].append({**HOSTED, "call_id": "c9"}), "expected null"),
    (lambda body: body["input"].append({key: HOSTED[key] for key in HOSTED if key != "call_id"}), "expected null"),
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
