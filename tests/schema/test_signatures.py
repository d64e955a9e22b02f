"""A tool on one line, and examples of calling it."""

from typing import Any

import pytest

from toolcrib.schema import compile_validator, example_call, signature, type_name

ISSUE = {
    "type": "object",
    "properties": {
        "body": {"type": "string"},
        "title": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "state": {"type": "string", "enum": ["open", "closed"]},
        "from": {"type": "integer"},
    },
    "required": ["title"],
}
RESULT = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "url": {"type": "string"}},
    "required": ["id", "url"],
}


def test_required_parameters_come_first_and_all_by_their_identifier() -> None:
    assert signature("github.create_issue", ISSUE, RESULT) == (
        'github.create_issue(title: str, body?: str, labels?: list[str], state?: "open"|"closed", from_?: int)'
        " -> {id: int, url: str}"
    )


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "str"),
        ({"type": "number"}, "float"),
        ({"type": "boolean"}, "bool"),
        ({"type": "null"}, "None"),
        ({"type": "array"}, "list"),
        ({"type": "array", "items": {}}, "list"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, "list[list[int]]"),
        ({"prefixItems": [{"type": "string"}, {"type": "integer"}]}, "list[str|int]"),
        ({"type": "object"}, "dict"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "dict[str, str]"),
        ({"properties": {"a b": {"type": "string"}}}, '{"a b"?: str}'),
        ({"type": ["string", "null"]}, "str|None"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, "int|None"),
        ({"oneOf": [{"type": "integer"}, {"type": "integer"}]}, "int"),
        ({"anyOf": [{"type": "integer"}, {}]}, "any"),
        ({"const": "x"}, '"x"'),
        ({"const": 1}, "1"),
        ({"enum": ["a", None]}, '"a"|None'),
        ({"enum": list("abcdefgh")}, '"a"|"b"|"c"|"d"|"e"|"f"|…'),
        ({"enum": ["x" * 100]}, f'"{"x" * 37}…"'),
        ({"$ref": "#/$defs/i", "$defs": {"i": {"type": "integer"}}}, "int"),
        ({"allOf": [{"type": "string"}, {"minLength": 3}]}, "str"),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {}}, "required": ["b"]}]},
            "{b: any, a?: str}",
        ),
        ({"properties": {"a": {"properties": {"b": {"properties": {"c": {}}}}}}}, "{a?: {b?: dict}}"),
        ({"type": "future"}, "any"),
    ],
)
def test_a_schema_reads_as_a_type(schema: Any, expected: str) -> None:
    assert type_name(schema) == expected


def test_a_recursive_schema_ends() -> None:
    schema = {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"kid": {"$ref": "#/$defs/n"}}}}}
    assert type_name(schema) == "{kid?: dict}"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object"}, "t()"),
        ({"type": "object", "properties": {}}, "t()"),
        (None, "t(…)"),
        (True, "t(…)"),
        ([], "t(…)"),
        ({}, "t(…)"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "t(…)"),
    ],
)
def test_a_tool_without_declared_parameters_says_whether_it_takes_any(schema: Any, expected: str) -> None:
    assert signature("t", schema) == expected


def test_a_long_signature_loses_depth_before_parameters() -> None:
    inner = {"properties": {f"member_{n}": {"type": "string"} for n in range(10)}}
    schema = {"properties": {"first": inner, "second": inner, "third": {"type": "string"}}}
    assert signature("t", schema, limit=200) == "t(first?: dict, second?: dict, third?: str)"


def test_parameters_that_do_not_fit_are_counted() -> None:
    schema = {"properties": {f"parameter_{n}": {"type": "string"} for n in range(50)}, "required": ["parameter_7"]}
    text = signature("t", schema, RESULT, limit=110)
    assert text == "t(parameter_7: str, parameter_0?: str, parameter_1?: str, parameter_2?: str, … 46 more) -> dict"
    assert len(text) <= 110


def test_a_name_longer_than_the_bound_is_cut() -> None:
    assert len(signature("x" * 500, ISSUE)) == 400


def test_an_example_has_the_required_parameters_only() -> None:
    assert example_call(ISSUE) == {"title": "…"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 10}, 10),
        ({"type": "number", "exclusiveMaximum": 0.5}, 0),
        ({"type": "boolean"}, True),
        ({"type": "string", "format": "date"}, "2026-01-31"),
        ({"type": "string", "format": "uuid"}, "123e4567-e89b-42d3-a456-426614174000"),
        ({"type": "string", "pattern": "^\\d+px$"}, "10px"),
        ({"type": "string", "examples": ["octocat"]}, "octocat"),
        ({"type": "string", "default": "main"}, "main"),
        ({"type": "string", "default": None}, "…"),
        ({"type": "integer", "default": "many"}, 1),
        ({"enum": ["a", "b"]}, "a"),
        ({"const": 3}, 3),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 2, "uniqueItems": True}, [1, 2]),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}, {"a": None}),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, None),
        ({"type": ["null", "integer"]}, 1),
        ({"type": "string", "minLength": 12}, "text-text-te"),
        ({"type": "string", "minLength": 3}, "text"),
        ({"type": "string", "minLength": 3, "maxLength": 3}, "tex"),
        ({"type": "integer", "minimum": 7, "multipleOf": 5}, 10),
    ],
)
def test_an_example_value_comes_from_the_schema_and_fits_it(schema: Any, expected: Any) -> None:
    whole = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    assert example_call(whole) == {"x": expected}
    assert compile_validator(whole).is_valid(example_call(whole))


def test_an_example_chooses_an_alternative_of_the_whole() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
        "oneOf": [{"required": ["id"]}, {"required": ["name"]}],
    }
    assert example_call(schema) == {"id": 1}


def test_an_example_of_a_schema_that_nothing_fits_is_the_nearest() -> None:
    assert example_call({"properties": {"a": {"enum": []}}, "required": ["a"]}) == {"a": "…"}
