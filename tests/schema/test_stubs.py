"""Stubs: what a schema becomes as a type of Python and of TypeScript, and that the checker of scripts takes it."""

from typing import Any

import pytest
from pydantic_monty import Monty

from toolcrib.sandbox.monty.checking import types_of
from toolcrib.sandbox.monty.prelude import STUBS
from toolcrib.schema.stubs import StubTool, python_stubs, typescript_stubs


def tool(properties: dict[str, Any], output: Any = None, **more: Any) -> StubTool:
    schema = {"type": "object", "properties": properties, **more}
    return StubTool("gh.create", schema, output, "Make an issue. And more.")


def python(each: StubTool) -> str:
    return python_stubs([each]).partition("TypedDict\n\n")[2]


def findings(stubs: str, code: str) -> list[tuple[str, int]]:
    with (
        Monty() as pool,
        pool.checkout(type_check=True, type_check_stubs=STUBS + stubs, type_check_format="json") as it,
    ):
        return [(finding.rule, finding.line) for finding in types_of(it, code)]


def test_a_tool_becomes_a_method_with_keyword_only_parameters_and_one_line_of_documentation():
    made = tool(
        {"labels": {"type": "array", "items": {"type": "string"}}, "title": {"type": "string"}}, required=["title"]
    )
    assert python(made) == (
        "class _gh:\n"
        "    async def create(self, *, title: str, labels: list[str] = ...) -> Any:\n"
        '        """Make an issue."""\n'
        "gh: _gh\n"
    )
    assert "create(args: { labels?: Array<string>; title: string }): Promise<any>;" in typescript_stubs([made])


@pytest.mark.parametrize(
    ("schema", "in_python", "in_typescript"),
    [
        ({"type": "integer"}, "int", "number"),
        ({"type": "number"}, "float", "number"),
        ({"type": ["string", "null"]}, "str | None", "string | null"),
        ({"type": "string", "nullable": True}, "str | None", "string | null"),
        ({"enum": ["open", 1, True, None]}, 'Literal["open", 1, True, None]', '"open" | 1 | true | null'),
        ({"const": 'a"b'}, 'Literal["a\\"b"]', '"a\\"b"'),
        ({"enum": [1.5, 2]}, "float | int", "number | number"),
        ({"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}, "str | list[Any]", "string | Array<any>"),
        ({"anyOf": [{"type": "string"}, {}]}, "Any", "any"),
        ({"type": "object"}, "dict[str, Any]", "Record<string, any>"),
        ({"additionalProperties": {"type": "integer"}, "type": "object"}, "dict[str, int]", "Record<string, number>"),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "null"}]},
            "list[str | None]",
            "Array<string | null>",
        ),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "str", "string"),
        ({"$ref": "#/nowhere"}, "Any", "any"),
        (True, "Any", "any"),
        (False, "Never", "never"),
        ({}, "Any", "any"),
        ({"type": "file"}, "Any", "any"),
    ],
)
def test_a_schema_becomes_a_type(schema: Any, in_python: str, in_typescript: str):
    made = tool({"x": schema}, required=["x"])
    assert f"(self, *, x: {in_python}) ->" in python_stubs([made])
    assert f"create(args: {{ x: {in_typescript} }})" in typescript_stubs([made])


def test_objects_become_typed_dictionaries():
    inner = {"type": "object", "properties": {"a": {"type": "string"}, "b-c": {}, "from": {}}, "required": ["a"]}
    plain = {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}
    text = python(tool({"x": plain, "y": inner}))
    assert "class _gh__create__x(TypedDict):\n    a: str\n    b: NotRequired[Any]\n" in text
    assert (
        '_gh__create__y = TypedDict("_gh__create__y", '
        '{"a": str, "b-c": NotRequired[Any], "from": NotRequired[Any]})\n' in text
    )
    code = 'await gh.create(x={"a": "1"}, y={"a": "1", "b-c": 2})'
    assert findings(python_stubs([tool({"x": plain, "y": inner})]), code) == []
    assert ("missing-typed-dict-key", 1) in findings(python_stubs([tool({"x": plain})]), 'await gh.create(x={"b": 1})')


def test_what_refers_to_itself_gets_a_name():
    schema = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Node"}, "json": {"$ref": "#/$defs/Json"}},
        "$defs": {
            "Node": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Node"}}},
            "Json": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/Json"}}]},
            "Loop": {"$ref": "#/$defs/Loop"},
        },
    }
    made = StubTool("gh.create", schema, {"$ref": "#/$defs/Loop", "$defs": schema["$defs"]})
    text = python_stubs([made])
    assert "class _gh__create__Node(TypedDict):\n    left: NotRequired[_gh__create__Node]" in text
    assert "type _gh__create__Json = str | list[_gh__create__Json]" in text
    code = 'await gh.create(tree={"left": {"left": {}}}, json=["a", ["b"]])'
    assert findings(text, code) == []
    assert findings(text, 'await gh.create(json=["a", [5]])') == [("invalid-argument-type", 1)]


