"""Arguments as models send them: text for objects, other spellings, arguments beside the name."""

from typing import Any

import pytest

from toolcrib.errors import UsageError
from toolcrib.metatools.forgiving import as_object, text, tool_call, whole_number


@pytest.mark.parametrize(
    ("sent", "arguments"),
    [
        ({"name": "s.t", "arguments": {"a": 1}}, {"a": 1}),
        ({"name": "s.t", "arguments": '{"a": 1}'}, {"a": 1}),
        ({"name": "s.t", "args": {"a": 1}}, {"a": 1}),
        ({"name": "s.t", "a": 1}, {"a": 1}),
        ({"name": "s.t", "arguments": None, "a": 1}, {"a": 1}),
        ({"name": "s.t", "arguments": {}}, {}),
        ({"name": "s.t", "arguments": ""}, {}),
        ({"name": "s.t"}, {}),
        ({"tool": "s.t", "arguments": {"a": 1}}, {"a": 1}),
        ({"name": "s.t", "arguments": {"name": "x", "id": 3}}, {"name": "x", "id": 3}),
        ({"name": "s.t", "input": [1, 2]}, {"input": [1, 2]}),
        ({"name": "s.t", "id": 7, "title": "x"}, {"id": 7, "title": "x"}),
    ],
)
def test_a_call_is_understood(sent: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert tool_call("call_tool", sent) == ("s.t", arguments)


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        ({}, "needs the tool's id"),
        ({"name": None}, "needs the tool's id"),
        ({"name": "s.t", "arguments": [1]}, "not a list"),
        ({"name": "s.t", "arguments": 7}, "not a number"),
        ({"name": "s.t", "arguments": "a=1"}, "not JSON"),
        ({"name": "s.t", "arguments": "[1]"}, "not a list"),
        ({"name": "s.t", "arguments": "[" * 100_000}, "not JSON"),
    ],
)
def test_what_cannot_be_understood_is_said(sent: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        tool_call("call_tool", sent)


def test_text_takes_lists_as_lines_and_null_as_absent() -> None:
    assert text({"query": ["a", "b"]}, "query") == "a\nb"
    assert text({"query": None, "q": 3}, "query", "q") == "3"
    assert text({}, "query") is None
    with pytest.raises(UsageError, match="must be text, not an object"):
        text({"query": {}}, "query")


def test_numbers_are_taken_from_text_and_kept_in_bounds() -> None:
    assert [whole_number({"limit": each}, "limit", 8, 50) for each in (3, "3", None, "", 0, 999, 2.0)] == [
        3,
        3,
        8,
        8,
        1,
        50,
        2,
    ]
    for wrong in ("many", True, [1], float("inf")):
        with pytest.raises(UsageError, match="whole number"):
            whole_number({"limit": wrong}, "limit", 8, 50)


def test_an_object_is_needed() -> None:
    assert as_object(None, "x") == {}
    with pytest.raises(UsageError, match="must be an object, not text"):
        as_object('"text"', "x")
