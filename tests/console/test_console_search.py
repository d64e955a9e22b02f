"""The page of searches: what each strategy ranks and why, and what a model would see."""

import html
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from toolcrib import MetaTools
from toolcrib.tokens import count_tokens

pytestmark = pytest.mark.anyio

EVIL = "\"'><script>alert(1)</script>\u200b"


@pytest.fixture
async def desk(browse: Callable[..., Any]) -> AsyncIterator[Any]:
    def create_ticket(title: str) -> str:
        """Open a new ticket."""
        return title

    def send_message(text: str) -> str:
        """Send a message to somebody."""
        return text

    async with browse({"mcpServers": {}, "toolcrib": {"search": {"strategy": "keyword"}}}) as browser:
        browser.crib.add_functions(create_ticket, send_message, server="desk")
        yield browser


def rows(page: str) -> list[list[str]]:
    """The cells of all tables."""
    cells = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    ]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in row] for row in cells]


async def test_the_parts_shown_add_up_to_the_score(desk: Any) -> None:
    page = await desk.get("/search?q=create+a+ticket&with=keyword")
    table = rows(page)
    end = next(at for at, row in enumerate(table) if row[:1] == ["score"])
    begin = max(at for at, row in enumerate(table[:end]) if row[:1] == ["part"])
    parts: dict[str, float] = {}
    shares: dict[str, list[float]] = {}
    for name, score, what, field in table[begin + 1 : end]:
        if name:
            parts[name] = float(score)
            part = name
        else:
            shares.setdefault(part, []).append(float(score))
            if part == "words" and field == "name":
                assert what in ("create", "ticket")
    # Each figure is rounded to four decimals.
    assert sum(parts.values()) == pytest.approx(float(table[end][1]), abs=len(parts) * 5e-5)
    assert {"words", "pairs", "letters"} <= shares.keys()
    for name, found in shares.items():
        assert sum(found) == pytest.approx(parts[name], abs=(len(found) + 1) * 5e-5)


async def test_it_shows_the_very_text_that_a_model_gets_and_its_tokens(desk: Any) -> None:
    for detail in ("name", "brief", "signature", "full"):
        answer = await MetaTools(desk.crib).call("search_tools", {"query": "create a ticket", "detail": detail})
        text = answer["content"][0]["text"]
        page = html.unescape(await desk.get(f"/search?q=create+a+ticket&detail={detail}"))
        assert text in page
        assert f"{detail}, {count_tokens(text):,} tokens" in page


async def test_looking_costs_no_conversation_anything(desk: Any) -> None:
    await desk.get("/search?q=create+a+ticket")
    assert await desk.crib.journal.discoveries() == []


async def test_strategies_stand_side_by_side_by_rank(desk: Any) -> None:
    page = await desk.get("/search?q=ticket&with=keyword&with=regex")
    assert ["tool", "keyword", "regex"] in rows(page)
    assert ["desk.create_ticket", "1", "1"] in rows(page)


async def test_each_line_is_a_need_and_a_slip_is_pointed_out(desk: Any) -> None:
    page = await desk.get("/search?q=create+a+tikcet%0Asend+xylophone&with=keyword")
    assert "1. create a tikcet" in page
    assert "<q>create a ticket</q>" in page
    assert next(row for row in rows(page) if row[0] == "xylophon")[:2] == ["xylophon", "xylophone"]
    assert "none" in next(row for row in rows(page) if row[0] == "xylophon")


async def test_the_small_model_is_asked_only_when_delegate_is_chosen(browse: Callable[..., Any]) -> None:
    class Chooses:
        name = "chooses"
        window = 8_000
        asked = 0

        async def answer(self, task: str, text: str, shape: dict[str, Any]) -> Any:
            self.asked += 1
            return {"ids": ["desk.two"]}

        async def close(self) -> None:
            pass

    def one(ticket: str) -> str:
        return ticket

    def two(ticket: str) -> str:
        return ticket

    model = Chooses()
    async with browse(small_model=model) as browser:
        browser.crib.add_functions(one, two, server="desk")
        await browser.get("/search?q=ticket")
        assert model.asked == 0
        page = await browser.get("/search?q=ticket&with=delegate")
        assert model.asked == 1
        assert "chosen" in [row[0] for row in rows(page)]


async def test_what_is_not_at_hand_says_why(desk: Any) -> None:
    page = await desk.get("/search")
    assert "no model to choose with" in page
    assert re.search(r'value="delegate" disabled', page)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("/(/", "can't be used"),
        ("select:", "is followed by nothing"),
        ("ticket&server=nobody", "There is no server"),
    ],
)
async def test_a_query_that_cannot_be_used_is_told_of(desk: Any, query: str, told: str) -> None:
    assert told in html.unescape(await desk.get(f"/search?q={query}"))


async def test_queries_that_rank_nothing_show_what_the_model_sees(desk: Any) -> None:
    assert "desk (2 tools)" in await desk.get("/search?q=")
    assert "desk.create_ticket" in await desk.get("/search?q=select:desk.create_ticket")
    assert "Ranking" in await desk.get("/search?q=/create/")


async def test_odd_parameters_do_no_harm(desk: Any) -> None:
    for query in ("limit=x", "limit=999", "detail=all", "with=magic", "with=", "q=" + "x" * 3000, "q=%00%ff"):
        await desk.get(f"/search?q=ticket&{query}")


async def test_hostile_queries_and_tools_are_shown_as_they_are(desk: Any) -> None:
    def tool(ticket: str) -> str:
        return ticket

    tool.__doc__ = EVIL + " ticket"
    tool.__name__ = "bad"
    desk.crib.add_functions(tool, server="bad")
    page = await desk.get("/search?q=ticket+%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script>alert" not in page
    assert "\u200b" not in page
    assert html.escape("<script>alert(1)</script>") in page
