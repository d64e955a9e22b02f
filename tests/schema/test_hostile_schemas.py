"""Small schemas and arguments that ask for much work: each is bounded, or refused with a reason."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.schema import UnusableSchemaError, coerce, compile_validator, example_call, nearest, signature
from toolcrib.schema.coercion import MOST_STEPS
from toolcrib.schema.compiling import MOST_LOCAL, MOST_NAME_PATTERNS, MOST_PATTERNS, local_work
from toolcrib.schema.conversion import LONGEST_JSON
from toolcrib.schema.validation import MOST_VALUES

GENEROUS = 2.0
"""Seconds of CPU that only guard: what is tested takes a fraction of it, and took a multiple before."""


def nested(width: int, levels: int) -> dict[str, Any]:
    """Unions in unions, whose last ones refer to the first; every schema an object of its own, as when parsed."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"$ref": "#/properties/e"}}, "required": ["a"]}
    for _ in range(levels):
        schema = {"anyOf": [schema] * width}
    return json.loads(json.dumps({"type": "object", "properties": {"e": schema}, "required": ["e"]}))


def referring(count: int) -> dict[str, Any]:
    defs = {"d": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(count)}}}
    return {"$defs": defs, "properties": {f"q{n}": {"allOf": [{"$ref": "#/$defs/d"}]} for n in range(count)}}


def anchored(count: int) -> dict[str, Any]:
    defs = {f"d{n}": {"$anchor": f"a{n}", "type": "string"} for n in range(count)}
    return {"$defs": defs, "properties": {f"q{n}": {"$ref": f"#a{n}"} for n in range(count)}}


HOSTILE: dict[str, tuple[Any, Any]] = {
    "unions of 6 on 3 levels": (nested(6, 3), {"e": {"a": {"a": '{"a": 1}'}}}),
    "unions of 6 on 4 levels": (nested(6, 4), {"e": {"a": {"a": '{"a": 1}'}}}),
    "unions of 30 on 2 levels": (nested(30, 2), {"e": "x"}),
    "unions of 2 on 8 levels": (nested(2, 8), {"e": {"a": "x"}}),
    "references to a large definition": (referring(1_500), {"q1": {"p1": 1}}),
    "anchors": (anchored(4_000), {"q1": 1}),
    "options listed in each error": (
        {"properties": {"e": {"items": {"enum": [f"v{n}" for n in range(20_000)]}}}},
        {"e": [f"V{n}" for n in range(2_000)]},
    ),
    "many forms of many items": (
        {"properties": {"e": {"items": {"anyOf": [{"required": [f"p{n}"]} for n in range(200)]}}}},
        {"e": [{"p": "1"}] * 1_000},
    ),
    "many missing names among many strangers": ({"required": [f"p{n}" for n in range(9_000)]}, {"p": 1, "q": 2}),
    "dependent names": (
        {"dependentRequired": {f"p{n}": [f"q{n}"] for n in range(9_000)}},
        {f"p{n}": 1 for n in range(9_000)},
    ),
    "unevaluated properties beside many schemas": (
        {"allOf": [{"properties": {f"p{n}": {}}} for n in range(5_000)], "unevaluatedProperties": False},
        {f"p{n}": 1 for n in range(9_000)},
    ),
}


def worked(schema: Any, arguments: Any) -> float:
    """Seconds of CPU that all that is done with a tool takes."""
    started = time.process_time()
    signature("s.t", schema, schema)
    assert isinstance(example_call(schema), dict)
    try:
        validator = compile_validator(schema)
    except UnusableSchemaError:
        assert coerce(arguments, schema).value is arguments
    else:
        repaired = coerce(arguments, validator)
        assert not validator.validate(repaired.value).is_valid or validator.is_valid(repaired.value)
    return time.process_time() - started


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_takes_bounded_work(name: str) -> None:
    assert worked(*HOSTILE[name]) < GENEROUS


@pytest.mark.parametrize("count", [5, 3_000])
def test_alternatives_that_refer_to_each_other_by_anchor_are_refused_however_large_the_document(count: int) -> None:
    defs: dict[str, Any] = {f"f{n}": {"type": "string"} for n in range(count)}
    defs |= {f"d{n}": {"$anchor": f"a{n}", "anyOf": [{"$ref": f"#a{n + 1}"}] * 2} for n in range(40)}
    defs["d40"] = {"$anchor": "a40", "type": "object"}
    with pytest.raises(UnusableSchemaError, match="refer to each other too many times"):
        compile_validator({"$ref": "#a0", "$defs": defs})


