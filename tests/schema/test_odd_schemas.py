"""Schemas that no tool should have, and some do."""

import threading
import time
from typing import Any

import pytest

from toolcrib.schema import UnusableSchemaError, coerce, compile_validator, example_call, signature, type_name

SELF = {"$ref": "#"}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


def doubling(levels: int) -> dict[str, Any]:
    """Each definition refers twice to the next: checking a scalar takes 2 to the power of `levels` steps."""
    defs: dict[str, Any] = {f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(levels)}
    return {"$defs": {**defs, f"d{levels}": {"type": "object"}}, "$ref": "#/$defs/d0"}


def chained(length: int, *, last: dict[str, Any]) -> dict[str, Any]:
    defs: dict[str, Any] = {f"d{step}": {"$ref": f"#/$defs/d{step + 1}"} for step in range(length)}
    return {"$defs": {**defs, f"d{length}": last}, "$ref": "#/$defs/d0"}


UNUSABLE: dict[str, tuple[Any, str]] = {
    "none": (None, "not an object"),
    "list": ([], "not an object"),
    "string": ("object", "not an object"),
    "number": (5, "not an object"),
    "false": (False, "nothing fits"),
    "required is no list": ({"required": "a"}, "/required"),
    "required is a truth value": (
        {"properties": {"a": {"type": "string", "required": True}}},
        "/properties/a/required",
    ),
    "unknown type": ({"type": "str"}, "/type"),
    "properties is a list": ({"properties": []}, "/properties"),
    "root is an array": ({"type": "array"}, "takes array"),
    "root is never an object": ({"type": ["string", "null"]}, "takes string or null"),
    "root refers to no object": ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, "takes string"),
    "network reference": ({"$ref": "https://example.com/s.json"}, "https://example.com/s.json, which is outside"),
    "unused network reference": ({"properties": {"a": {"$ref": "http://127.0.0.1/x"}}}, "outside"),
    "file reference": ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "outside"),
    "reference to another document": ({"properties": {"a": {"$ref": "other.json#/a"}}}, "outside"),
    "dangling reference": ({"properties": {"a": {"$ref": "#/$defs/gone"}}}, "not there"),
    "reference to itself": (SELF, "applies itself"),
    "alternatives that are itself": ({"anyOf": [SELF, {"type": "object"}]}, "applies itself"),
    "circle of references": (
        {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}},
        "applies itself",
    ),
    "too deep": (nested(70), "deeper than 128"),
    "far too deep": (nested(20_000), "deeper than 128"),
    "chain of references": (chained(20_000, last={"type": "object"}), "applies itself"),
    "doubling": (doubling(40), "too many times"),
    "not a number": ({"minimum": float("nan")}, "no number"),
    "half a surrogate pair": ({"properties": {"\ud800": {}}}, "surrogate"),
    "broken pattern under not": ({"properties": {"a": {"not": {"pattern": "[\\w-.]"}}}}, "dialect"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_schema_is_refused_with_a_reason(name: str) -> None:
    schema, reason = UNUSABLE[name]
    with pytest.raises(UnusableSchemaError) as caught:
        compile_validator(schema)
    assert reason in caught.value.reason
    assert len(caught.value.reason) < 300
    assert caught.value.code == "schema_unusable"


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_tool_with_an_unusable_schema_still_has_a_signature_and_an_example(name: str) -> None:
    schema, _ = UNUSABLE[name]
    assert len(signature("s.t", schema, schema)) <= 400
    assert isinstance(example_call(schema), dict)
    assert coerce({"a": "5"}, schema).value == {"a": "5"}


USABLE: dict[str, tuple[Any, dict[str, Any] | None, dict[str, Any] | None]] = {
    "true": (True, {"anything": [1]}, None),
    "empty": ({}, {"a": 1}, None),
    "no type": ({"properties": {"a": {"type": "integer"}}}, {"a": 1}, {"a": "x"}),
    "no properties": ({"type": "object"}, {"a": 1}, None),
    "null as default of a string": ({"properties": {"a": {"type": "string", "default": None}}}, {}, {"a": None}),
    "unknown dialect": ({"$schema": "https://example.com/dialect", "required": ["a"]}, {"a": 1}, {}),
    "draft-07 tuple": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": {"a": {"items": [{"type": "integer"}], "additionalItems": False}},
        },
        {"a": [1]},
        {"a": [1, 2]},
    ),
    "draft-07 ignores what stands beside a reference": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"i": {"type": "integer"}},
            "properties": {"a": {"$ref": "#/definitions/i", "minimum": 3}},
        },
        {"a": 1},
        {"a": "x"},
    ),
    "2020-12 heeds what stands beside a reference": (
        {"$defs": {"i": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/i", "minimum": 3}}},
        {"a": 3},
        {"a": 1},
    ),
    "draft-07 tuple without a dialect": (
        {"properties": {"a": {"items": [{"type": "integer"}]}}},
        {"a": [1]},
        {"a": ["x"]},
    ),
    "draft-04 bound without a dialect": (
        {"properties": {"a": {"minimum": 1, "exclusiveMinimum": True}}},
        {"a": 2},
        {"a": 1},
    ),
    "reference to the root": ({"type": "object", "properties": {"a": SELF}}, {"a": {"a": {}}}, {"a": {"a": 1}}),
    "reference to a sibling": (
        {"properties": {"a": {"type": "integer"}, "b": {"$ref": "#/properties/a"}}},
        {"b": 1},
        {"b": "x"},
    ),
    "definitions that refer to each other": (
        {
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/leaf"}}},
                },
                "leaf": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "integer"}]},
            },
            "$ref": "#/$defs/node",
        },
        {"kids": [1, {"kids": [2]}]},
        {"kids": [1, {"kids": ["x"]}]},
    ),
    "anchor": (
        {"$defs": {"x": {"$anchor": "it", "type": "integer"}}, "properties": {"a": {"$ref": "#it"}}},
        {"a": 1},
        {"a": ""},
    ),
    "own id": (
        {
            "$id": "https://example.com/root",
            "$defs": {"x": {"type": "integer"}},
            "properties": {"a": {"$ref": "https://example.com/root#/$defs/x"}},
        },
        {"a": 1},
        {"a": ""},
    ),
    "reference with characters that no URI has": (
        {"$defs": {"List<é x>": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/List<é x>"}}},
        {"a": 1},
        {"a": ""},
    ),
    "depth of 12": (nested(12), None, {"a": {"a": {}}}),
    "lookahead": ({"properties": {"a": {"pattern": "^(?!x).*$"}}}, {"a": "a"}, {"a": "x"}),
}


@pytest.mark.parametrize("name", USABLE)
def test_an_odd_schema_that_can_be_used_is_used(name: str) -> None:
    schema, good, bad = USABLE[name]
    validator = compile_validator(schema)
    assert validator.is_valid(example_call(schema))
    assert good is None or validator.is_valid(good)
    assert bad is None or not validator.is_valid(bad)
    assert len(signature("s.t", schema)) <= 400


def test_a_pattern_in_an_unknown_dialect_is_left_out_and_the_rest_is_checked() -> None:
    # valid in ECMAScript without the flag `u`, and in no other dialect
    schema = {
        "properties": {"a": {"type": "string", "pattern": "[\\w-.]"}, "b": {"type": "integer"}},
        "patternProperties": {"[\\w-.]+": {"type": "string"}},
        "additionalProperties": False,
    }
    validator = compile_validator(schema)
    assert set(validator.unchecked) == {"/properties/a/pattern", "/patternProperties/[\\w-.]+"}
    assert validator.is_valid({"a": "?", "c": 5})
    assert not validator.is_valid({"a": 1})
    assert not validator.is_valid({"b": "x"})
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(?=a)(a+)+$", "^((a+)+)+(?!x)b\\1$", "^(a|aa)+$", "(.*a){20}"])
def test_no_pattern_takes_long(pattern: str) -> None:
    validator = compile_validator({"properties": {"a": {"type": "string", "pattern": pattern}}})
    started = time.process_time()
    validator.validate({"a": "a" * 20_000 + "b"})
    assert time.process_time() - started < 1


def test_a_recursive_schema_with_alternatives_takes_no_exponential_time() -> None:
    node: dict[str, Any] = {"$ref": "#/$defs/n"}
    forms = [
        {"type": "object", "properties": {"c": node}, "required": ["c"]},
        {"type": "object", "properties": {"c": node}},
    ]
    validator = compile_validator({"$defs": {"n": {"oneOf": [*forms, {"type": "string"}]}}, "$ref": "#/$defs/n"})
    value: Any = 5
    started = time.process_time()
    for _ in range(40):
        value = {"c": value}
        assert not validator.validate(value).is_valid
        coerce(value, validator)
    assert time.process_time() - started < 3


def test_a_schema_that_nests_references_is_safe_on_a_small_stack() -> None:
    # 512 kB is what threads have on macOS; the engine recurses and would end the process
    finished: list[bool] = []

    def check() -> None:
        value: Any = "x"
        for _ in range(64):
            value = {"a": value}
        for length in (5, 20, 100, 190):
            last = {"type": ["object", "string"], "additionalProperties": {"$ref": "#/$defs/d0"}}
            validator = compile_validator(chained(length, last=last))
            validator.validate(value)
            validator.validate({"a": {"a": {"a": 5}}})
        finished.append(True)

    previous = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=check)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(previous)
    assert finished


def test_205_parameters_of_any_name_are_told_apart() -> None:
    names = [f"p {n}" for n in range(50)] + [f"p/{n}" for n in range(50)] + [f"p.{n}" for n in range(50)]
    names += [f"名{n}" for n in range(50)] + ["from", "x" * 200, "", "DateCreated<", "DateCreated>"]
    schema = {"properties": {name: {"type": "integer"} for name in names}, "required": names}
    validator = compile_validator(schema)
    assert len(validator.validate({}).errors) == 21
    assert validator.is_valid(example_call(schema))
    text = signature("s.t", schema)
    assert len(text) <= 400
    assert "more)" in text
    assert coerce({"from_": "5"}, validator).value == {"from": 5}


def test_schemas_of_results_may_be_of_any_type() -> None:
    validator = compile_validator({"type": "array", "items": {"type": "integer"}}, any_root=True)
    assert validator.is_valid([1])
    assert not validator.is_valid({})


def test_a_type_is_rendered_for_any_schema() -> None:
    assert type_name(False) == "never"
    assert type_name(True) == type_name({}) == type_name([]) == "any"
    assert type_name(SELF) == "any"