def test_a_reference_with_keywords_beside_it_is_both():
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/Base", "description": "only words"},
            "b": {"$ref": "#/$defs/Base", "properties": {"more": {"type": "integer"}}, "required": ["more"]},
        },
        "$defs": {"Base": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}},
    }
    text = python_stubs([StubTool("gh.create", schema)])
    assert "class _gh__create__b(TypedDict):\n    more: int\n    id: str\n" in text
    assert "a: _gh__create__Base = ..." in text


def test_a_union_at_the_root_leaves_to_choice_what_only_one_form_requires():
    schema = {
        "anyOf": [
            {"properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"b": {"type": "integer"}}},
        ]
    }
    made = StubTool("gh.create", {"type": "object", **schema})
    assert "create(self, *, a: str = ..., b: int = ...)" in python_stubs([made])


def test_parameters_that_are_no_identifiers_have_the_names_that_calls_accept():
    made = tool({"from": {}, "auth-method": {}, "a b": {}, "a_b": {}})
    text = python_stubs([made])
    assert "from_: Any" in text
    assert "auth_method: Any" in text
    assert findings(text, "await gh.create(from_=1, auth_method=2, a_b=3)") == []
    assert '"auth-method"?: any; "a b"?: any; a_b?: any' in typescript_stubs([made])


def test_what_may_have_more_members_takes_more():
    assert "create(self, **more: Any)" in python_stubs([StubTool("gh.create", None)])
    assert "create(self, *, a: Any = ..., **more: Any)" in python_stubs([tool({"a": {}}, additionalProperties=True)])
    assert "create(self)" in python_stubs([tool({})])
    open_one = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True}
    text = python_stubs([tool({"x": open_one})])
    assert findings(text, 'await gh.create(x={"a": "1", "b": 2})') == []


def test_results_have_types_whatever_they_are():
    listed = tool({}, {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}})
    assert "-> list[_gh__create__result]:" in python_stubs([listed])
    assert findings(python_stubs([listed]), 'for each in await gh.create():\n    print(each["id"] + 1)') == []
    assert findings(python_stubs([listed]), 'x = (await gh.create())[0]["name"]') == [("invalid-key", 1)]
    assert "-> str:" in python_stubs([tool({}, {"type": "string"})])
    seen = StubTool("gh.create", {"type": "object"}, None, seen="{id: int, *name: str}\n")
    assert "    # seen before: {id: int, *name: str}\n" in python_stubs([seen])
    assert "/** Seen before: {id: int, *name: str} */" in typescript_stubs([seen])


def test_a_description_can_not_get_out_of_its_place():
    odd = 'Say """ and \\ and "\nclass Evil: ... */ evil()"'
    made = StubTool("gh.create", {"type": "object"}, None, odd)
    assert findings(python_stubs([made]), "await gh.create()") == []
    assert findings(python_stubs([made]), "Evil()") == [("unresolved-reference", 1)]
    assert "*/ evil" not in typescript_stubs([made])


def test_an_option_can_not_get_out_of_its_place():
    made = tool({"x": {"enum": ['a"]\nclass Evil: ...', "b\u2028"]}})
    assert "x: str = ..." in python_stubs([made])


def test_flat_names_take_keywords_or_one_object():
    made = tool({"title": {"type": "string"}}, required=["title"])
    text = python_stubs([made], {"gh_create": "gh.create"})
    assert findings(text, 'await gh_create(title="a")\nawait gh_create({"title": "a"})') == []
    assert findings(text, "await gh_create(titel=1)") == [("no-matching-overload", 1)]
    assert "declare function gh_create(args: { title: string })" in typescript_stubs([made], {"gh_create": "gh.create"})


def test_tools_of_several_servers_share_no_type():
    schema = {"type": "object", "properties": {"x": {"type": "object", "properties": {"a": {}}}}}
    tools = [StubTool("gh.a", schema), StubTool("gh.a_", schema), StubTool("jira.a", schema)]
    text = python_stubs(tools)
    assert text.count("(TypedDict)") == 3
    assert findings(text, 'await gh.a(x={"a": 1})\nawait gh.a_(x={})\nawait jira.a(x={"a": 2})') == []


def test_a_schema_without_end_becomes_a_stub_of_bounded_size():
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"a": deep, "b": deep}}
    made = StubTool("gh.create", deep, deep)
    assert len(python_stubs([made])) < 200_000
    assert len(typescript_stubs([made])) < 200_000