def test_more_patterns_than_can_be_compiled_are_refused() -> None:
    by_name = {f"^a{n}.*b$": {"type": "string"} for n in range(MOST_NAME_PATTERNS + 1)}
    with pytest.raises(UnusableSchemaError, match="more than 64 patterns of names"):
        compile_validator({"patternProperties": by_name})
    by_name.popitem()
    assert compile_validator({"patternProperties": by_name}).is_valid({"a1xb": "y"})
    with pytest.raises(UnusableSchemaError, match="more than 2,000 patterns"):
        compile_validator({"properties": {f"p{n}": {"pattern": f"x{n}"} for n in range(MOST_PATTERNS + 1)}})


def test_engines_of_inner_schemas_are_only_made_within_a_bound() -> None:
    # each of 300 references takes along a document of 303 objects
    large = {"$defs": {"d": {"type": "integer"}}, "properties": {f"q{n}": {"$ref": "#/$defs/d"} for n in range(300)}}
    assert local_work(large) > MOST_LOCAL
    validator = compile_validator(large)
    assert validator.engine_for(large["properties"]["q1"]) is None
    assert not validator.is_valid({"q1": "x"})
    small = referring(20)
    assert compile_validator(small).engine_for(small["properties"]["q1"]) is not None


def test_more_errors_than_are_looked_at_leave_arguments_as_they_are() -> None:
    validator = compile_validator({"properties": {"a": {"items": {"type": "integer"}}}})
    few, many = ({"a": [str(n) for n in range(count)]} for count in (MOST_STEPS // 2, MOST_STEPS + 1))
    assert coerce(few, validator).value == {"a": list(range(MOST_STEPS // 2))}
    assert coerce(many, validator).value is many


def test_a_string_too_long_to_be_read_as_json_is_left() -> None:
    validator = compile_validator({"properties": {"a": {"type": "object"}}})
    for length, read in ((LONGEST_JSON, True), (LONGEST_JSON + 1, False)):
        text = json.dumps({"k": ""})
        text = json.dumps({"k": "x" * (length - len(text))})
        assert bool(coerce({"a": text}, validator).changes) is read


def test_a_signature_of_many_parameters_counts_those_it_leaves_out() -> None:
    properties = {f"p{n}": {"type": "integer"} for n in range(20_000)}
    text = signature("s.t", {"properties": properties, "required": ["p19999"]})
    assert len(text) <= 400
    assert text.startswith("s.t(p19999: int, p0?: int, ")
    assert text.endswith(f"… {20_000 - text.count('int')} more)")


def test_names_are_compared_within_a_bound() -> None:
    assert nearest("titel", ["title", *(f"n{n}" * 9 for n in range(50_000))]) == "title"
    assert nearest("x" * 60, [f"{n}" * 20 for n in range(50_000)]) is None


def test_a_huge_bound_is_told_as_it_was_given() -> None:
    error = compile_validator({"minProperties": 10**20}).validate({"a": 1}).error
    assert error is not None
    assert "100000000000000000000" in error
    assert "18446744073709551615" not in error


def test_a_value_of_which_not_all_errors_are_listed_names_those_at_the_beginning() -> None:
    schema = {"properties": {"a": {"items": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}}}}
    result = compile_validator(schema).validate({"a": ["x"] * (MOST_VALUES - 10)})
    assert result.errors[0].path == "/a/0"


@st.composite
def unions(draw: st.DrawFn) -> dict[str, Any]:
    """Unions in unions, with references back to anywhere above."""
    width, levels = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    word = draw(st.sampled_from(["anyOf", "oneOf", "allOf"]))
    targets = st.sampled_from(["#", "#/properties/e", "#/properties/f", f"#/properties/e/{word}/0"])
    leaf = {
        "type": "object",
        "properties": {name: {"$ref": draw(targets)} for name in draw(st.sets(st.sampled_from("abc"), max_size=3))},
        "required": draw(st.sampled_from([[], ["a"], ["a", "b"]])),
    }
    schema: Any = leaf
    for level in range(levels):
        forms = [schema] * width if width**level <= 600 else [schema]
        schema = {word: forms} | ({"items": {"$ref": draw(targets)}} if draw(st.booleans()) else {})
    return json.loads(json.dumps({"type": "object", "properties": {"e": schema, "f": {"$ref": draw(targets)}}}))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    unions(), st.sampled_from(["x", '{"a": 1}', {"a": {"a": "x"}}, {"a": '{"b": "1"}', "b": [None]}, [{"a": 5}] * 9])
)
def test_unions_with_references_take_bounded_time(schema: Any, value: Any) -> None:
    assert worked(schema, {"e": value, "f": value}) < GENEROUS
