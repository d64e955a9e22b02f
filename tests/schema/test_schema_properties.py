"""What holds for any schema and any value: verdicts, repair, signatures and examples."""

import copy
import json
from typing import Any

import jsonschema
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from toolcrib.schema import coerce, compile_validator, example_call, parameter_identifiers, signature

NAMES = st.sampled_from(["a", "b", "from", "from_", "c-d", "c_d"])
WORDS = st.sampled_from(
    ["", "a", "A", "open", "Open", "5", "5.0", "-1", "true", "True", "[1]", '{"a": "5"}', '["a"]', "null"]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 9), st.sampled_from([0.5, 5.0]), WORDS)


def values(depth: int = 3) -> st.SearchStrategy[Any]:
    """JSON values over a small alphabet, at most some levels deep."""
    if depth == 0:
        return SCALARS
    inner = values(depth - 1)
    return st.one_of(SCALARS, st.lists(inner, max_size=3), objects(depth))


def objects(depth: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects over a small alphabet."""
    return st.dictionaries(NAMES, values(depth - 1), max_size=4)


def schemas(depth: int = 3) -> st.SearchStrategy[Any]:
    """Valid schemas of 2020-12 with the keywords that published tools use."""
    scalar = st.one_of(
        st.sampled_from(
            [{"type": kind} for kind in ("string", "integer", "number", "boolean", "null", "array", "object")]
        ),
        st.sampled_from(
            [{"type": ["integer", "null"]}, {"type": ["string", "integer"]}, {"type": ["boolean", "array"]}]
        ),
        st.builds(lambda options: {"enum": options}, st.lists(SCALARS, min_size=1, max_size=3)),
        st.builds(lambda low: {"type": "integer", "minimum": low}, st.integers(-2, 4)),
        st.builds(lambda value: {"const": value}, SCALARS),
        st.sampled_from([{}, {"pattern": "^[a-z]+$"}, {"type": "string", "minLength": 2}, True]),
    )
    if depth == 0:
        return scalar
    inner = schemas(depth - 1)
    return st.one_of(
        scalar,
        object_schemas(depth),
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(
            lambda word, forms: {word: forms},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
        st.builds(lambda target: {"$ref": "#/$defs/x", "$defs": {"x": target}} if depth == 3 else target, inner),
    )


@st.composite
def object_schemas(draw: st.DrawFn, depth: int = 3) -> dict[str, Any]:
    """Schemas of objects with declared members."""
    properties = draw(st.dictionaries(NAMES, schemas(depth - 1), max_size=4))
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if properties:
        schema["required"] = draw(st.lists(st.sampled_from(sorted(properties)), unique=True, max_size=2))
    extra = draw(st.sampled_from([None, False, {"type": "integer"}]))
    if extra is not None:
        schema["additionalProperties"] = extra
    return schema


def is_valid(schema: Any, value: Any) -> bool:
    """The verdict of another library."""
    return jsonschema.Draft202012Validator(schema).is_valid(value)


def same(left: Any, right: Any) -> bool:
    """Equal as JSON text: true is not 1, and 1 is not 1.0."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


@given(schemas(), values())
def test_the_verdict_is_that_of_another_library(schema: Any, value: Any) -> None:
    validator = compile_validator(schema, any_root=True)
    expected = is_valid(schema, value)
    assert validator.is_valid(value) is expected
    result = validator.validate(value)
    assert result.is_valid is expected
    assert all(problem.message for problem in result.errors)


@settings(max_examples=30)
@given(object_schemas(), objects())
def test_repair_leaves_what_is_valid_as_it_is(schema: Any, value: Any) -> None:
    assume(is_valid(schema, value))
    coerced = coerce(value, compile_validator(schema))
    wires = {name: wire for wire, name in parameter_identifiers(schema["properties"]).items() if wire != name}
    if any(key in wires and wires[key] not in value for key in value.keys() - schema["properties"].keys()):
        # an unknown parameter that is the identifier of a known one is renamed in any case
        assert any("renamed" in change for change in coerced.changes)
    else:
        assert coerced.value is value
        assert coerced.changes == ()


@given(object_schemas(), st.one_of(values(), objects()))
def test_repair_changes_a_copy_and_repeated_changes_nothing_more(schema: Any, value: Any) -> None:
    validator = compile_validator(schema)
    before = copy.deepcopy(value)
    once = coerce(value, validator)
    assert same(value, before)
    assert bool(once.changes) is not same(once.value, value)
    twice = coerce(once.value, validator)
    assert twice.changes == ()
    assert same(twice.value, once.value)


@settings(max_examples=50)
@given(object_schemas())
def test_an_example_call_is_valid_where_no_arguments_at_all_are(schema: Any) -> None:
    example = example_call(schema)
    assert set(example) <= set(schema["properties"]) | set(schema.get("required", ()))
    assert is_valid(schema, example) or not is_valid(schema, {})


@settings(max_examples=50)
@given(schemas(), schemas(), st.integers(60, 400))
def test_a_signature_keeps_its_bound_on_one_line(schema: Any, result: Any, limit: int) -> None:
    text = signature("server.tool", schema, result, limit=limit)
    assert text.startswith("server.tool(")
    assert len(text) <= limit
    assert "\n" not in text
