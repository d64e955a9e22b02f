"""Gemini's generateContent: what goes over the wire, against a server that refuses what the API refuses."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("google.genai")

from doubles import gemini_api as api
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
from toolcrib.llm.messages import user
from toolcrib.llm.providers.gemini import GeminiProvider

pytestmark = pytest.mark.anyio

GOOD = {"a": 1, "b": 2}
MODEL = "gemini-3.7-flash"


@asynccontextmanager
async def client_over(
    crib: Crib, *script: Any, key: str = "key", **options: Any
) -> AsyncIterator[tuple[LlmClient, Double]]:
    double = Double(api.check, list(script))
    async with (
        served(double, "/{version}/models/{model}:streamGenerateContent"),
        LlmClient(GeminiProvider(LlmConfiguration(MODEL, key, double.url)), crib, **options) as client,
    ):
        yield client, double


async def test_a_call_and_its_answer_go_over_the_wire(crib: Crib, calls: list[Any]) -> None:
    script = [
        api.answer({"text": "Let me add."}, api.call("local__add", GOOD)),
        api.answer({"text": "It "}, {"text": "is 3."}),
    ]
    async with client_over(crib, *script, system="Be brief.") as (client, double):
        response = await client.chat("1 + 2?")
    assert (response.text, calls) == ("It is 3.", [("add", (1, 2))])
    assert response.usage == Usage(20, 14, cache_read=8)
    body = double.bodies[1]
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "1 + 2?"}]},
        {"role": "model", "parts": [{"text": "Let me add."}, api.call("local__add", GOOD)]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "fc1", "name": "local__add", "response": {"output": "3"}}}],
        },
    ]


@pytest.mark.parametrize("surface", ["all", "deferred", "search"])
async def test_every_surface_is_accepted_with_a_mistake_and_its_repair(
    crib: Crib, calls: list[Any], surface: Any
) -> None:
    def call(arguments: dict[str, Any], call_id: str) -> Any:
        if surface == "search":
            return api.answer(api.call("call_tool", {"name": "local.add", "arguments": arguments}, call_id))
        return api.answer(api.call("local__add", arguments, call_id))

    script = [call({"a": "x"}, "fc1"), call(GOOD, "fc2"), api.answer({"text": "3"})]
    async with client_over(crib, *script, surface=surface) as (client, double):
        assert (await client.chat("1 + 2?")).text == "3"
    assert calls == [("add", (1, 2))]
    assert len(double.bodies[2]["contents"]) == 3


async def test_calls_without_ids_and_several_in_one_turn(crib: Crib, calls: list[Any]) -> None:
    first = api.answer(api.call("local__add", GOOD, None), api.call("local__ping", {}, None, None))
    async with client_over(crib, first, api.answer({"text": "done"})) as (client, double):
        assert (await client.chat("both")).text == "done"
    _, turn, results = double.bodies[1]["contents"]
    assert [part["functionResponse"]["name"] for part in results["parts"]] == ["local__add", "local__ping"]
    assert "id" not in results["parts"][0]["functionResponse"]
    assert ["thoughtSignature" in part for part in turn["parts"]] == [True, False]
    assert len(calls) == 2


async def test_signed_parts_go_back_as_they_came(crib: Crib) -> None:
    thought = {"text": "hm", "thought": True}
    script = [
        api.answer(thought, {"text": "one "}, {"text": "two"}, {"text": "", "thoughtSignature": "ZW5k"}),
        api.answer({"text": "bye"}),
    ]
    async with client_over(crib, *script) as (client, double):
        events = [event async for event in client.stream("hi")]
        await client.chat("thanks")
    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["hm"]
    assert double.bodies[1]["contents"][1]["parts"] == [
        thought,
        {"text": "one two"},
        {"text": "", "thoughtSignature": "ZW5k"},
    ]
    for earlier, later in pairwise(double.bodies):
        assert later["contents"][: len(earlier["contents"])] == earlier["contents"]


def test_a_call_of_another_vendor_s_model_gets_what_stands_for_a_signature() -> None:
    messages = (
        user("hi"),
        Message("assistant", (ToolUse("c1", "a.b", {}),)),
        Message(
            "user", (ToolResult("c1", "a.b", ({"type": "image", "mimeType": "image/png", "data": "AAAA"},), True),)
        ),
    )
    body = GeminiProvider(LlmConfiguration(MODEL, "key")).payload(Request(messages))
    api.check_body(body)
    response = body["contents"][2]["parts"][0]["functionResponse"]
    assert response["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]
    assert "error" in response["response"]


async def test_a_malformed_call_is_asked_for_once_more(crib: Crib, calls: list[Any]) -> None:
    bad = api.answer(finish="MALFORMED_FUNCTION_CALL")
    async with client_over(
        crib, bad, api.answer(api.call("local__add", GOOD)), api.answer({"text": "3"}), bad, bad
    ) as (client, _):
        assert (await client.chat("1 + 2?")).text == "3"
        with pytest.raises(BrokenAnswerError, match="can't be read"):
            await client.chat("again")
    assert calls == [("add", (1, 2))]


async def test_a_stream_that_is_cut_runs_nothing(crib: Crib, calls: list[Any]) -> None:
    async with client_over(crib, api.answer(api.call("local__add", GOOD), finish=None)) as (client, _):
        with pytest.raises(BrokenAnswerError):
            await client.chat("1 + 2?")
    assert calls == []


@pytest.mark.filterwarnings("ignore:NOBODY_KNOWS_THIS_ONE")  # of the SDK, which passes it on
async def test_endings(crib: Crib, calls: list[Any]) -> None:
    script = [
        api.answer(api.call("local__add", GOOD), finish="MAX_TOKENS"),
        api.answer(finish="SAFETY"),
        api.answer(finish="NOBODY_KNOWS_THIS_ONE"),
        [{"promptFeedback": {"blockReason": "SAFETY"}}],
    ]
    async with client_over(crib, *script) as (client, _):
        assert (await client.chat("1 + 2?")).ended == "length"
        assert (await client.chat("x")).detail == "SAFETY"
        assert (await client.chat("x")).ended == "refused"
        assert (await client.chat("x")).detail == "SAFETY"
    assert calls == []


DELAY = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]


@pytest.mark.parametrize(
    ("answer", "raised", "wait"),
    [
        (api.refuse("quota", 429, "RESOURCE_EXHAUSTED", DELAY), ProviderBusyError, 34.0),
        (api.refuse("pay first", 402, "RESOURCE_EXHAUSTED"), ProviderError, None),
        (api.refuse("busy", 503, "UNAVAILABLE"), ProviderBusyError, None),
        (
            api.refuse("The input token count exceeds the maximum number of tokens allowed 1048576."),
            ContextTooLongError,
            None,
        ),
        (Refusal(400, [{"error": {"code": 400, "message": "odd", "status": "INVALID_ARGUMENT"}}]), ProviderError, None),
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


DECLARED: dict[str, Any] = {"name": "t", "parametersJsonSchema": {"type": "object"}}
BODY: dict[str, Any] = {
    "tools": [{"functionDeclarations": [DECLARED]}],
    "contents": [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [api.call("t", {}), api.call("t", {}, "fc2", None)]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "fc1", "name": "t", "response": {}}},
                {"functionResponse": {"id": "fc2", "name": "t", "response": {}}},
            ],
        },
    ],
}
RULES: list[tuple[Any, str]] = [
    (lambda body: body.update(odd=1), "Unknown name"),
    (lambda body: body["tools"][0]["functionDeclarations"].append(DECLARED), "Duplicate function"),
    (lambda body: body["tools"][0]["functionDeclarations"][0].update(name="1a"), "Invalid function name"),
    (lambda body: body["tools"][0]["functionDeclarations"][0].update(parameters={"type": "OBJECT"}), "both be set"),
    (
        lambda body: body["tools"][0].update(functionDeclarations=[{"name": "t", "parameters": {"type": "OBJECT"}}]),
        "non-empty",
    ),
    (lambda body: body["contents"].clear(), "not specified"),
    (lambda body: body["contents"][0].update(parts=[]), "must not be empty"),
    (lambda body: body["contents"][2]["parts"].pop(), "number of function response parts"),
    (lambda body: body["contents"].pop(), "number of function response parts"),
    (lambda body: body["contents"].pop(0), "immediately after a user turn"),
    (lambda body: body["contents"][1]["parts"][0].pop("thoughtSignature"), "missing a `thought_signature`"),
    (lambda body: body["contents"][2]["parts"][0]["functionResponse"].update(response="x"), "must be an object"),
    (lambda body: body["contents"][2]["parts"][0]["functionResponse"].update(id="fc9"), "ids don't match"),
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
