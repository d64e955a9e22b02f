"""Deferred loading: metadata first, a schema when a call does not fit it (the pattern's tests T1 to T15)."""

import json
from typing import Any

import pytest

from toolcrib import Crib
from toolcrib.llm import (
    ChatResponse,
    Kept,
    LlmClient,
    Message,
    Request,
    ScriptedProvider,
    Text,
    ToolEnded,
    ToolStarted,
    ToolUse,
    Traits,
    Turn,
    use,
)

pytestmark = pytest.mark.anyio

GOOD = use("local__add", {"a": 1, "b": 2})
BAD = use("local__add", {"a": "many"})
PING = use("local__ping")


def deferred(crib: Crib, *script: Any, **options: Any) -> tuple[LlmClient, ScriptedProvider]:
    traits = options.pop("traits", None)
    provider = ScriptedProvider(script, traits=traits)
    return LlmClient(provider, crib, use_deferred_loading=True, **options), provider


def told(request: Request) -> str:
    """The results in a request's newest message, as text."""
    return "\n".join(str(block["text"]) for result in request.messages[-1].results for block in result.content)


async def test_t1_the_first_request_has_names_descriptions_and_a_valid_minimal_schema(crib: Crib) -> None:
    client, provider = deferred(crib, "hello")
    await client.chat("hi")
    tools = {tool.name: tool for tool in provider.requests[0].tools}
    assert set(tools) == {"local__add", "local__paint", "local__ping", "local__fail"}
    assert tools["local__add"].description == "Add two whole numbers."
    assert {json.dumps(tool.input_schema) for tool in tools.values()} == {'{"type": "object"}'}


async def test_one_line_of_each_description_is_sent_where_that_is_wanted(crib: Crib) -> None:
    client, provider = deferred(crib, "hello", descriptions="line")
    await client.chat("hi")
    about = next(tool.description for tool in provider.requests[0].tools if tool.name == "local__paint")
    assert about == "Paint a wall in a color."


async def test_t2_a_right_call_is_made_once_without_a_retry(crib: Crib, calls: list[Any]) -> None:
    client, provider = deferred(crib, GOOD, "3")
    response = await client.chat("what is 1 + 2?")
    assert response.text == "3"
    assert (response.rounds, len(provider.requests)) == (1, 2)
    assert calls == [("add", (1, 2))]
    assert [(call.name, call.kind, call.is_error) for call in response.tool_calls] == [("local.add", "called", False)]


@pytest.mark.parametrize("system", ["", "Be brief."])
async def test_t3_a_missing_argument_brings_the_whole_schema_in_the_payload(crib: Crib, system: str) -> None:
    client, provider = deferred(crib, BAD, GOOD, "3", system=system)
    await client.chat("what is 1 + 2?")
    payload = json.dumps(provider.payload(provider.requests[1]), ensure_ascii=False)
    schema = crib.registry.tool("local.add").input_schema
    assert json.dumps(json.dumps(schema, separators=(",", ":")))[1:-1] in payload


async def test_t4_every_error_is_told_with_its_path(crib: Crib, calls: list[Any]) -> None:
    wrong = use("local__paint", {"color": "blue", "width": [], "shine": 1})
    client, provider = deferred(crib, wrong, use("local__paint", {"color": "red"}), "done")
    await client.chat("paint")
    text = told(provider.requests[1])
    assert all(path in text for path in ("/color", "/width", "/shine"))
    assert calls == [("paint", "red")]


async def test_t5_a_mended_call_leaves_no_trace_of_the_repair_in_the_conversation(crib: Crib) -> None:
    client, provider = deferred(crib, BAD, GOOD, "3")
    response = await client.chat("what is 1 + 2?")
    question, turn, results, answer = client.conversation.messages
    assert turn.uses == (GOOD,)
    assert [result.id for result in results.results] == [GOOD.id]
    assert (question.text, answer.text) == ("what is 1 + 2?", "3")
    assert provider.requests[2].messages == (question, turn, results)
    assert response.rounds == 1


async def test_t6_a_second_mistake_is_not_sent_and_stays_as_the_call_s_result(crib: Crib, calls: list[Any]) -> None:
    client, provider = deferred(crib, BAD, use("local__add", {"a": "more"}), "I can't")
    response = await client.chat("what is 1 + 2?")
    assert calls == []
    assert response.text == "I can't"
    assert provider.requests[2].tool_choice == "none"
    result = client.conversation.messages[2].results[0]
    assert result.is_error
    assert "/a" in str(result.content[0]["text"])


async def test_t7_a_good_call_beside_a_bad_one_is_made(crib: Crib, calls: list[Any]) -> None:
    client, _ = deferred(crib, (PING, BAD), GOOD, "3", max_tool_rounds=2)
    await client.chat("ping and add")
    assert calls == [("ping", None), ("add", (1, 2))]
    first = client.conversation.messages[1:3]
    assert first[0].uses == (PING, BAD)
    assert [result.is_error for result in first[1].results] == [False, True]


