import itertools
import time
from collections.abc import Callable

import anyio
import pytest

from toolcrib.catalog.tool import Tool
from toolcrib.catalog.visible import VisibleSet
from toolcrib.errors import UsageError
from toolcrib.search import RegexSearcher, Searcher, ServerDocs, search_pattern

pytestmark = pytest.mark.anyio

MakeTool = Callable[..., Tool]
Fill = Callable[[Searcher], Searcher]


async def found(searcher: Searcher, pattern: str) -> list[str]:
    return [hit.tool_id for hit in await searcher.search(pattern, 10)]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^github\\.", ["github.create_issue", "github.listPullRequests", "github.search_code"]),
        ("messages?$", ["mail.search_messages", "mail.send_message"]),
        ("LISTPULL", ["github.listPullRequests"]),
        ("(?-i)LISTPULL", []),
        ("capture.*screen", ["files.take_snapshot"]),
        ("(read|write)_\\w+_file", ["files.read_text_file"]),
        ("sorted by", ["github.listPullRequests"]),
        ("create.issue", ["github.create_issue"]),
        ("no such thing", []),
    ],
)
async def test_ids_titles_and_descriptions_are_matched(filled: Fill, pattern: str, expected: list[str]) -> None:
    assert await found(filled(RegexSearcher()), pattern) == expected


async def test_a_whole_name_comes_before_a_part_and_a_name_before_a_text(tool: MakeTool) -> None:
    searcher = RegexSearcher()
    listed = [tool("s", "about", "Read it."), tool("s", "a_read_b"), tool("s", "read"), tool("s", "c", title="To read")]
    searcher.add(ServerDocs("s"), listed)
    assert await found(searcher, "read") == ["s.read", "s.a_read_b", "s.c", "s.about"]


async def test_the_raw_name_matches_too() -> None:
    searcher = RegexSearcher()
    searcher.add(ServerDocs("s"), [Tool("s.list_all", "s", "list-all", {})])
    assert await found(searcher, "^list-all$") == ["s.list_all"]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "unclosed group"),
        ("*", "repetition operator missing expression"),
        ("[a", "unclosed character class"),
        ("(?=a)b", "look-around"),
        ("(a)\\1", "backreferences are not supported"),
        ("(\\w{100}){100}", "size limit"),
        ("x" * 201, "longer than 200 characters"),
    ],
)
async def test_a_pattern_that_cannot_be_used_is_refused_with_the_reason(
    filled: Fill, pattern: str, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        await filled(RegexSearcher()).search(pattern, 5)
    assert "search by words" in caught.value.hint
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", "([a-z]+)*[0-9]", "(a*)*(a*)*(a*)*b"])
async def test_patterns_that_keep_a_backtracking_engine_busy_end_at_once(tool: MakeTool, pattern: str) -> None:
    searcher = RegexSearcher()
    searcher.add(ServerDocs("s"), [tool("s", f"t{n}", "a" * 5_000 + "!") for n in range(50)])
    with anyio.fail_after(20):
        assert len(await found(searcher, pattern)) <= 50


async def test_a_pattern_is_not_given_up_because_the_machine_is_busy(
    tool: MakeTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(seconds)))
    assert await search_pattern("read", [tool("s", "read"), tool("s", "write")], 5)


async def test_a_pattern_that_is_dear_at_each_step_is_given_up(tool: MakeTool) -> None:
    searcher = RegexSearcher()
    text = "abcdefghijklmnopqrstuvwyz" * 160
    searcher.add(ServerDocs("s"), [tool("s", f"t{n}", text[n:]) for n in range(300)])
    with anyio.fail_after(60), pytest.raises(UsageError, match="takes too long"):
        await searcher.search("(?:[a-z]{0,99}){0,99}x0", 5)


async def test_tools_can_be_matched_without_an_index(tool: MakeTool) -> None:
    listed = [tool("s", "read"), tool("s", "write"), tool("t", "read")]
    visible = VisibleSet(["s.read", "s.write"])
    hits = await search_pattern("read", (each for each in listed if each.id in visible), 5)
    assert [hit.tool_id for hit in hits] == ["s.read"]
