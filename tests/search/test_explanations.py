"""What scores are made of: the shares against the formula, calculated by hand, and against the scores themselves."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import log, log1p
from typing import Any

import numpy as np
import pytest

from toolcrib.catalog.tool import Tool
from toolcrib.catalog.visible import VisibleSet
from toolcrib.search import (
    Candidate,
    DelegateSearcher,
    Embedder,
    ExplainedHit,
    Explanation,
    Hit,
    HybridSearcher,
    KeywordSearcher,
    RegexSearcher,
    Searcher,
    SemanticSearcher,
    ServerDocs,
)

pytestmark = pytest.mark.anyio

MakeTool = Callable[..., Tool]
Fill = Callable[[Searcher], Searcher]

FOREVER = 60.0
QUERIES = [
    "open an issue",
    "send an email to my team",
    "weather forecast",
    "github pull requests listed, sorted by date, then read the file as text and send it as a message to people",
    "serach for mesages",
    "remove what nobody has",
    "",
]

# Two tools of one server whose id, a stop word, has no terms. "red" has a name of one word; "blue" a name of one word
# and a description of one sentence of two words, of which "red" is one. Average lengths: name 1, first sentence 1.
# BM25F with k1 = 1.2, b = 0.75, weights 3 for a name and 1.5 for a first sentence.
NAME = 3 / (0.25 + 0.75 * 1 / 1)
FIRST = 1.5 / (0.25 + 0.75 * 2 / 1)
IDF_BOTH = log(1 + (2 - 2 + 0.5) / (2 + 0.5))
IDF_ONE = log(1 + (2 - 1 + 0.5) / (1 + 0.5))


def shares(hit: ExplainedHit, part: str) -> dict[tuple[str, str], float]:
    return {(each.what, each.field): each.score for each in hit.shares if each.part == part}


def sums(hit: ExplainedHit) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for each in hit.shares:
        found[each.part] += each.score
    return found


async def test_a_word_is_shown_by_the_fields_that_have_it(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", "red", "Red paint"), tool("s", "blue", "")])
    explanation = await searcher.explain("red", 5)
    # Now "red" has 1 word in its name and 2 in its first sentence: 2 / 1 of the average there.
    frequency = NAME + FIRST
    impact = frequency / (frequency + 1.2)
    assert shares(explanation.hits[0], "words") == {
        ("red", "name"): pytest.approx(impact * NAME / frequency, abs=1e-6),
        ("red", "first"): pytest.approx(impact * FIRST / frequency, abs=1e-6),
    }


async def test_each_word_adds_by_its_rarity(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", "red_blue"), tool("s", "red")])
    explanation = await searcher.explain("red blue", 5)
    # Names of 2 and 1 words, 1.5 on average.
    frequency = 3 / (0.25 + 0.75 * 2 / 1.5)
    impact = frequency / (frequency + 1.2)
    ideal = IDF_BOTH + IDF_ONE
    best = explanation.hits[0]
    assert best.hit.tool_id == "s.red_blue"
    assert shares(best, "words") == {
        ("red", "name"): pytest.approx(impact * IDF_BOTH / ideal, abs=1e-6),
        ("blue", "name"): pytest.approx(impact * IDF_ONE / ideal, abs=1e-6),
    }
    assert shares(best, "pairs") == {("red blue", ""): pytest.approx(0.4 * IDF_ONE / (2.2 * ideal), abs=1e-6)}
    assert shares(best, "name") == {("", ""): 0.3}
    assert [(each.term, each.words, each.tools) for each in explanation.sought] == [
        ("red", ("red",), 2),
        ("blue", ("blue",), 1),
    ]
    assert [each.weight for each in explanation.sought] == pytest.approx([IDF_BOTH, IDF_ONE])


async def test_terms_are_told_as_they_were_written_and_slips_as_they_were_read(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", "create_issues"), tool("s", "paint")])
    explanation = await searcher.explain("piant issue xylophone", 5)
    assert explanation.meant == "paint issue xylophone"
    assert {each.term: (each.words, each.tools) for each in explanation.sought}["xylophon"] == (("xylophone",), 0)
    assert (await searcher.explain("create issue", 5)).meant == ""


async def test_a_synonym_says_for_which_word_it_stands(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", "remove_file"), tool("s", "paint")])
    hit = (await searcher.explain("delete", 5)).hits[0]
    assert list(shares(hit, "synonyms")) == [("remov", "")]


async def test_letters_are_shown_by_the_words_of_the_name(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", "forecast_place"), tool("s", "paint")])
    hit = (await searcher.explain("forecasting", 5)).hits[0]
    assert list(shares(hit, "letters")) == [("forecast", "name")]


class Axes(Embedder):
    """Embeds a text as which of these words are in it: cosines that are easily calculated by hand."""

    name = "axes"
    WORDS = ("umbrella", "rain")

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.array([[float(word in text.lower()) for word in self.WORDS] for text in texts])


async def test_words_and_meaning_show_what_they_were_measured_against(tool: MakeTool) -> None:
    searcher = HybridSearcher(Axes(), patience=FOREVER)
    tools = [tool("s", "a", "umbrella"), tool("s", "b", "umbrella rain"), tool("s", "c", "paint")]
    searcher.add(ServerDocs("s"), tools)
    explanation = await searcher.explain("umbrella", 5)
    first, second, *_ = explanation.hits
    assert explanation.strategy == "hybrid"
    assert (first.hit.tool_id, second.hit.tool_id) == ("s.a", "s.b")
    # One known word: its meaning weighs 2 - log(2) / 2. Cosines 1 and 1/sqrt(2), from 0 on, of vectors in half floats.
    weight = 2 - 0.5 * log1p(1)
    assert first.measures["weight of meaning"] == pytest.approx(weight)
    assert (first.measures["cosine"], second.measures["cosine"]) == pytest.approx((1.0, 0.5**0.5), abs=1e-3)
    assert (first.measures["nearest cosine"], first.measures["usual cosine"]) == pytest.approx((1.0, 0.0), abs=1e-3)
    assert sums(second)["meaning"] == pytest.approx(weight * 0.5**0.5, abs=1e-3)
    by_words = (await searcher.explain("umbrella", 5, strategy="keyword")).hits[0]
    best = by_words.hit.score
    assert first.measures["best by words"] == pytest.approx(best, abs=1e-5)
    assert sums(first)["words"] == pytest.approx(sums(by_words)["words"] / best, abs=1e-5)


async def test_a_clause_is_named_for_which_a_tool_is_the_best(tool: MakeTool) -> None:
    searcher = HybridSearcher(Axes(), patience=FOREVER)
    searcher.add(ServerDocs("s"), [tool("s", "paint_wooden_fence_red_today"), tool("s", "umbrella_rain_forecast")])
    query = "paint the wooden fence red today, and look up the umbrella rain forecast place"
    found = {each.hit.tool_id: each for each in (await searcher.explain(query, 5)).hits}
    assert list(shares(found["s.umbrella_rain_forecast"], "clauses")) == [
        ("look up the umbrella rain forecast place", "")
    ]


async def test_one_index_explains_every_strategy_that_it_serves(tool: MakeTool) -> None:
    searcher = HybridSearcher(Axes(), patience=FOREVER)
    searcher.add(ServerDocs("s"), [tool("s", "umbrella"), tool("s", "paint")])
    alone = SemanticSearcher(Axes(), patience=FOREVER)
    alone.add(ServerDocs("s"), [tool("s", "umbrella"), tool("s", "paint")])
    assert searcher.strategies == ("hybrid", "semantic", "keyword")
    explanation = await searcher.explain("umbrella", 5, strategy="semantic")
    assert explanation.strategy == "semantic"
    assert [each.hit for each in explanation.hits] == await alone.search("umbrella", 5)
    assert (await searcher.explain("umbrella", 5, strategy="keyword")).strategy == "keyword"


async def test_before_the_vectors_are_there_it_says_that_it_ranked_by_words(filled: Fill) -> None:
    class Broken(Axes):
        def embed_documents(self, texts: Sequence[str]) -> Any:
            raise RuntimeError("no model here")

    searcher = filled(HybridSearcher(Broken(), patience=FOREVER))
    explanation = await searcher.explain("open an issue", 3)
    assert (explanation.strategy, bool(explanation.hits)) == ("keyword", True)
    assert "no model here" in explanation.problem


async def test_what_was_chosen_says_so(filled: Fill) -> None:
    async def choose(query: str, candidates: Sequence[Candidate]) -> list[str]:
        return ["mail.send_message"]

    searcher = filled(DelegateSearcher(KeywordSearcher(), choose))
    explanation = await searcher.explain("open an issue, or send a message", 5)
    assert explanation.hits[0].hit.tool_id == "mail.send_message"
    assert explanation.hits[0].shares[0].part == "chosen"
    assert (await searcher.explain("open an issue", 5, strategy="keyword")).hits[0].hit.tool_id == "github.create_issue"


async def as_they_were(query: str, candidates: Sequence[Candidate]) -> list[str]:
    return []


@pytest.fixture(params=["keyword", "regex", "semantic", "hybrid", "delegate"])
def searcher(request: pytest.FixtureRequest, filled: Fill, trigrams: type[Embedder]) -> Searcher:
    return filled(
        {
            "keyword": lambda: KeywordSearcher(),
            "regex": lambda: RegexSearcher(),
            "semantic": lambda: SemanticSearcher(trigrams(), patience=FOREVER),
            "hybrid": lambda: HybridSearcher(trigrams(), patience=FOREVER),
            "delegate": lambda: DelegateSearcher(KeywordSearcher(), as_they_were),
        }[request.param]()
    )


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("limit", [3, 50])
async def test_it_explains_what_the_search_finds_and_the_shares_add_up(
    searcher: Searcher, query: str, limit: int
) -> None:
    explanation: Explanation = await searcher.explain(query, limit)
    assert [each.hit for each in explanation.hits] == await searcher.search(query, limit)
    for each in explanation.hits:
        for part, score in each.hit.why.items():
            assert sums(each)[part] == pytest.approx(score, abs=2e-6), (each.hit.tool_id, part)
        assert sum(share.score for share in each.shares) == pytest.approx(each.hit.score, abs=1e-5)


async def test_a_hidden_tool_explains_nothing(filled: Fill) -> None:
    """Also not by how rare a word is: it is as if the hidden tools were not there."""
    searcher = filled(KeywordSearcher())
    visible = VisibleSet(["mail.send_message", "mail.search_messages"])
    explanation = await searcher.explain("issue message", 10, visible)
    assert {each.hit.tool_id for each in explanation.hits} <= {"mail.send_message", "mail.search_messages"}
    assert {each.term: each.tools for each in explanation.sought} == {"issu": 0, "messag": 2}


async def test_newer_tools_in_a_segment_of_their_own_are_explained_too(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", f"paint_{number}") for number in range(1100)])
    await searcher.search("paint", 1)
    searcher.add(ServerDocs("t"), [tool("t", "umbrella", "Rain.")])
    [hit] = (await searcher.explain("umbrella rain", 5)).hits
    assert set(shares(hit, "words")) == {("umbrella", "name"), ("rain", "first")}
    assert sum(sums(hit).values()) == pytest.approx(hit.hit.score, abs=1e-5)


class Plain(Searcher):
    """A program's own searcher, which tells no more than it must."""

    def add(self, server: ServerDocs, tools: Iterable[Tool], *, digest: str = "") -> None:
        pass

    def remove(self, server_id: str) -> None:
        pass

    async def search(self, query: str, limit: int, visible: VisibleSet | None = None) -> list[Hit]:
        return [Hit("s.a", 3.0, {"luck": 1.0, "skill": 2.0})]


async def test_a_searcher_of_ones_own_is_explained_by_its_parts() -> None:
    explanation = await Plain().explain("anything", 5)
    assert explanation.strategy == "own"
    assert [(each.part, each.score) for each in explanation.hits[0].shares] == [("skill", 2.0), ("luck", 1.0)]