async def test_t8_calls_of_later_rounds_are_validated_too(crib: Crib, calls: list[Any]) -> None:
    client, _ = deferred(crib, PING, BAD, GOOD, "3", max_tool_rounds=2)
    response = await client.chat("ping, then add")
    assert response.rounds == 2
    assert calls == [("ping", None), ("add", (1, 2))]


async def test_t9_a_stream_validates_and_repairs_like_a_chat(crib: Crib, calls: list[Any]) -> None:
    client, _ = deferred(crib, BAD, GOOD, "3")
    events = [event async for event in client.stream("what is 1 + 2?")]
    assert [event.call.kind for event in events if isinstance(event, ToolEnded)] == ["mistaken", "called"]
    assert [event.name for event in events if isinstance(event, ToolStarted)] == ["local__add", "local__add"]
    assert isinstance(events[-1], ChatResponse)
    assert calls == [("add", (1, 2))]


async def test_t10_an_unknown_tool_is_answered_with_near_names(crib: Crib, calls: list[Any]) -> None:
    client, provider = deferred(crib, use("local__addd", {"a": 1, "b": 2}), GOOD, "3")
    assert (await client.chat("add")).text == "3"
    assert "local__add" in told(provider.requests[1])
    assert calls == [("add", (1, 2))]


async def test_t11_a_tool_without_arguments_is_called(crib: Crib, calls: list[Any]) -> None:
    client, _ = deferred(crib, PING, "pong")
    await client.chat("ping")
    assert calls == [("ping", None)]


async def test_t12_null_for_a_required_value_is_a_mistake(crib: Crib, calls: list[Any]) -> None:
    client, provider = deferred(crib, use("local__add", {"a": None, "b": 2}), "no")
    await client.chat("add")
    assert "/a" in told(provider.requests[1])
    assert calls == []


@pytest.mark.parametrize(("given", "taken"), [(0, 1), (-3, 1), (11, 10), (100, 10)])
async def test_t13_rounds_go_from_1_to_10(crib: Crib, given: int, taken: int) -> None:
    with pytest.warns(UserWarning, match=f"was taken as {taken}"):
        client, _ = deferred(crib, max_tool_rounds=given)
    assert client.max_tool_rounds == taken


async def test_t13_at_the_limit_the_model_is_asked_for_what_it_has(crib: Crib, calls: list[Any]) -> None:
    client, provider = deferred(crib, PING, PING, "never asked")
    response = await client.chat("ping for ever")
    assert [request.tool_choice for request in provider.requests] == ["auto", "none"]
    assert provider.requests[1].tools
    assert (response.ended, response.text) == ("rounds", "")
    assert calls == [("ping", None)]
    assert not client.conversation.messages[-1].uses


async def test_t14_when_all_calls_fail_the_model_sees_the_errors_and_may_go_on(crib: Crib, calls: list[Any]) -> None:
    client, provider = deferred(crib, use("local__fail", {"reason": "no paint"}), GOOD, "3", max_tool_rounds=2)
    assert (await client.chat("try")).text == "3"
    assert "no paint" in told(provider.requests[1])
    assert [name for name, _ in calls] == ["fail", "add"]


async def test_reasoning_that_is_tied_to_its_call_keeps_the_failed_call_in_place(crib: Crib) -> None:
    thought = Kept("scripted", {"type": "thinking", "signature": "s"}, binds=True)
    turn = Turn(Message("assistant", (thought, BAD)), "tool_use")
    client, _ = deferred(crib, turn, GOOD, "3", traits=Traits(200_000))
    await client.chat("add")
    assert [message.role for message in client.conversation.messages] == ["user", "assistant"] * 3
    assert client.conversation.messages[1].parts == (thought, BAD)
    assert client.conversation.messages[2].results[0].is_error


async def test_arguments_that_are_no_object_are_a_mistake_with_the_schema(crib: Crib, calls: list[Any]) -> None:
    broken = ToolUse("c1", "local__add", {}, unreadable='{"a": 1,')
    client, provider = deferred(crib, broken, GOOD, "3")
    await client.chat("add")
    assert "must be one JSON object" in told(provider.requests[1])
    assert '"required":["a","b"]' in told(provider.requests[1])
    assert calls == [("add", (1, 2))]


async def test_a_turn_that_is_cut_off_makes_no_call(crib: Crib, calls: list[Any]) -> None:
    client, _ = deferred(crib, Turn(Message("assistant", (Text("I will"), PING)), "length"))
    response = await client.chat("ping")
    assert (response.ended, calls) == ("length", [])
    assert client.conversation.messages[-1].parts == (Text("I will"),)
