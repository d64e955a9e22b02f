"""The question that a person is asked: whole, honest about what it leaves out, with nothing hidden in it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from mcp_types import ElicitRequestFormParams
from mcp_types._v2025_11_25 import PrimitiveSchemaDefinition
from pydantic import TypeAdapter

from toolcrib.broker import Call, Caller, Grant, Question, Trace
from toolcrib.broker.approvals.question import MOST_CHARACTERS, arguments_text
from toolcrib.catalog import Tool

TOOL = Tool("mail.send", "mail", "send", {"name": "send", "inputSchema": {"type": "object"}})


def asked(arguments: dict[str, Any], **more: Any) -> Question:
    caller = more.pop("caller", Caller(face="http"))
    call = Call("tools/call", "mail.send", "mail", {"name": "send", "arguments": arguments}, caller, TOOL, "write")
    return Question("a1b2c3", call, **more)


def test_the_question_shows_tool_server_effect_arguments_rule_and_reason() -> None:
    text = asked({"to": "ann@example.com"}, reason="it leaves the house", rule="outgoing").text
    assert text.splitlines() == [
        "Allow mail.send (write) of server mail?",
        "Why it is asked: it leaves the house (rule outgoing)",
        "Who asks: a client over HTTP (local)",
        "Arguments:",
        "{",
        '  "to": "ann@example.com"',
        "}",
    ]


def test_a_scripts_call_says_which_run_it_is_of() -> None:
    text = asked({}, caller=Caller(origin="script", face="stdio", run="r7")).text
    assert "Who asks: a script of a client over stdio (local, run r7)" in text


def test_where_values_come_from_is_told() -> None:
    trace = Trace("hr.read", "c0ffee", "/body", "salary 90000")
    assert "/body comes from hr.read (call c0ffee): 'salary 90000'" in asked({"body": "x"}, traces=(trace,)).text
    many = asked({}, traces=(trace,) * 23).text
    assert "… and 3 more values from earlier results." in many


def test_hidden_characters_are_shown() -> None:
    text = asked({"to": "ann\u202e@moc.elpmaxe", "tag\U000e0041": "zero\u200bwidth\x1b[2J"}, reason="a\u2066b").text
    for hidden in ("\u202e", "\u200b", "\U000e0041", "\u2066", "\x1b"):
        assert hidden not in text
    assert "U+202E" in text


def test_a_long_argument_hides_none_of_the_others_and_says_how_much_is_not_shown() -> None:
    text = arguments_text({"body": "x" * 100_000, "to": "mallory@example.com"})
    assert len(text) <= MOST_CHARACTERS
    assert "mallory@example.com" in text
    assert "98,000 more characters NOT shown" in text


def test_arguments_of_many_parts_are_cut_with_a_note() -> None:
    text = arguments_text({"rows": list(range(100_000))})
    assert len(text) < MOST_CHARACTERS + 200
    assert "more characters that are NOT shown here" in text


def test_arguments_that_fit_are_shown_in_full() -> None:
    arguments = {"a": "x" * 5_000, "b": [1, None, True], "ü": {"c": 1.5}}
    assert json.loads(arguments_text(arguments)) == arguments


def test_arguments_that_nest_too_deep_say_so() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert "nested too deep" in arguments_text({"a": deep})


def test_the_form_is_one_that_the_protocol_allows() -> None:
    form = asked({"to": "x"}).form
    params = ElicitRequestFormParams.model_validate(form, by_name=False)
    for schema in params.requested_schema["properties"].values():
        TypeAdapter(PrimitiveSchemaDefinition).validate_python(schema)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"action": "accept", "content": {"decision": "allow this call"}}, (True, Grant())),
        ({"action": "accept", "content": {"decision": "allow this tool in this conversation"}}, (True, Grant("tool"))),
        ({"action": "accept", "content": {"decision": "allow this tool in this run"}}, (False, Grant())),
        ({"action": "accept", "content": {"decision": "deny"}}, (False, Grant())),
        ({"action": "accept", "content": {"decision": ["allow this call"]}}, (False, Grant())),
        ({"action": "accept", "content": "allow this call"}, (False, Grant())),
        ({"action": "accept"}, (False, Grant())),
        ({"action": "decline", "content": {"decision": "allow this call"}}, (False, Grant())),
        ({"decision": "allow this call"}, (False, Grant())),
        ({}, (False, Grant())),
    ],
)
def test_only_a_clear_yes_is_one(answer: dict[str, Any], expected: tuple[bool, Grant]) -> None:
    assert asked({}).read_form(answer) == expected


def test_a_scripts_form_offers_its_run() -> None:
    question = asked({}, caller=Caller(origin="script", run="r7"))
    chosen = {"action": "accept", "content": {"decision": "allow this tool in this run"}}
    assert question.read_form(chosen) == (True, Grant("tool"))


def test_a_request_that_is_no_tools_shows_its_params() -> None:
    call = replace(asked({}).call, method="resources/read", target="mail", params={"uri": "mail://1"}, tool=None)
    assert '"uri": "mail://1"' in Question("a1b2c3", call).text
