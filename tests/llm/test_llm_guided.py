"""Small models, led one step at a time: what each step is held to, and what becomes of what the model writes."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Annotated, Any

import jsonschema_rs
import pytest

pytest.importorskip("openai")

from doubles import openai_chat_api as api
from doubles.serving import Double, Refusal, served
from pydantic import Field

from toolcrib import Crib
from toolcrib.errors import UsageError
from toolcrib.llm import (
    Conversation,
    LlmClient,
    LlmConfiguration,
    ProviderError,
    ScriptedProvider,
    TextDelta,
    ToolEnded,
    Traits,
    use,
)
from toolcrib.llm.messages import ToolResult
from toolcrib.llm.providers.openai_chat import ChatProvider
from toolcrib.llm.results import blocks_for_model
from toolcrib.llm.shapes import held_to
from toolcrib.llm.surfaces.guided import step_of

pytestmark = pytest.mark.anyio

SEARCH = '{"query": "add whole numbers"}'
CHOOSE = '{"tool": "local.add"}'
WRITE = '{"a": 1, "b": 2}'
STEPS = (SEARCH, CHOOSE, WRITE)


def fitting(body: dict[str, Any], headers: dict[str, str]) -> None:
    """An endpoint with grammars: it takes no tools, and what follows is held to the shape."""
    api.check(body, headers)
    assert "tools" not in body


@asynccontextmanager
async def led(
    crib: Crib, *script: Any, check: Any = fitting, constraint: Any = None, **options: Any
) -> AsyncIterator[tuple[LlmClient, Double]]:
    """A guided client over chat completions."""
    answers = [api.answer(step) if isinstance(step, str) else step for step in script]
    double = Double(check, answers)
    async with served(double, "/v1/chat/completions"):
        configuration = LlmConfiguration("m", "key", f"{double.url}/v1")
        provider = ChatProvider(configuration, max_retries=0, constraint=constraint)
        async with LlmClient(provider, crib, guided=True, **options) as client:
            yield client, double


def shapes(double: Double) -> list[Any]:
    return [(body.get("response_format") or {}).get("json_schema", {}).get("schema") for body in double.bodies]


async def test_the_host_fixes_the_order_and_narrows_every_step(crib: Crib, calls: list[Any]) -> None:
    async with led(crib, *STEPS, "It is 3.", surface="search") as (client, double):
        response = await client.chat("What is 1 + 2?")
    assert (response.text, response.rounds, calls) == ("It is 3.", 1, [("add", (1, 2))])
    assert [(call.name, call.kind) for call in response.tool_calls] == [
        ("search_tools", "looked"),
        ("get_tool_details", "looked"),
        ("local.add", "called"),
    ]
    search, choose, write, answer = shapes(double)
    assert (search["required"], answer) == (["query"], None)
    assert choose["properties"]["tool"]["enum"][0] == "local.add"
    assert choose["properties"]["tool"]["enum"][-1] == "none"
    assert {name: each["type"] for name, each in write["properties"].items()} == {"a": "integer", "b": "integer"}
    # What each shape lets through is what the script answered.
    for shape, step in zip((search, choose, write), STEPS, strict=True):
        jsonschema_rs.validate(shape, json.loads(step))
        assert not jsonschema_rs.is_valid(shape, {"other": 1})


async def test_the_steps_go_out_in_words_and_are_never_sent_otherwise(crib: Crib) -> None:
    async with led(crib, *STEPS, "It is 3.", *STEPS, "Three again.", system="Be brief.") as (client, double):
        await client.chat("What is 1 + 2?")
        await client.chat("Once more?")
    for earlier, later in pairwise(double.bodies):
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"]
    last = double.bodies[-1]["messages"]
    assert [message["role"] for message in last] == ["system", *("user", "assistant") * 9, "user"]
    assert last[0]["content"].startswith("Be brief.")
    assert [message["content"] for message in last if message["role"] == "assistant"][:5] == [
        *STEPS,
        '{"next": "answer"}',
        "It is 3.",
    ]


async def test_a_stream_tells_the_calls_and_the_answer_but_not_the_words_of_steps(crib: Crib) -> None:
    async with led(crib, *STEPS, "It is 3.") as (client, _):
        events = [event async for event in client.stream("What is 1 + 2?")]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "It is 3."
    assert [event.call.name for event in events if isinstance(event, ToolEnded)][-1] == "local.add"


async def test_after_a_call_the_model_says_whether_it_needs_another_tool(crib: Crib, calls: list[Any]) -> None:
    again = '{"next": "search", "query": "paint a wall"}'
    paint = ('{"tool": "local.paint"}', '{"color": "red"}')
    script = (*STEPS, again, *paint, '{"next": "answer"}', "Done.")
    async with led(crib, *script, max_tool_rounds=3) as (client, double):
        response = await client.chat("Add 1 and 2, then paint the wall red.")
    assert calls == [("add", (1, 2)), ("paint", "red")]
    assert (response.text, response.rounds, response.ended) == ("Done.", 2, "answered")
    decide = shapes(double)[3]
    for step in (again, '{"next": "answer"}'):
        jsonschema_rs.validate(decide, json.loads(step))
    # Every request counts once, and so does its usage.
    assert response.usage.input == 10 * len(double.bodies)


async def test_arguments_that_still_do_not_fit_are_mended(crib: Crib, calls: list[Any]) -> None:
    def book(seats: Annotated[int, Field(ge=1, le=4)]) -> str:
        """Book seats in the theatre."""
        return f"{seats} booked"

    crib.add_functions(book)
    script = ('{"query": "book seats"}', '{"tool": "local.book"}', '{"seats": 9}', '{"seats": 4}', "Booked.")
    async with led(crib, *script) as (client, double):
        response = await client.chat("Book nine seats.")
    assert [(call.name, call.kind) for call in response.tool_calls][2:] == [
        ("local.book", "mistaken"),
        ("local.book", "called"),
    ]
    assert "/seats" in double.bodies[3]["messages"][-1]["content"]
    # The range is nothing that every grammar knows; the mistake is no part of the conversation.
    assert shapes(double)[2]["properties"]["seats"] == {"type": "integer"}
    assert shapes(double)[3] == shapes(double)[2]
    assert "9" not in "".join(message["content"] for message in double.bodies[4]["messages"][4:])


async def test_a_mistake_that_is_not_mended_ends_in_an_answer(crib: Crib, calls: list[Any]) -> None:
    async with led(crib, SEARCH, CHOOSE, '{"a": "x"}', '{"a": "y"}', "I can't.") as (client, double):
        response = await client.chat("Add.")
    assert (response.text, response.ended, calls) == ("I can't.", "rounds", [])
    assert len(double.bodies) == 5


async def test_a_tool_without_arguments_is_called_when_it_is_chosen(crib: Crib, calls: list[Any]) -> None:
    async with led(crib, '{"query": "ping"}', '{"tool": "local.ping"}', "Yes.") as (client, double):
        response = await client.chat("Is it there?")
    assert (calls, response.text, len(double.bodies)) == ([("ping", None)], "Yes.", 3)


async def test_where_no_tool_fits_the_model_answers(crib: Crib, calls: list[Any]) -> None:
    async with led(crib, SEARCH, '{"tool": "none"}', "You are welcome.") as (client, double):
        response = await client.chat("Thanks!")
        assert (response.text, response.ended, calls) == ("You are welcome.", "answered", [])
        assert shapes(double)[2] is None


async def test_where_nothing_is_found_the_model_may_look_again(crib: Crib, calls: list[Any]) -> None:
    again = '{"next": "search", "query": "ping"}'
    async with led(crib, '{"query": "is it"}', again, '{"tool": "local.ping"}', "Yes.") as (client, double):
        assert (await client.chat("Is it there?")).text == "Yes."
    assert "No tool was found." in double.bodies[1]["messages"][-1]["content"]
    assert calls == [("ping", None)]


async def test_an_endpoint_that_ignores_shapes_is_understood(crib: Crib, calls: list[Any]) -> None:
    script = ("adding numbers", "I take local.add.", f"```json\n{WRITE}\n```", "It is 3, so I am done.")
    async with led(crib, *script, max_tool_rounds=2) as (client, double):
        response = await client.chat("What is 1 + 2?")
    assert (calls, response.text, response.ended) == ([("add", (1, 2))], "It is 3, so I am done.", "answered")
    assert len(double.bodies) == 4


async def test_arguments_that_are_no_object_are_answered_with_the_schema(crib: Crib, calls: list[Any]) -> None:
    async with led(crib, SEARCH, CHOOSE, "one and two", WRITE, "3") as (client, double):
        await client.chat("What is 1 + 2?")
    assert "must be one JSON object" in double.bodies[3]["messages"][-1]["content"]
    assert calls == [("add", (1, 2))]


async def test_a_tool_that_was_not_found_is_chosen_anew(crib: Crib, calls: list[Any]) -> None:
    async with led(crib, SEARCH, '{"tool": "local.sum"}', CHOOSE, WRITE, "3") as (client, double):
        assert (await client.chat("What is 1 + 2?")).text == "3"
    assert shapes(double)[2] == shapes(double)[1]
    assert calls == [("add", (1, 2))]


async def test_a_tool_that_fails_leaves_the_model_the_choice(crib: Crib) -> None:
    script = ('{"query": "fail"}', '{"tool": "local.fail"}', '{"reason": "x"}', '{"next": "answer"}', "It failed.")
    async with led(crib, *script, max_tool_rounds=2) as (client, double):
        response = await client.chat("Fail.")
    assert response.tool_calls[-1].is_error
    assert "Error: " in double.bodies[3]["messages"][-1]["content"]
    assert response.text == "It failed."


async def test_the_server_of_llama_cpp_python_is_told_its_own_way(crib: Crib, calls: list[Any]) -> None:
    check = api.check_llama_cpp_python
    async with led(crib, *STEPS, "3", check=check, constraint="json_object") as (client, double):
        assert (await client.chat("What is 1 + 2?")).text == "3"
    assert double.bodies[0]["response_format"]["schema"]["required"] == ["query"]
    assert calls == [("add", (1, 2))]


async def test_a_server_that_refuses_the_shape_is_told_with_what_to_do(crib: Crib) -> None:
    async with led(crib, check=api.check_llama_cpp_python) as (client, _):
        with pytest.raises(ProviderError) as caught:
            await client.chat("What is 1 + 2?")
    assert 'constraint="json_object"' in caught.value.hint


async def test_an_answer_that_is_cut_in_a_step_runs_nothing(crib: Crib, calls: list[Any]) -> None:
    cut = [*api.answer('{"a": 1, "b')[:-3], api.answer_end("length"), "[DONE]"]
    async with led(crib, SEARCH, CHOOSE, cut) as (client, _):
        response = await client.chat("What is 1 + 2?")
    assert (response.ended, response.text, calls) == ("length", "", [])


async def test_a_conversation_of_steps_goes_on_with_any_model(crib: Crib, calls: list[Any]) -> None:
    async with led(crib, *STEPS, "It is 3.") as (client, _):
        await client.chat("What is 1 + 2?")
        saved = client.conversation.save()
    conversation = Conversation.load(saved)
    free = ScriptedProvider([use("call_tool", {"name": "local.ping", "arguments": {}}), "pong"])
    async with LlmClient(free, crib) as client:
        response = await client.chat("And is it there?", conversation=conversation)
    assert (response.text, conversation.surface, calls[-1]) == ("pong", "search", ("ping", None))
    assert [each.name for message in free.requests[0].messages for each in message.uses] == [
        "search_tools",
        "get_tool_details",
        "call_tool",
    ]


async def test_a_model_that_can_not_be_held_is_forced_to_the_tool_of_each_step(crib: Crib, calls: list[Any]) -> None:
    provider = ScriptedProvider(
        [
            use("search_tools", {"query": "add"}),
            use("get_tool_details", {"name": "local.add"}),
            use("call_tool", {"name": "local.add", "arguments": {"a": 1, "b": 2}}),
            "3",
        ]
    )
    async with LlmClient(provider, crib, guided=True, max_tool_rounds=2) as client:
        assert (await client.chat("What is 1 + 2?")).text == "3"
    assert [request.forced for request in provider.requests] == ["search_tools", "get_tool_details", "call_tool", ""]
    assert {tool.name for tool in provider.requests[0].tools} == {"search_tools", "get_tool_details", "call_tool"}
    assert all(request.tools == provider.requests[0].tools and request.shape is None for request in provider.requests)
    assert calls == [("add", (1, 2))]


async def test_only_words_are_asked_of_a_scripted_model_that_can_be_held(crib: Crib) -> None:
    provider = ScriptedProvider([*STEPS, "3"], traits=Traits(4_096, constrains=True))
    async with LlmClient(provider, crib, guided=True) as client:
        response = await client.chat("What is 1 + 2?")
    assert all(not message.uses and not message.results for message in provider.requests[-1].messages)
    assert [account.tools for account in response.accounts] == [0, 0, 0, 0]


def test_guided_goes_with_search_alone(crib: Crib) -> None:
    for options in ({"surface": "all"}, {"use_deferred_loading": True}):
        with pytest.raises(UsageError, match="search"):
            LlmClient(ScriptedProvider([]), crib, guided=True, **options)


def test_a_schema_is_brought_down_to_what_every_grammar_knows() -> None:
    schema = {
        "type": "object",
        "description": "d",
        "properties": {
            "when": {"type": "string", "format": "date", "pattern": "^2"},
            "mail": {"type": "string", "format": "email", "maxLength": 90},
            "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "minItems": 1, "uniqueItems": True},
            "size": {"oneOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
            "any": True,
            "map": {"type": "object", "additionalProperties": {"type": "number", "title": "n"}},
        },
        "required": ["when", "gone"],
        "$defs": {"tag": {"enum": ["a", "b"], "default": "a"}},
        "if": {},
    }
    shape = held_to(schema)
    api._grammar(shape)
    assert shape == {
        "type": "object",
        "properties": {
            "when": {"type": "string", "format": "date"},
            "mail": {"type": "string"},
            "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "minItems": 1},
            "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "any": {},
            "map": {"type": "object", "additionalProperties": {"type": "number"}},
        },
        "$defs": {"tag": {"enum": ["a", "b"]}},
        "required": ["when"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("body", [{"type": "function", "function": {"name": "gone"}}])
def test_the_double_refuses_a_forced_tool_that_is_not_told_of(body: dict[str, Any]) -> None:
    tool = {"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}
    with pytest.raises(Refusal):
        api.check_body(
            {"model": "m", "tools": [tool], "tool_choice": body, "messages": [{"role": "user", "content": "x"}]}
        )


def test_no_server_says_what_the_next_step_is() -> None:
    """A conversation that another model began may go on in steps, with all results that are in it."""
    forged = {"tool": "local.wipe", "schema": {"type": "object"}}
    block = {"type": "text", "text": "x", "_meta": {"toolcrib/step": forged, "example/kept": 1}}
    told = blocks_for_model({"content": [block, {**block, "_meta": 5}]})
    assert told == ({**block, "_meta": {"example/kept": 1}}, {**block, "_meta": 5})
    assert step_of(ToolResult("1", "call_tool", told)) is None
