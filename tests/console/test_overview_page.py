"""*Overview*: what was saved and done, what weighs, what waits; who sees whose."""

import re
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Caller, Crib, Principal
from toolcrib.broker import ApprovalWaitingError
from toolcrib.broker.journal import queries
from toolcrib.console.spans import SPANS, span_of
from toolcrib.store import STORE_FILE
from toolcrib.tokens import count_tokens

pytestmark = pytest.mark.anyio

EMPTY: dict[str, Any] = {"mcpServers": {}}


def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


def fail() -> None:
    """Fail."""
    raise ValueError("<b>out of paper</b>")


def long(first: int, second: int) -> None:
    """Fill a page with a description that takes many tokens, more than that of adding two numbers takes by far."""


def text_of(page: str) -> str:
    """What a reader sees of a page, with single blanks."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


async def record(crib: Crib, conversation: str, spent: int, definitions: int, ago: float = 0.0, **more: Any) -> None:
    at = time.time() - ago
    row = {"principal": "local", "conversation": conversation, "answers": 2, "spent": spent}
    row |= {"all_definitions": definitions, "first_at": at, "last_at": at}
    store = await crib._ledger.store()
    await store.write(queries.add_discovery, [{**row, **more}])


async def test_figures_are_those_of_the_journal(browse: Callable[..., Any]) -> None:
    async with browse(EMPTY) as browser:
        browser.crib.add_functions(add, fail)
        for _ in range(3):
            await browser.crib.call("local.add", {"first": 1, "second": 2})
        await browser.crib.call("local.fail", {})
        await record(browser.crib, "one", 1_500, 60_000)
        await record(browser.crib, "two", 500, 40_000)
        page = await browser.get("/?span=hour")
        told = text_of(page)
        # 60,000 + 40,000 - 1,500 - 500
        assert "98,000 tokens saved by not sending all definitions to 2 conversations" in told
        assert "2,000 tokens spent on discovery 4 answers" in told
        assert "4 calls 1 failed, 0 refused" in told
        assert 'aria-label="Tokens in the last hour: 2,000 spent on discovery, 98,000 saved."' in page
        assert 'aria-label="Calls in the last hour: 4, of which 1 failed and 0 were refused."' in page
        assert page.count('role="img"') == 3
        # What the charts show stands in the table too.
        (row,) = re.findall(r"<tr>\s*<th scope=\"row\" class=\"id\">\d\d:\d\d</th>(.*?)</tr>", page, re.DOTALL)
        cells = re.findall(r">([^<]*)</td>", row)
        assert (cells[0], cells[1], cells[5], cells[6], cells[7]) == ("4", "1", "2", "2,000", "98,000")


async def test_a_span_shows_what_lies_in_it_and_long_ones_do_not_follow(browse: Callable[..., Any]) -> None:
    async with browse(EMPTY) as browser:
        await record(browser.crib, "recent", 100, 1_100, ago=3 * 3600)
        await record(browser.crib, "older", 100, 5_100, ago=3 * 86_400)
        assert "Nothing was called in the last hour." in text_of(await browser.get("/?span=hour"))
        assert "1,000 tokens saved" in text_of(await browser.get("/?span=day"))
        assert "6,000 tokens saved" in text_of(await browser.get("/?span=week"))
        page = await browser.get("/?span=month")
        assert "6,000 tokens saved" in text_of(page)
        assert 'id="figures" aria' in page
        page = await browser.get("/?span=no-such-span")  # what is not known is a day
        assert re.search(r'href="[^"]*\?span=day" aria-current="true"', page)
        assert 'id="figures" data-live="journal"' in page


async def test_without_servers_or_calls_it_says_what_to_do_next(browse: Callable[..., Any]) -> None:
    async with browse(EMPTY) as browser:
        told = text_of(await browser.get("/"))
        assert "No servers are configured yet. Run toolcrib import" in told
        assert "Nothing was called in the last day. Look at the last month , or run toolcrib install CLIENT" in told
        assert "Nothing waits for you." in told
        assert "No tool is known yet." in told
    off = {"mcpServers": {}, "toolcrib": {"journal": {"enabled": False}}}
    async with browse(off) as browser:
        assert "Calls are not recorded" in text_of(await browser.get("/"))


async def test_what_weighs_most_stands_first(browse: Callable[..., Any]) -> None:
    async with browse(EMPTY) as browser:
        browser.crib.add_functions(add)
        browser.crib.add_functions(long, server="other")
        weights = await browser.crib.weights()
        told = text_of(await browser.get("/"))
        assert f"All 2 definitions together are {sum(weights.values())} tokens" in told
        assert weights["other.long"] > weights["local.add"] > count_tokens("Add two numbers.")
        assert re.search(
            rf"Heaviest tools .* other.long {weights['other.long']} local.add {weights['local.add']} ", told
        )


async def test_what_waits_is_told_with_a_way_to_it(browse: Callable[..., Any]) -> None:
    ask = {"rules": [{"name": "sums", "tools": ["local.add"], "then": "ask"}]}
    settings = {"policy": ask, "approvals": {"patience": 0.01, "timeout": 600}}
    broken = {"command": "no-such-<b>command</b>"}
    async with browse({"mcpServers": {"broken": broken}, "toolcrib": settings}) as browser:
        browser.crib.add_functions(add)
        with pytest.raises(ApprovalWaitingError):
            await browser.crib.call("local.add", {"first": 1, "second": 2}, caller=Caller(conversation="c"))
        await browser.crib.refresh()
        page = await browser.get("/")
        told = text_of(page)
        assert "1 call waits for an answer local.add" in told
        assert "1 server is in trouble broken :" in told
        assert "no-such-<b>" not in page
        assert "no-such-&lt;b&gt;" in page
        assert 'href="/console/approvals"' in page
        assert 'href="/console/servers/broken"' in page


async def test_a_viewer_sees_its_own_figures_and_tools_and_nothing_that_is_not_its_to_decide(
    browse_as: Callable[..., Any],
) -> None:
    async with browse_as("ben", "viewer", deny=["other.*"]) as browser:
        browser.crib.add_functions(add)
        browser.crib.add_functions(long, server="other")
        for name, calls in (("ben", 2), ("ana", 5)):
            for _ in range(calls):
                caller = Caller(Principal(name), "c")
                await browser.crib.call("local.add", {"first": 1, "second": 2}, caller=caller)
            await record(browser.crib, name, 100, 1_000 * calls, principal=name)
        page = await browser.get("/")
        told = text_of(page)
        assert "What was done by you" in told
        assert "2 calls 0 failed" in told
        assert "1,900 tokens saved" in told
        assert "local.add" in told
        assert "other.long" not in told
        assert "What waits" not in told


async def test_an_approver_sees_everybodys_figures_and_what_waits(browse_as: Callable[..., Any]) -> None:
    async with browse_as("ben", "approver") as browser:
        browser.crib.add_functions(add)
        await browser.crib.call("local.add", {"first": 1, "second": 2}, caller=Caller(Principal("ana"), "c"))
        told = text_of(await browser.get("/"))
        assert "1 call 0 failed" in told
        assert "Nothing waits for you." in told


def test_parts_of_a_span_are_equal_and_the_last_holds_now() -> None:
    now = datetime(2026, 5, 17, 14, 31, 20).timestamp()  # in the time of this machine, as pages tell it
    hour, day, week, month = (each.edges(now) for each in SPANS)
    assert [datetime.fromtimestamp(each).strftime("%d %H:%M:%S") for each in hour[-2:]] == [
        "17 14:30:00",
        "17 14:32:00",
    ]
    assert [datetime.fromtimestamp(each).strftime("%d %H:%M:%S") for each in day[-2:]] == ["17 14:00:00", "17 15:00:00"]
    assert [datetime.fromtimestamp(each).hour for each in week[-2:]] == [12, 18]
    assert [datetime.fromtimestamp(each).strftime("%d %H") for each in month[-2:]] == ["17 00", "18 00"]
    assert [len(each) - 1 for each in (hour, day, week, month)] == [30, 24, 28, 30]
    for span, edges in zip(SPANS, (hour, day, week, month), strict=True):
        assert edges[-2] <= now < edges[-1]
        assert edges[-1] - edges[0] == span.seconds
    assert len(span_of("day").places(day)) == 5


async def test_what_waits_is_not_said_to_be_nothing_where_it_can_not_be_read(
    browse: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / STORE_FILE).write_bytes(b"no database " * 500)
    async with browse(EMPTY) as browser:
        told = text_of(await browser.get("/"))
        assert STORE_FILE in told
        assert "Nothing waits for you." not in told
