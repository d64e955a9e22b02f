"""What a program gets of a result, and when a text merely repeats the structured content."""

from typing import Any

import pytest

from toolcrib.broker import content_of, repeats_structure, same_json, text_of, value_of


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"content": [text("[1]")], "structuredContent": {"a": 1}}, {"a": 1}),
        ({"content": [text("x")], "structuredContent": None}, None),  # any JSON value since 2026-07-28
        ({"content": [], "structuredContent": [1, 2]}, [1, 2]),
        ({"content": [text('{"a": [1]}')]}, {"a": [1]}),
        ({"content": [text("[1, 2]")]}, [1, 2]),
        ({"content": [text("42")]}, "42"),
        ({"content": [text("null")]}, "null"),
        ({"content": [text("{not json")]}, "{not json"),
        ({"content": [text("[" * 100_000)]}, "[" * 100_000),
        ({"content": [text("a"), text("b")]}, [text("a"), text("b")]),
        ({"content": [IMAGE]}, [IMAGE]),
        ({"content": []}, []),
        ({"content": "nonsense"}, []),
        ({}, []),
    ],
)
def test_value_is_structure_then_json_text_then_text_then_blocks(result: dict[str, Any], value: Any) -> None:
    assert value_of(result) == value


def test_text_is_all_text_blocks() -> None:
    assert text_of({"content": [text("a"), IMAGE, text("b"), 3]}) == "a\nb"
    assert content_of({"content": [IMAGE, "x", None]}) == [IMAGE]


@pytest.mark.parametrize(
    ("block", "structure", "repeats"),
    [
        (text('{"b": 2, "a": 1}'), {"a": 1, "b": 2}, True),
        (text("[1]"), {"result": [1]}, True),  # how FastMCP wraps a list
        (text("hello"), {"result": "hello"}, True),
        (text('{"a": true}'), {"a": 1}, False),
        (text("hello"), {"text": "hello"}, False),
        (IMAGE, {"a": 1}, False),
    ],
)
def test_a_text_repeats_the_structure(block: dict[str, Any], structure: Any, repeats: bool) -> None:
    assert repeats_structure(block, {"structuredContent": structure}) is repeats


def test_json_sameness_tells_true_from_one_and_ignores_order() -> None:
    assert same_json({"a": 1, "b": [True]}, {"b": [True], "a": 1.0})
    assert not same_json([True], [1])
    assert not same_json([1, 2], [2, 1])
    assert not same_json({"a": None}, {})
