"""A small model that picks among the candidates, played by a script."""

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest

from toolcrib.catalog.tool import Tool
from toolcrib.errors import ConfigError
from toolcrib.search import Candidate, DelegateSearcher, KeywordSearcher, Searcher, ServerDocs, make_searcher

pytestmark = pytest.mark.anyio

MakeTool = Callable[..., Tool]
Fill = Callable[[Searcher], Searcher]


def ids(hits: Sequence[Any]) -> list[str]:
    return [hit.tool_id for hit in hits]


def picking(*picks: Any) -> Any:
    """A model that always answers the same."""

    async def choose(query: str, candidates: Sequence[Candidate]) -> Any:
        await anyio.lowlevel.checkpoint()
        return picks

    return choose


async def test_what_is_picked_comes_first_in_the_order_of_the_picks(filled: Fill) -> None:
    before = ids(await filled(KeywordSearcher()).search("search", 10))
    picks = [before[2], before[1]]
    hits = await filled(DelegateSearcher(KeywordSearcher(), picking(*picks))).search("search", 10)
    assert ids(hits) == [*picks, before[0], *before[3:]]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert "chosen" in hits[0].why
    assert "chosen" not in hits[2].why
    for hit in hits:
        assert sum(hit.why.values()) == pytest.approx(hit.score)


async def test_it_is_asked_with_the_query_and_up_to_thirty_candidates(tool: MakeTool) -> None:
    asked: list[tuple[str, Sequence[Candidate]]] = []

    async def choose(query: str, candidates: Sequence[Candidate]) -> list[str]:
        asked.append((query, candidates))
        return []

    searcher = DelegateSearcher(KeywordSearcher(), choose)
    searcher.add(ServerDocs("s"), [tool("s", f"forecast_{n}", "The weather. And more of it.") for n in range(40)])
    assert len(await searcher.search("forecast", 35)) == 35
    ((query, candidates),) = asked
    assert query == "forecast"
    assert len(candidates) == 30
    assert {each.summary for each in candidates} == {"The weather."}


@pytest.mark.parametrize("picks", [["nowhere.nothing"], [None, 7, ["x"]], ["weather.forecast"] * 3, []])
async def test_picks_that_are_no_candidates_or_come_again_are_ignored(filled: Fill, picks: list[Any]) -> None:
    searcher = filled(DelegateSearcher(KeywordSearcher(), picking(*picks)))
    assert ids(await searcher.search("forecast", 10)) == ids(await filled(KeywordSearcher()).search("forecast", 10))


async def raising(query: str, candidates: Sequence[Candidate]) -> list[str]:
    raise RuntimeError("no such model")


async def hanging(query: str, candidates: Sequence[Candidate]) -> list[str]:
    await anyio.sleep_forever()
    return []


@pytest.mark.parametrize(
    ("chooser", "reason"),
    [(raising, "no such model"), (hanging, "did not answer within 0.05 seconds"), (picking, "not")],
)
async def test_a_model_that_fails_leaves_the_hits_as_they_were(filled: Fill, chooser: Any, reason: str) -> None:
    searcher = DelegateSearcher(KeywordSearcher(), chooser, patience=0.05)
    expected = await filled(KeywordSearcher()).search("forecast", 5)
    with anyio.fail_after(60):
        assert await filled(searcher).search("forecast", 5) == expected
    assert reason in searcher.problem


async def test_it_is_not_asked_when_there_is_nothing_to_choose_from() -> None:
    searcher = DelegateSearcher(KeywordSearcher(), raising)
    assert await searcher.search("forecast", 5) == []
    assert searcher.problem == ""


@pytest.mark.parametrize("strategy", ["delegate", "subagent"])
def test_it_can_be_asked_for_by_two_names_and_needs_a_model(strategy: str) -> None:
    assert isinstance(make_searcher(strategy, chooser=raising), DelegateSearcher)
    with pytest.raises(ConfigError, match="no model to choose with"):
        make_searcher(strategy)
