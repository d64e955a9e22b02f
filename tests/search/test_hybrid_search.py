"""Words and meaning at once: what is added to what, what is kept, and what happens while there is no vector."""

import math
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from toolcrib.catalog.tool import Tool
from toolcrib.search import (
    Embedder,
    HybridSearcher,
    KeywordSearcher,
    Searcher,
    SemanticSearcher,
    ServerDocs,
    nothing_fits,
)
from toolcrib.search.clauses import clauses
from toolcrib.search.meanings import tool_text

pytestmark = pytest.mark.anyio

MakeTool = Callable[..., Tool]
Fill = Callable[[Searcher], Searcher]

FOREVER = 60.0


class Axes(Embedder):
    """Embeds a text as which of these words are in it: cosines that are easily calculated by hand."""

    name = "axes"
    WORDS = ("umbrella", "rain", "forecast", "issue")

    def __init__(self) -> None:
        self.documents: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Any:
        self.documents += texts
        return self.embed_queries(texts)

    def embed_queries(self, texts: Sequence[str]) -> Any:
        return np.array([[float(word in text.lower()) for word in self.WORDS] for text in texts])


class Held(Axes):
    """Embeds no tool before it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> Any:
        self.let.wait()
        return super().embed_documents(texts)


def ids(hits: Sequence[Any]) -> list[str]:
    return [hit.tool_id for hit in hits]


async def test_meaning_is_measured_against_the_nearest_tool_and_counts_less_the_more_words_there_are(
    tool: MakeTool,
) -> None:
    searcher = HybridSearcher(Axes(), patience=FOREVER)
    searcher.add(ServerDocs("s"), [tool("s", "a", "Forecast of rain."), tool("s", "b", "Rain, forecast, issue.")])
    hits = {hit.tool_id: hit for hit in await searcher.search("umbrella rain", 5)}
    # (1, 1, 0, 0) with (0, 1, 1, 0) and (0, 1, 1, 1): cosines 1/2 and 1/√6. One word is known: 2 - ln(2)/2.
    weight = 2 - math.log(2) / 2
    assert hits["s.a"].why["meaning"] == pytest.approx(weight, abs=1e-3)
    assert hits["s.b"].why["meaning"] == pytest.approx(weight * 2 / math.sqrt(6), abs=1e-3)


async def test_what_hundreds_of_tools_are_as_near_to_counts_nothing(tool: MakeTool) -> None:
    searcher = HybridSearcher(Axes(), patience=FOREVER)
    usual = [tool("s", f"usual_{n}", "Rain, forecast.") for n in range(150)]
    searcher.add(ServerDocs("s"), [*usual, tool("s", "near", "Umbrella, forecast."), tool("s", "best", "Umbrella.")])
    hits = {hit.tool_id: hit for hit in await searcher.search("an umbrella of rain, umbrella", 200)}
    # (1, 1, 0, 0) with (0, 1, 1, 0), (1, 0, 1, 0) and (1, 0, 0, 0): cosines 1/2, 1/2 and 1/√2.
    assert [name for name, hit in hits.items() if "meaning" in hit.why] == ["s.best"]


async def test_words_are_measured_against_the_best_score_by_words(filled: Fill) -> None:
    by_words = {hit.tool_id: hit for hit in await filled(KeywordSearcher()).search("create an issue", 20)}
    both = await filled(HybridSearcher(Axes(), patience=FOREVER)).search("create an issue", 20)
    best = max(hit.score for hit in by_words.values())
    assert {hit.tool_id for hit in both} >= set(by_words)
    for hit in both:
        words = {part: value for part, value in hit.why.items() if part != "meaning"}
        alone = by_words[hit.tool_id].why if hit.tool_id in by_words else {}
        assert words == pytest.approx({part: value / best for part, value in alone.items()}, abs=1e-5)


async def test_confidence_is_the_cosine_and_half_of_what_words_score(tool: MakeTool) -> None:
    searcher = HybridSearcher(Axes(), patience=FOREVER)
    alone = KeywordSearcher()
    for each in (searcher, alone):
        each.add(ServerDocs("s"), [tool("s", "a", "Forecast of rain."), tool("s", "b", "Open an issue.")])
    words = {hit.tool_id: hit.why["words"] for hit in await alone.search("umbrella rain", 5) if "words" in hit.why}
    hits = {hit.tool_id: hit for hit in await searcher.search("umbrella rain", 5)}
    assert hits["s.a"].confidence == pytest.approx(0.5 + words["s.a"] / 2, abs=1e-3)
    assert not hits["s.a"].weak


async def test_a_long_query_of_two_parts_is_served_in_both(tool: MakeTool) -> None:
    searcher = HybridSearcher(Axes(), patience=FOREVER)
    flights = [tool("s", f"flights_{n}", "Find cheap flights between two cities on a date.") for n in range(6)]
    searcher.add(ServerDocs("s"), [*flights, tool("s", "mail", "Email an itinerary to a colleague.")])
    query = "Find cheap flights between two cities on a date in June and email itinerary"
    hits = await searcher.search(query, 7)
    assert "s.mail" in ids(hits[:5])
    assert any("repeats" in hit.why for hit in hits)


async def test_semantic_search_scores_are_cosines(tool: MakeTool) -> None:
    searcher = SemanticSearcher(Axes(), patience=FOREVER)
    searcher.add(ServerDocs("s"), [tool("s", "rain"), tool("s", "rain_forecast"), tool("s", "other")])
    hits = await searcher.search("umbrella rain", 5)
    assert [(hit.tool_id, round(hit.score, 3)) for hit in hits] == [("s.rain", 0.707), ("s.rain_forecast", 0.5)]


async def test_the_best_tool_for_each_clause_is_lifted(tool: MakeTool) -> None:
    searcher = HybridSearcher(Axes(), patience=FOREVER)
    searcher.add(
        ServerDocs("s"),
        [
            tool("s", "flights", "Find cheap flights between two cities on a date."),
            tool("s", "mail", "Email a text to a colleague."),
            tool("s", "both", "Cheap flights and email."),
        ],
    )
    query = "Find cheap flights between two cities on Friday, then email the itinerary text to my colleague Anna"
    clause_of = {hit.tool_id: hit.why.get("clauses", 0) for hit in await searcher.search(query, 5)}
    # Of the first clause "flights" is the best and "both" the second best, of the other "mail" is; "both" has
    # but one of its words. What words score in the best tool for a clause is less than the half that is sure.
    assert clause_of["s.flights"] == pytest.approx(2 * clause_of["s.both"])
    assert 0.5 > clause_of["s.flights"] > clause_of["s.mail"] > 0


async def test_a_need_far_from_every_tool_gets_only_weak_hits(tool: MakeTool) -> None:
    searcher = HybridSearcher(Axes(), patience=FOREVER)
    searcher.add(ServerDocs("s"), [tool("s", "a", "Open an issue."), tool("s", "b", "Forecast of rain.")])
    assert nothing_fits(await searcher.search("boil spaghetti", 5))
    assert not nothing_fits(await searcher.search("umbrella rain", 5))


async def test_before_the_vectors_are_there_it_searches_by_words(filled: Fill) -> None:
    embedder = Held()
    searcher = HybridSearcher(embedder, patience=0.0)
    filled(searcher)
    try:
        assert await searcher.search("rain", 5) == await filled(KeywordSearcher()).search("rain", 5)
        assert searcher.progress == (0, 8)
    finally:
        embedder.let.set()
    with anyio.fail_after(FOREVER):
        assert await searcher.settled()
    assert searcher.progress == (8, 8)


async def test_nothing_is_settled_before_the_last_server_has_its_vectors(filled: Fill) -> None:
    # Servers come in while the thread is just finishing with those before.
    for _ in range(150):
        searcher = HybridSearcher(Axes(), patience=FOREVER)
        filled(searcher)
        with anyio.fail_after(FOREVER):
            assert await searcher.settled()


async def test_progress_is_told_in_steps(tool: MakeTool) -> None:
    told: list[tuple[int, int]] = []
    searcher = HybridSearcher(Axes(), patience=FOREVER, on_progress=lambda done, all_: told.append((done, all_)))
    searcher.add(ServerDocs("s"), [tool("s", f"tool_{n}") for n in range(300)])
    with anyio.fail_after(FOREVER):
        assert await searcher.settled()
    assert told == [(128, 300), (256, 300), (300, 300)]


async def test_a_text_is_embedded_once_however_often_its_server_is_added(filled: Fill) -> None:
    embedder = Axes()
    searcher = HybridSearcher(embedder, patience=FOREVER)
    for _ in range(2):
        filled(searcher)
        with anyio.fail_after(FOREVER):
            assert await searcher.settled()
    assert len(embedder.documents) == 8


async def test_vectors_are_kept_between_runs(filled: Fill, tmp_path: Path) -> None:
    before = HybridSearcher(Axes(), patience=FOREVER)
    filled(before)
    hits = await before.search("umbrella rain", 5)
    assert before.save(tmp_path / "index")
    embedder = Axes()
    after = HybridSearcher(embedder, patience=FOREVER)
    assert after.load(tmp_path / "index")
    assert after.fingerprint("weather") == "weather v1"
    assert await after.search("umbrella rain", 5) == hits
    assert embedder.documents == []


async def test_vectors_that_come_after_saving_are_kept_too(filled: Fill, tmp_path: Path) -> None:
    embedder = Held()
    before = HybridSearcher(embedder, patience=0.0)
    filled(before).save(tmp_path / "index")
    early = HybridSearcher(Axes(), patience=FOREVER)
    early.load(tmp_path / "index")
    assert early.fingerprint("weather") is None
    embedder.let.set()
    with anyio.fail_after(FOREVER):
        assert await before.settled()
    late = HybridSearcher(Axes(), patience=FOREVER)
    late.load(tmp_path / "index")
    assert late.fingerprint("weather") == "weather v1"


@pytest.mark.parametrize("damage", ["nothing there", "cut", "another byte", "another embedder"])
async def test_a_file_of_vectors_that_cannot_be_used_is_as_good_as_none(
    filled: Fill, tmp_path: Path, damage: str
) -> None:
    before = HybridSearcher(Axes(), patience=FOREVER)
    filled(before)
    with anyio.fail_after(FOREVER):
        assert await before.settled()
    hits = await before.search("umbrella rain", 5)
    before.save(tmp_path / "index")
    file = tmp_path / "index.vectors"
    content = bytearray(file.read_bytes())
    embedder = Axes()
    if damage == "nothing there":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(content[:-40])
    elif damage == "another byte":
        content[-70] ^= 1
        file.write_bytes(content)
    else:
        embedder.name = "axes of another model"
    after = HybridSearcher(embedder, patience=FOREVER)
    after.load(tmp_path / "index")
    assert after.fingerprint("weather") is None
    assert await filled(after).search("umbrella rain", 5) == hits


class Faulty(Axes):
    """Does one thing wrong, for tools or for queries, from the second text on."""

    def __init__(self, fault: str, of: str) -> None:
        super().__init__()
        self.fault, self.of = fault, of
        self.given_up = threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> Any:
        good = np.ones((len(texts), 4))
        return self.wrong(good) if self.of == "tools" else good

    def embed_queries(self, texts: Sequence[str]) -> Any:
        good = np.ones((len(texts), 4))
        return self.wrong(good) if self.of == "queries" else good

    def wrong(self, good: Any) -> Any:
        match self.fault:
            case "raises":
                raise RuntimeError("out of memory")
            case "not finite":
                good[-1, 0] = np.nan
            case "too few rows":
                return good[:-1]
            case "another dimension":
                return np.ones((len(good), 7))
            case "no matrix":
                return None
            case _:
                self.given_up.wait()
        return good


@pytest.mark.parametrize("of", ["tools", "queries"])
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("raises", "out of memory"),
        ("not finite", "not finite"),
        ("too few rows", "shape"),
        ("another dimension", "7 numbers a text where 4 were expected"),
        ("no matrix", "float|shape|finite"),
        ("hangs", "did not answer within 0.05 seconds"),
    ],
)
async def test_an_embedder_that_does_wrong_leaves_search_by_words(
    filled: Fill, fault: str, reason: str, of: str
) -> None:
    embedder = Faulty(fault, of)
    embedder.dimension = 4
    searcher = HybridSearcher(embedder, patience=0.05 if fault == "hangs" else FOREVER)
    filled(searcher)
    if of == "queries":
        with anyio.fail_after(FOREVER):
            assert await searcher.settled()
    expected = await filled(KeywordSearcher()).search("rain", 5)
    with anyio.fail_after(FOREVER):
        assert await searcher.search("rain", 5) == expected
        assert await searcher.search("rain", 5) == expected
    embedder.given_up.set()
    assert re.search(reason, searcher.problem), searcher.problem
    assert searcher.problem.startswith("The embedder axes is not used: ")


async def test_an_embedder_is_not_asked_again_at_once(filled: Fill) -> None:
    embedder = Faulty("raises", "queries")
    asked: list[int] = []
    wrong = embedder.wrong
    embedder.wrong = lambda good: asked.append(1) or wrong(good)
    searcher = HybridSearcher(embedder, patience=FOREVER)
    filled(searcher)
    for _ in range(3):
        await searcher.search("rain", 5)
    assert len(asked) == 1


async def test_tools_may_come_and_go_while_vectors_are_computed(tool: MakeTool) -> None:
    embedder = Held()
    searcher = HybridSearcher(embedder, patience=FOREVER)
    searcher.add(ServerDocs("a"), [tool("a", "rain")])
    searcher.add(ServerDocs("b"), [tool("b", "rain")])
    searcher.remove("a")
    embedder.let.set()
    assert ids(await searcher.search("rain", 5)) == ["b.rain"]
    assert searcher.progress == (1, 1)


def test_what_is_embedded_is_words_and_no_more_than_600_characters(tool: MakeTool) -> None:
    text = tool_text("git-hub", tool("git-hub", "createIssue", "Opens an issue. " * 100, title="Create issue"))
    assert text.startswith("git hub: create issue. Opens an issue.")
    assert len(text) == 600
    assert tool_text("s", tool("s", "x", "Does.", title="Weather now")) == "s: x. Weather now. Does."


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("create an issue", []),
        ("read the weather forecast for Berlin, send it", []),
        (
            "Find the cheapest flight from Oslo to Rome on Friday, then email the itinerary to my colleague Anna Smith",
            [
                "Find the cheapest flight from Oslo to Rome on Friday",
                "email the itinerary to my colleague Anna Smith",
            ],
        ),
        ("word " * 300, []),
        ("", []),
        (", , , and and then", []),
    ],
)
def test_a_query_is_taken_apart_into_clauses_that_say_something(query: str, parts: list[str]) -> None:
    assert clauses(query) == parts
