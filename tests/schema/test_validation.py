"""Validating arguments: results, problems in words, the cache."""

import time
from typing import Any

import pytest

from toolcrib.schema import Problem, UnusableSchemaError, ValidationResult, ValidatorCache, compile_validator

ISSUE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "body": {"type": "string"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "state": {"enum": ["open", "closed"]},
        "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "owner": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    },
    "required": ["title"],
    "additionalProperties": False,
}


def problems(schema: Any, value: Any) -> list[str]:
    return [str(problem) for problem in compile_validator(schema).validate(value).errors]


def test_a_valid_result_has_no_error_and_says_so() -> None:
    result = ValidationResult.valid()
    assert result.is_valid
    assert result.error is None
    assert result.errors == ()
    assert "valid" in repr(result)
    assert "invalid" not in repr(result)


def test_an_invalid_result_keeps_its_error_and_says_so() -> None:
    result = ValidationResult.invalid("Missing required parameter")
    assert not result.is_valid
    assert result.error == "Missing required parameter"
    assert result.errors == (Problem("", "Missing required parameter", ""),)
    assert "invalid" in repr(result)
    assert result == ValidationResult.invalid("Missing required parameter")


def test_every_problem_is_named_with_its_path() -> None:
    result = compile_validator(ISSUE).validate(
        {"titel": "x", "count": 10, "state": "opne", "labels": ["a", 1], "owner": {"id": "7"}}
    )
    assert not result.is_valid
    assert {problem.path: problem.keyword for problem in result.errors} == {
        "/titel": "additionalProperties",
        "/title": "required",
        "/count": "maximum",
        "/state": "enum",
        "/labels/1": "type",
        "/owner/id": "type",
    }
    assert result.error == "\n".join(str(problem) for problem in result.errors)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, '/title: missing required parameter "title" (a string)'),
        ({"title": 5}, "/title: must be a string, not the integer 5"),
        ({"title": None}, "/title: must be a string, not null"),
        ({"title": ["a"]}, "/title: must be a string, not an array"),
        ({"title": "", "count": 0}, "/count: 0 is less than the minimum of 1"),
        ({"title": "", "state": "shut"}, '/state: "shut" is not one of "open", "closed"'),
        ({"title": "", "state": "Close"}, '/state: "Close" is not one of "open", "closed"; did you mean "closed"?'),
        ({"title": "", "bdoy": ""}, '/bdoy: unknown parameter "bdoy"; did you mean "body"?'),
        ({"title": "", "labels": ["a"] * 3}, '/labels: ["a", "a", "a"] has more than 2 items'),
        ({"title": "", "owner": {}}, '/owner/id: missing required member "id" (an integer)'),
        ([], "must be an object, not an array"),
    ],
)
def test_a_problem_reads_as_a_sentence(value: Any, expected: str) -> None:
    assert problems(ISSUE, value) == [expected]


def test_an_unknown_parameter_like_no_other_comes_with_the_known_ones() -> None:
    assert problems(ISSUE, {"title": "", "zzz": 1}) == [
        '/zzz: unknown parameter "zzz"; known: title, body, count, state, labels, owner'
    ]


def test_a_missing_parameter_is_brought_together_with_an_unknown_one_that_the_schema_allows() -> None:
    schema = {"type": "object", "properties": {"issue_number": {"type": "integer"}}, "required": ["issue_number"]}
    assert problems(schema, {"issueNumber": 5}) == [
        '/issue_number: missing required parameter "issue_number" (an integer); '
        'it may be what "issueNumber" is meant for'
    ]


def test_a_path_is_a_json_pointer() -> None:
    schema = {"properties": {"a/b~c": {"items": {"type": "integer"}}}}
    # RFC 6901, 3: ~ is written ~0 and / is written ~1
    assert [problem.path for problem in compile_validator(schema).validate({"a/b~c": [1, "x"]}).errors] == [
        "/a~1b~0c/1"
    ]


def test_long_values_are_cut_in_messages() -> None:
    error = compile_validator(ISSUE).validate({"title": "", "count": "x" * 100_000, "state": ["y" * 50] * 500}).error
    assert error is not None
    assert len(error) < 400


def test_at_most_twenty_problems_are_named_and_the_rest_is_counted() -> None:
    schema = {"properties": {"rows": {"items": {"type": "integer"}}}}
    result = compile_validator(schema).validate({"rows": ["x"] * 50})
    assert len(result.errors) == 21
    assert result.errors[-1].message == "… and 30 more"


