"""Pages of a stored result: lines and items, selections and searches, each within its budget."""

import json
from typing import Any

import pytest

from toolcrib.broker import Excerpt, Page
from toolcrib.broker.results.pages import GREP_SECONDS, read_page
from toolcrib.broker.results.view import view_of
from toolcrib.errors import UsageError


def page_of(value: Any, **wanted: Any) -> Page:
    return read_page(view_of({"content": [], "structuredContent": value}), "r_x", "files.read", Excerpt(**wanted))


def all_pages(value: Any, **wanted: Any) -> list[Page]:
    pages = [page_of(value, **wanted)]
    while (following := pages[-1].next_offset) is not None:
        pages.append(page_of(value, **wanted, offset=following))
    return pages


def size(page: Page) -> int:
    return len(json.dumps({"content": page.content}, ensure_ascii=False, separators=(",", ":")).encode())


def last_line(page: Page) -> str:
    return page.content[-1]["text"]


@pytest.mark.parametrize("budget", [1_000, 5_000])
@pytest.mark.parametrize(
    "value",
    [
        [{"id": number, "quoted": '"\\'} for number in range(500)],
        "\n".join(f"line {number}" for number in range(2_000)),
        "x" * 30_000,
        "日本" * 5_000,
        "\x01" * 3_000,
        {"a": list(range(300)), "b": "text"},
    ],
    ids=["items", "lines", "one line", "other script", "control", "object"],
)
def test_pages_are_within_their_budget_and_together_the_whole(value: Any, budget: int) -> None:
    pages = all_pages(value, budget=budget)
    assert max(map(size, pages)) <= budget
    read = [unit for page in pages for unit in page.values]
    if isinstance(value, list):
        assert read == value
    elif isinstance(value, str):
        assert "".join(read) == value.replace("\n", "")
    else:
        assert json.loads("\n".join(read)) == value
    assert last_line(pages[-1]).endswith("the end)")


def test_offset_and_limit_count_items_and_say_what_is_left() -> None:
    page = page_of(list(range(100)), offset=10, limit=3)
    assert (page.values, page.next_offset, page.total) == ((10, 11, 12), 13, 100)
    assert last_line(page) == "(items 10 to 12 of 100; go on with offset=13)"


def test_an_offset_beyond_the_end_is_told() -> None:
    with pytest.raises(UsageError, match="only 3 items"):
        page_of([1, 2, 3], offset=3)


@pytest.mark.parametrize("value", [[], "", {}, None])
def test_nothing_has_one_page(value: Any) -> None:
    assert page_of(value, budget=1_000).next_offset is None


def test_a_selection_comes_first() -> None:
    value = {"items": [{"name": "a", "size": 1}, {"name": "b", "size": 2}]}
    assert page_of(value, select="items[?size>`1`].name").values == ("b",)
    assert page_of(value, select="items[0]").kind == "lines"


def test_grep_finds_items_and_lines_without_regard_to_case() -> None:
    page = page_of(["Alpha", "beta", "ALPS"], grep="^alp")
    assert (page.values, page.content[0]["text"]) == (("Alpha", "ALPS"), '0: "Alpha"\n2: "ALPS"')
    assert page_of("one\ntwo\nthree", grep="^t").values == ("two", "three")
    assert last_line(page_of("one\ntwo\nthree", grep="^t", limit=1)) == (
        "(1 lines match of 0 to 2, of 3; go on with offset=2)"
    )


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){25}$"])
def test_a_pattern_can_t_blow_up(pattern: str) -> None:
    assert page_of(["a" * 1_900 + "!"] * 20, grep=pattern + "x").values == ()


@pytest.mark.parametrize("pattern", ["(", "(?=a)", "a{1000}{1000}", "x" * 501])
def test_a_pattern_that_can_t_be_used_is_told(pattern: str) -> None:
    with pytest.raises(UsageError, match="can't be used"):
        page_of(["a"], grep=pattern)


def test_a_search_that_takes_long_says_where_to_go_on() -> None:
    ticks = iter([0.0, 0.0, GREP_SECONDS + 1])
    view = view_of({"content": [], "structuredContent": list(range(2_000))})
    page = read_page(view, "r_x", "t", Excerpt(grep="^7$"), lambda: next(ticks))
    assert (page.values, page.next_offset) == ((7,), 500)
    assert last_line(page) == "(1 items match of 0 to 500, of 2,000; the search took long; go on with offset=500)"


def test_an_item_larger_than_a_page_is_described_and_can_be_selected() -> None:
    value = ["small", {"body": "x" * 9_000}, "last"]
    page = page_of(value, budget=1_000)
    assert page.values == tuple(value)
    assert "select='[1]'" in page.content[0]["text"]
    assert "{body: string of 9,000 characters}" in page.content[0]["text"]
    inner = page_of({"rows": value}, select="rows[*].body", budget=1_000)
    assert "select='rows[*].body | [0]'" in inner.content[0]["text"]
    assert "".join(
        unit for page in all_pages({"rows": value}, select="rows[*].body | [0]", budget=1_000) for unit in page.values
    ) == ("x" * 9_000)


def test_several_parts_are_items_and_a_repetition_is_none() -> None:
    parts = [
        {"type": "text", "text": '{"a": 1}'},
        {"type": "text", "text": "hello"},
        {"type": "resource_link", "uri": "a:b"},
    ]
    page = read_page(view_of({"content": parts, "structuredContent": {"a": 1}}), "r_x", "t", Excerpt())
    assert page.values == ({"a": 1}, "hello", parts[2])


def test_an_image_among_items_stays_a_block_between_texts() -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    result = {"content": [{"type": "text", "text": "a"}, image, {"type": "text", "text": "b"}]}
    page = read_page(view_of(result), "r_x", "t", Excerpt(budget=1_000))
    assert [block["type"] for block in page.content] == ["text", "image", "text", "text"]
    assert read_page(view_of(result), "r_x", "t", Excerpt(select="[1]")).content[0] == image
    # What is selected of an image is told of it; its bytes are not among it.
    assert read_page(view_of(result), "r_x", "t", Excerpt(select="[1].data")).values == ("null",)
