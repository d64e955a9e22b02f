"""Forms made from schemas: what they ask for, that they say whatever arguments there are, and what is wrong in them."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.console.forms import (
    MOST_PLACES,
    Field,
    Values,
    changed,
    count_places,
    fill,
    form_for,
    placed,
    read_form,
    show,
)
from toolcrib.schema import compile_validator, example_call
from toolcrib.schema.jsonvalues import same

TOOLS_APART = 5
"""Every fifth recorded tool is looked at: the others have the same kinds of schemas."""

Catalogs = dict[str, dict[str, Any]]


def member(schema: Any, *, required: bool = False, **beside: Any) -> Field:
    """The field of the parameter `x` of that schema."""
    whole = {"type": "object", "properties": {"x": schema}, **({"required": ["x"]} if required else {}), **beside}
    [field] = form_for(whole).members
    return field


@pytest.mark.parametrize(
    ("schema", "kind", "nullable"),
    [
        ({"type": "string"}, "text", False),
        ({"type": "integer"}, "integer", False),
        ({"type": "number"}, "number", False),
        ({"type": "boolean"}, "boolean", False),
        ({"type": ["string", "null"]}, "text", True),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}, "integer", True),
        ({"oneOf": [{"type": "null"}, {"enum": ["a", "b"]}]}, "choice", True),
        ({"type": "string", "nullable": True}, "text", True),
        ({"enum": ["a", "b"]}, "choice", False),
        ({"type": "string", "enum": ["a", None]}, "choice", False),
        ({"const": 5}, "choice", False),
        ({"type": "array", "items": {"type": "string"}}, "list", False),
        ({"items": {"type": "string"}}, "list", False),
        ({"type": "object", "properties": {"y": {"type": "string"}}}, "object", False),
        ({"properties": {"y": {}}}, "object", False),
        ({"allOf": [{"type": "string"}, {"maxLength": 5}]}, "text", False),
        ({"$ref": "#/$defs/name"}, "text", False),
        # What no field can ask for is asked for as JSON.
        ({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, "json", False),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}, "json", True),
        ({"type": ["string", "integer"]}, "json", False),
        ({"type": "object"}, "json", False),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "json", False),
        ({"type": "array"}, "json", False),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "json", False),
        ({}, "json", False),
        (True, "json", False),
        ({"$ref": "#/$defs/missing"}, "json", False),
        ({"$ref": "https://example.com/schema"}, "json", False),
        ({"type": "string", "enum": [str(number) for number in range(600)]}, "json", False),
    ],
)
def test_each_kind_of_schema_has_its_field(schema: Any, kind: str, nullable: bool) -> None:
    field = member(schema, **{"$defs": {"name": {"type": "string"}}})
    assert (field.kind, field.nullable) == (kind, nullable)


def test_a_constant_that_must_be_there_asks_for_nothing() -> None:
    schema = {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind"]}
    form = form_for(schema)
    assert [field.kind for field in form.members] == ["constant", "text"]
    assert read_form(form, {}).value == {"kind": "a"}


def test_required_parameters_come_first_with_their_description_and_rules() -> None:
    schema = {
        "type": "object",
        "properties": {
            "later": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
            "first": {"type": "string", "description": "What for.", "format": "date"},
        },
        "required": ["first"],
    }
    first, later = form_for(schema).members
    assert (first.key, first.required, first.about, first.rules) == ("first", True, "What for.", ("format date",))
    assert (later.required, later.rules) == (False, ("at least 1", "at most 9", "3 unless given"))
    assert member({"type": "string", "minLength": 1, "maxLength": 2}).rules == (
        "at least 1 character",
        "at most 2 characters",
    )


def test_a_schema_that_holds_itself_is_asked_for_as_json_where_it_begins_anew() -> None:
    node = {"type": "object", "properties": {"name": {"type": "string"}, "child": {"$ref": "#/$defs/node"}}}
    field = member({"$ref": "#/$defs/node"}, **{"$defs": {"node": node}})
    assert [(each.key, each.kind) for each in field.members] == [("name", "text"), ("child", "json")]


def test_a_form_is_bounded() -> None:
    wide = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(5000)}}
    kinds = [field.kind for field in form_for(wide).members]
    assert (kinds.count("text"), kinds.count("json")) == (300, 4700)
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(2000):
        deep = {"type": "object", "properties": {"x": deep}}
    assert form_for(deep).kind == "object"


@pytest.mark.parametrize("schema", [None, [], 5, "x", {"type": "array"}, {"anyOf": [{"properties": {"a": {}}}]}])
def test_what_is_no_object_is_asked_for_as_json_as_a_whole(schema: Any) -> None:
    assert form_for(schema).kind == "json"


FORM = form_for(
    {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "count": {"type": "integer"},
            "share": {"type": "number"},
            "sure": {"type": "boolean"},
            "who": {"type": ["string", "null"]},
            "level": {"enum": ["low", "high", 3]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "place": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "lines": {"type": "array", "items": {"type": "string"}}},
                "required": ["city", "lines"],
            },
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["title", "tags"],
    }
)


def test_what_is_blank_is_left_out_but_a_list_that_must_be_there() -> None:
    assert read_form(FORM, {"a.title": "", "a.count": "", "a.tags~rows": "1", "a.tags.0": ""}).value == {"tags": []}


def test_each_field_makes_a_value_of_its_kind() -> None:
    values = {
        "a.title": "One\r\nTwo",
        "a.count": " 12 ",
        "a.share": "1.50",
        "a.sure": "false",
        "a.who~null": "on",
        "a.level": "3",
        "a.tags~rows": "3",
        "a.tags.0": "x",
        "a.tags.1": "",
        "a.tags.2": "y",
        "a.place.city": "Ulm",
        "a.either~json": '"5"',
    }
    assert read_form(FORM, values).value == {
        "title": "One\nTwo",
        "count": 12,
        "share": 1.5,
        "sure": False,
        "who": None,
        "level": 3,
        "tags": ["x", "y"],
        "place": {"city": "Ulm", "lines": []},
        "either": "5",
    }


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"a.count": "1.5"}, "is not a whole number"),
        ({"a.count": "9" * 1001}, "is not a whole number"),
        ({"a.count": "٣"}, "is not a whole number"),
        ({"a.share": "much"}, "is not a number"),
        ({"a.share": "1e999"}, "is not a number"),
        ({"a.share": "nan"}, "is not a number"),
        ({"a.sure": "yes"}, "is neither true nor false"),
        ({"a.level": '"middle"'}, "is none of the choices"),
        ({"a.either~json": "hello"}, "is not JSON"),
        ({"a.either~json": "NaN"}, "NaN is no number of JSON"),
        ({"a.either~json": "1e999"}, "which JSON has no number for"),
        ({"a.either~json": "[" * 100_000}, "nested deeper"),
        ({"a.either~json": '"\\ud83d"'}, "surrogate"),
    ],
)
def test_what_cannot_be_read_is_a_problem_of_its_field(values: Values, problem: str) -> None:
    filled = read_form(FORM, values)
    [(place, told)] = filled.problems.items()
    assert place == next(iter(values)).partition("~")[0]
    assert problem in told


def test_problems_of_validation_stand_beside_their_fields() -> None:
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 2}},
            "either": {"anyOf": [{"type": "object", "required": ["z"]}, {"type": "integer"}]},
        },
        "required": ["title"],
    }
    form = form_for(schema)
    values = {"a.tags~rows": "2", "a.tags.0": "", "a.tags.1": "long", "a.either~json": '{"y": 1}'}
    filled = read_form(form, values)
    problems = placed(compile_validator(schema).validate(filled.value).errors, filled.places)
    # The blank row is left out, so the item is the first of the value and the second of the form.
    assert set(problems) == {"a.title", "a.tags.1", "a.either"}
    shown = show(form, values, problems)
    assert [bool(each.problems) for each in shown.members] == [True, False, True]
    assert [bool(row.problems) for row in shown.members[1].rows] == [False, True]


@pytest.mark.parametrize(
    "arguments",
    [
        {"title": ""},
        {"title": "a\rb"},
        {"count": 5.0},
        {"count": "5"},
        {"count": 10**900},
        {"share": 5},
        {"share": 1e-7},
        {"sure": None},
        {"who": None},
        {"level": "3"},
        {"level": True},
        {"tags": []},
        {"tags": [], "place": {}},
        {"tags": ["", "x"]},
        {"place": {"city": "Ulm", "lines": []}},
        {"place": {"city": "Ulm"}},
        {"unknown": {"a.b~json": 1}},
        {},
    ],
)
def test_whatever_arguments_there_are_the_form_says_them(arguments: Any) -> None:
    assert same(read_form(FORM, fill(FORM, arguments)).value, arguments)


def test_a_name_of_any_characters_is_a_place_of_its_own() -> None:
    names = ["a.b", "a", "a~json", "a~rows", "", "ä\ud83d", '"><script>', "0", "a%2Eb", "x" * 5000]
    form = form_for({"type": "object", "properties": {name: {"type": "string"} for name in names}})
    arguments = {name: f"value {at}" for at, name in enumerate(names)}
    values = fill(form, arguments)
    assert len(values) == len(names)
    assert all(place.isascii() and not set(place) & set('"<>&') for place in values)
    assert read_form(form, values).value == arguments


def test_rows_are_added_and_dropped() -> None:
    values: Values = fill(FORM, {"title": "t", "tags": ["x", "y", "z"]})
    fewer = changed(FORM, values, "drop a.tags.1")
    assert read_form(FORM, fewer).value == {"title": "t", "tags": ["x", "z"]}
    more = changed(FORM, fewer, "add a.tags")
    assert len(show(FORM, more).members[1].rows) == 3
    for nonsense in ("drop a.tags.9", f"drop a.tags.{'9' * 5000}", "drop a.tags.x", "drop a", "add", "", "fly a.tags"):
        assert read_form(FORM, changed(FORM, values, nonsense)).value == read_form(FORM, values).value
    odd = {**values, f"a.tags.{'9' * 5000}": "no row"}  # Python reads no number of so many digits
    assert read_form(FORM, changed(FORM, odd, "drop a.tags.1")).value == {"title": "t", "tags": ["x", "z"]}


def test_a_number_is_read_in_a_time_that_grows_with_its_length() -> None:
    digits = "1" * 100_000  # tried at each digit anew, this takes minutes
    assert read_form(FORM, {"a.share": f"{digits}x"}).problems == {"a.share": "is not a number"}
    assert read_form(FORM, {"a.share": f"{digits}.5x"}).problems == {"a.share": "is not a number"}
    assert read_form(FORM, {"a.share": "12.5e1"}).value["share"] == 125.0


def test_a_form_of_too_many_rows_is_told_from_one_that_a_browser_sends() -> None:
    schema: Any = {"type": "string"}
    for _ in range(3):
        schema = {"type": "array", "items": schema}
    form = form_for({"type": "object", "properties": {"x": schema}})
    assert count_places(form, {"a.x~rows": "3", "a.x.0~rows": "2"}) == 1 + 1 + 3 + 2
    rows = {f"a.x.{row}~rows": "200" for row in range(200)}
    assert count_places(form, {"a.x~rows": "200", **rows}) > MOST_PLACES
    large = {"a~json": json.dumps({"x": [[["t"] * 20] * 20] * 20})}
    assert changed(form, large, "form") == large
    deep = {"a.x~rows": "1", "a.x.0~json": "[" * 63 + "]" * 63}
    assert changed(form, deep, "form")


def test_the_whole_can_be_json_and_fields_again() -> None:
    values: Values = fill(FORM, {"title": "t", "tags": ["x"]})
    raw = changed(FORM, values, "json")
    assert json.loads(raw["a~json"]) == {"title": "t", "tags": ["x"]}
    assert changed(FORM, raw, "form") == values
    broken = {"a~json": "{"}
    assert changed(FORM, broken, "form") == broken


def test_every_recorded_form_says_its_example(catalogs: Catalogs) -> None:
    asked = as_json = 0

    def count(field: Field) -> None:
        nonlocal asked, as_json
        asked += 1
        as_json += field.kind == "json"
        for each in (*field.members, *([field.item] if field.item else [])):
            count(each)

    tools = [tool for catalog in catalogs.values() for tool in catalog["tools"]]
    for tool in tools[::TOOLS_APART]:
        form = form_for(tool["inputSchema"])
        count(form)
        example = example_call(tool["inputSchema"])
        values = fill(form, example)
        filled = read_form(form, values)
        assert not filled.problems, tool["name"]
        assert same(filled.value, example), tool["name"]
        show(form, values)
    # Few of the parameters that servers publish are no more than a box for JSON.
    assert as_json < asked * 0.06


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="session")
def forms(catalogs: Catalogs) -> list[Field]:
    tools = [tool for catalog in catalogs.values() for tool in catalog["tools"]]
    return [form_for(tool["inputSchema"]) for tool in tools[:: TOOLS_APART * 4]]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_recorded_form_says_arguments_of_any_kind(forms: list[Field], data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(forms))
    names = st.sampled_from([each.key for each in form.members] or [""]) | st.text(max_size=5)
    arguments = data.draw(st.dictionaries(names, JSON, max_size=4))
    values = fill(form, arguments)
    filled = read_form(form, values)
    # Nothing is ever sent that is not JSON: half a surrogate pair can't be said, only pointed out.
    if filled.problems:
        assert any("surrogate" in problem for problem in filled.problems.values())
    else:
        constant = {each.key for each in form.members if each.kind == "constant"}
        assert same({k: v for k, v in filled.value.items() if k in arguments or k not in constant}, arguments)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_filled_in_is_read_or_pointed_out(forms: list[Field], data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(forms))
    places = [f"a.{each.key}{suffix}" for each in form.members for suffix in ("", "~json", "~null", "~rows", ".0")]
    values = data.draw(st.dictionaries(st.sampled_from([*places, "a"]), st.text(max_size=12), max_size=6))
    filled = read_form(form, values)
    json.dumps(filled.value).encode()
    show(form, values, {place: [problem] for place, problem in filled.problems.items()})
    for verb in ("json", "form", "add a", "drop a.0"):
        changed(form, values, verb)