def test_of_a_union_the_alternative_that_was_meant_is_explained() -> None:
    schema = {
        "properties": {
            "shape": {
                "oneOf": [
                    {"properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
                    {"properties": {"kind": {"const": "box"}, "w": {"type": "number"}}, "required": ["kind", "w"]},
                ]
            },
            "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        }
    }
    assert problems(schema, {"shape": {"kind": "box", "w": "wide"}}) == [
        '/shape/w: must be a number, not the string "wide"'
    ]
    assert problems(schema, {"size": "big"}) == ['/size: must be an integer or null, not the string "big"']


def test_a_union_without_a_likely_alternative_lists_what_each_asks_for() -> None:
    schema = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert problems(schema, {}) == [
        'fits none of the allowed forms: /a: missing required parameter "a" — or: /b: missing required parameter "b"'
    ]


@pytest.mark.parametrize(
    ("schema", "value", "word"),
    [
        ({"properties": {"a": {"not": {"type": "null"}}}}, {"a": None}, "ruled out"),
        ({"properties": {"a": {"contains": {"type": "string"}}}}, {"a": [1]}, "no item"),
        ({"properties": {"a": False}}, {"a": 1}, "not allowed"),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, '"ab"'),
        ({"oneOf": [{}, {}]}, {}, "only one"),
        ({"properties": {"a": {"const": "x"}}}, {"a": "y"}, 'must be "x"'),
        ({"properties": {"a": {"pattern": "^x$"}}}, {"a": "y"}, '"y" does not match "^x$"'),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [1, 1]}, "[1, 1]"),
        ({"properties": {"a": {"enum": []}}}, {"a": 1}, "lists none"),
        ({"unevaluatedProperties": False}, {"a": 1}, "there are none"),
    ],
)
def test_less_common_keywords_have_words_too(schema: Any, value: Any, word: str) -> None:
    (problem,) = problems(schema, value)
    assert word in problem


def test_a_format_is_an_annotation() -> None:
    # JSON Schema 2020-12, validation, 7.2.1
    assert compile_validator({"properties": {"d": {"format": "date"}}}).is_valid({"d": "tomorrow"})


def test_a_value_that_is_no_json_is_a_problem_and_no_exception() -> None:
    validator = compile_validator({})
    for value in ({"a": float("nan")}, {"a": b"x"}, {1: 2}, {"a": {1, 2}}, {"a": "\ud800"}, {"\ud800": 1}, 10**5000):
        result = validator.validate(value)
        assert not result.is_valid
        assert not validator.is_valid(value)


def test_a_value_is_checked_to_a_depth_of_64_and_refused_beyond() -> None:
    validator = compile_validator(
        {"$ref": "#/$defs/n", "$defs": {"n": {"additionalProperties": {"$ref": "#/$defs/n"}}}}
    )
    value: Any = {}
    for _ in range(63):
        value = {"a": value}
    assert validator.is_valid(value)
    assert validator.validate({"a": value}).error == "The value is nested deeper than 64 levels."
    for _ in range(100_000):
        value = {"a": value}
    assert not validator.is_valid(value)


def test_of_a_large_value_the_problems_of_the_first_items_are_named_quickly() -> None:
    rows = {"rows": [{"n": "x"} for _ in range(50_000)]}
    schema = {"properties": {"rows": {"minItems": 100, "items": {"properties": {"n": {"type": ["integer", "null"]}}}}}}
    started = time.process_time()
    result = compile_validator(schema).validate(rows)
    assert time.process_time() - started < 1
    assert result.errors[0].path == "/rows/0/n"
    rows["rows"][:100] = [{"n": "1"}] * 0 + [{}] * 100
    assert "too large to say where" in (compile_validator(schema).validate(rows).error or "")


def test_the_cache_compiles_a_schema_once_and_keeps_the_ones_used_last() -> None:
    cache = ValidatorCache(size=2)
    first = cache.get({"type": "object", "properties": {}})
    assert cache.get({"properties": {}, "type": "object"}) is first
    cache.get({}, key="second")
    cache.get({"properties": {}, "type": "object"})
    cache.get({"required": []}, key="third")
    assert len(cache) == 2
    assert cache.get({"type": "object", "properties": {}}) is first
    assert cache.get({"properties": {"other": {}}}, key="third").schema == {"required": []}


def test_the_cache_remembers_that_a_schema_is_unusable() -> None:
    cache = ValidatorCache()
    for _ in range(2):
        with pytest.raises(UnusableSchemaError, match="outside"):
            cache.get({"$ref": "https://example.com/schema"})
    assert len(cache) == 1
