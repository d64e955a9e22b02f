import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.errors import UsageError
from toolcrib.search import (
    Browse,
    Hit,
    Needs,
    Pattern,
    Query,
    Select,
    decode_cursor,
    encode_cursor,
    merge_needs,
    parse_query,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, Browse()),
        ("", Browse()),
        (" \n\t", Browse()),
        ("create an issue", Needs(("create an issue",))),
        ("  create an issue\n", Needs(("create an issue",))),
        ("- create an issue\n* send mail\n• read file", Needs(("create an issue", "send mail", "read file"))),
        ("1. create\n2) send\n(3) read\na) list", Needs(("create", "send", "read", "list"))),
        ("- [ ] create\n- [x] send", Needs(("create", "send"))),
        ("create\r\n\r\nsend\ncreate", Needs(("create", "send"))),
        ("404 errors", Needs(("404 errors",))),
        ("-v flag", Needs(("-v flag",))),
        ("3.5 turbo", Needs(("3.5 turbo",))),
        ("null", Needs(("null",))),
        ("*", Needs(("*",))),
        ("select a file", Needs(("select a file",))),
        ("select:a.b", Select(("a.b",))),
        ("Select: a.b, `c.d`;e.f\ng.h a.b", Select(("a.b", "c.d", "e.f", "g.h"))),
        ("/foo.*bar/", Pattern("foo.*bar")),
        ("/foo/i", Pattern("foo")),
        ("/foo. bar/six", Pattern("(?sx)foo. bar")),
        ("regex: ^list_", Pattern("^list_")),
        ("/etc/passwd", Needs(("/etc/passwd",))),
        ("//", Needs(("//",))),
        ("regex", Needs(("regex",))),
    ],
)
def test_a_query_is_understood_in_each_of_its_forms(text: str | None, expected: Query) -> None:
    assert parse_query(text) == expected


@pytest.mark.parametrize("text", ["select:", "select: , ;", "regex:", "regex:  "])
def test_a_form_without_content_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(UsageError, match="followed by nothing") as caught:
        parse_query(text)
    assert caught.value.hint


def test_many_lines_are_a_text_that_was_pasted() -> None:
    text = "\n".join(f"line {n}" for n in range(13))
    assert parse_query(text) == Needs((text,))


@given(st.text())
def test_any_text_is_a_query_or_refused(text: str) -> None:
    try:
        query = parse_query(text)
    except UsageError:
        return
    if isinstance(query, Needs):
        assert all(query.needs)


def hits(*names: str, weak: bool = False) -> list[Hit]:
    return [Hit(name, 1 / (at + 1), weak=weak) for at, name in enumerate(names)]


def names(found: list[Hit]) -> list[str]:
    return [hit.tool_id for hit in found]


def test_each_need_is_served_in_turn() -> None:
    merged = merge_needs([hits("a", "b", "c"), hits("x", "y"), []], 10)
    assert names(merged) == ["a", "x", "b", "y", "c"]


def test_a_tool_that_serves_two_needs_is_listed_once() -> None:
    assert names(merge_needs([hits("a", "b"), hits("a", "c")], 10)) == ["a", "b", "c"]


def test_a_tool_that_is_weak_for_one_need_and_right_for_another_is_right() -> None:
    (hit,) = merge_needs([hits("a", weak=True), hits("a")], 10)
    assert not hit.weak


def test_a_longer_list_begins_like_a_shorter_one() -> None:
    lists = [hits("a", "b", "c", "d"), hits("c", "x", "a", "y"), hits("z")]
    whole = names(merge_needs(lists, 100))
    for limit in range(len(whole) + 1):
        assert names(merge_needs(lists, limit)) == whole[:limit]
    assert merge_needs(lists, -1) == []
    assert merge_needs([], 5) == []


@given(scope=st.text(), offset=st.integers(0, 10**9))
def test_a_cursor_leads_back_to_its_place(scope: str, offset: int) -> None:
    cursor = encode_cursor(scope, offset)
    assert decode_cursor(cursor, scope) == offset
    assert cursor.isascii()
    assert not set(cursor) & set("+/= ")


def test_a_cursor_fits_only_its_own_list() -> None:
    cursor = encode_cursor("create an issue 17", 8)
    for other in ("create an issue 18", "create an issue", ""):
        with pytest.raises(UsageError, match="does not belong") as caught:
            decode_cursor(cursor, other)
        assert "without a cursor" in caught.value.hint


@given(cursor=st.text(max_size=40))
def test_no_other_text_is_a_cursor(cursor: str) -> None:
    with pytest.raises(UsageError):
        decode_cursor(cursor, "scope")


def test_a_cursor_of_which_a_character_is_changed_is_none() -> None:
    cursor = encode_cursor("scope", 123_456)
    for at in range(len(cursor)):
        changed = cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :]
        with pytest.raises(UsageError):
            decode_cursor(changed, "scope")
