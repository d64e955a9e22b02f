from typing import Any

import pytest

from toolcrib.catalog.tool import Tool
from toolcrib.search import ServerDocs
from toolcrib.search.documents import FIELDS, read
from toolcrib.search.fields import first_sentence, schema_words, tool_texts


@pytest.mark.parametrize(
    ("text", "first", "rest"),
    [
        ("Reads a file. Needs a path.", "Reads a file.", " Needs a path."),
        ("Version 2.0 of it", "Version 2.0 of it", ""),
        ("Wrapped over\ntwo lines. More", "Wrapped over\ntwo lines.", " More"),
        ("A heading\n\nThe text.", "A heading\n\n", "The text."),
        ("查询车票。需要日期。", "查询车票。", "需要日期。"),
        ("  \n Padded! Yes", "Padded!", " Yes"),
        ("", "", ""),
    ],
)
def test_the_first_sentence_ends_where_a_reader_ends_it(text: str, first: str, rest: str) -> None:
    assert first_sentence(text) == (first, rest)


def test_words_of_a_schema_come_from_every_level() -> None:
    schema: dict[str, Any] = {
        "description": "top",
        "properties": {
            "a": {"description": "da", "enum": ["e1", "e2", 3, None]},
            "b": {"items": {"properties": {"c": {"description": "dc"}}}},
            "d": {"anyOf": [{"properties": {"e": {}}}, {"$ref": "#/$defs/f"}]},
            "g": {"additionalProperties": {"description": "dg"}},
            "h": True,
        },
        "$defs": {"f": {"properties": {"i": {"description": "di"}}}},
    }
    words = schema_words(schema)
    assert sorted(words.names) == ["a", "b", "c", "d", "e", "g", "h", "i"]
    assert sorted(words.texts) == ["da", "dc", "dg", "di", "top"]
    assert words.enums == ["e1", "e2"]


@pytest.mark.parametrize("schema", [None, True, [], "x", {"properties": None}, {"anyOf": {}}, {"enum": "abc"}])
def test_a_schema_of_any_shape_gives_what_it_has(schema: object) -> None:
    words = schema_words(schema)
    assert words.names == words.texts == words.enums == []


def test_a_huge_schema_is_read_within_bounds() -> None:
    values = [str(k) for k in range(1_000)]
    wide = {"properties": {f"p{n}": {"enum": values} for n in range(10_000)}}
    words = schema_words(wide)
    assert len(words.enums) <= 30 * 2_000


def test_a_title_that_spells_the_name_adds_nothing() -> None:
    same = Tool("s.get_user", "s", "get_user", {"title": "Get User"})
    other = Tool("s.get_user", "s", "get_user", {"title": "Look a person up"})
    (document,) = read(ServerDocs("s"), [same])
    assert document.fields[FIELDS.index("name")].sequence == ["user"]
    (document,) = read(ServerDocs("s"), [other])
    assert document.fields[FIELDS.index("name")].sequence == ["user", "look", "person", "up"]


def test_a_servers_title_that_spells_its_id_is_its_name() -> None:
    tool = Tool("github.t", "github", "t", {})
    (document,) = read(ServerDocs("github", title="GitHub", description="Code"), [tool])
    assert document.fields[FIELDS.index("server")].sequence == ["git", "hub"]
    assert document.fields[FIELDS.index("server_text")].sequence == ["code"]
    (document,) = read(ServerDocs("github", title="Repositories"), [tool])
    assert document.fields[FIELDS.index("server")].sequence == ["github"]
    assert document.fields[FIELDS.index("server_text")].sequence == ["repositori"]


def test_groups_that_are_no_list_of_strings_are_left_out() -> None:
    key = "io.modelcontextprotocol/groups"
    assert tool_texts(Tool("s.t", "s", "t", {"_meta": {key: ["one", 2, "three"]}}))["tags"] == "one\nthree"
    assert tool_texts(Tool("s.t", "s", "t", {"_meta": {key: "one"}}))["tags"] == ""


def test_of_tools_with_one_id_the_last_counts() -> None:
    tools = [Tool("s.t", "s", "t", {"description": text}) for text in ("old", "new")]
    (document,) = read(ServerDocs("s"), tools)
    assert document.fields[FIELDS.index("first")].sequence == ["new"]
