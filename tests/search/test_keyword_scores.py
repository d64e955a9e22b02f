"""The numbers of keyword search against the formula, calculated by hand, and under change."""

import random
from collections.abc import Callable
from math import log

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolcrib.catalog.tool import Tool
from toolcrib.search import KeywordSearcher, ServerDocs
from toolcrib.search.documents import Vocabulary, number, read
from toolcrib.search.index import Segment, grown

pytestmark = pytest.mark.anyio

MakeTool = Callable[..., Tool]

# Three tools on a server whose id, a stop word, has no terms: only the names are indexed, of 1, 2 and 1 words,
# 4/3 on average. BM25F with k1 = 1.2, b = 0.75 and weight 3 for a name:
#   tf' = 3 * 1 / (1 - 0.75 + 0.75 * length / (4/3)), impact = tf' / (tf' + 1.2)
SHORT = 3 / (0.25 + 0.75 * 1 / (4 / 3))
LONG = 3 / (0.25 + 0.75 * 2 / (4 / 3))
IMPACT_SHORT = SHORT / (SHORT + 1.2)  # 0.754717
IMPACT_LONG = LONG / (LONG + 1.2)  # 0.645161
IDF_ONCE = log(1 + (3 - 1 + 0.5) / (1 + 0.5))  # of 3 tools, "blue" is in 1: 0.980829
IDF_TWICE = log(1 + (3 - 2 + 0.5) / (2 + 0.5))  # "red" is in 2: 0.470004
IDF_NEVER = log(1 + (3 - 0 + 0.5) / (0 + 0.5))  # 2.079442


@pytest.fixture
def colours(tool: MakeTool) -> KeywordSearcher:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", "red"), tool("s", "red_blue"), tool("s", "green")])
    return searcher


async def parts(searcher: KeywordSearcher, query: str) -> dict[str, dict[str, float]]:
    return {hit.tool_id: dict(hit.why) for hit in await searcher.search(query, 10)}


async def test_one_word_scores_its_impact(colours: KeywordSearcher) -> None:
    found = await parts(colours, "red")
    assert found["s.red"]["words"] == pytest.approx(IMPACT_SHORT, abs=1e-6)
    assert found["s.red_blue"]["words"] == pytest.approx(IMPACT_LONG, abs=1e-6)
    assert "s.green" not in found


async def test_an_unknown_word_lowers_the_share(colours: KeywordSearcher) -> None:
    found = await parts(colours, "red xylophone")
    expected = IMPACT_SHORT * IDF_TWICE / (IDF_TWICE + IDF_NEVER)
    assert found["s.red"]["words"] == pytest.approx(expected, abs=1e-6)


async def test_a_word_said_four_times_counts_twice(colours: KeywordSearcher) -> None:
    found = await parts(colours, "red red red red blue")
    ideal = 2 * IDF_TWICE + IDF_ONCE
    assert found["s.red"]["words"] == pytest.approx(IMPACT_SHORT * 2 * IDF_TWICE / ideal, abs=1e-6)
    assert found["s.red_blue"]["words"] == pytest.approx(IMPACT_LONG, abs=1e-6)


async def test_a_pair_adds_its_rarity_by_the_ideal(colours: KeywordSearcher) -> None:
    found = await parts(colours, "red blue")
    expected = 0.4 * IDF_ONCE / (2.2 * (IDF_TWICE + IDF_ONCE))
    assert found["s.red_blue"]["pairs"] == pytest.approx(expected, abs=1e-6)
    assert "pairs" not in found["s.red"]
    assert "pairs" not in (await parts(colours, "blue red"))["s.red_blue"]


async def test_whole_names_score_also_where_every_name_is_in_the_query(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", "red_blue"), tool("s", "red")])
    found = await parts(searcher, "red blue")
    # Of the two words of the query, the names spell out two and one.
    assert (found["s.red_blue"]["name"], found["s.red"]["name"]) == (0.3, 0.15)


async def test_the_server_bonus_is_full_when_the_query_is_its_name(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("red_blue"), [tool("red_blue", "x")])
    searcher.add(ServerDocs("green"), [tool("green", "y")])
    assert (await parts(searcher, "red blue"))["red_blue.x"]["server"] == pytest.approx(0.4, abs=1e-6)
    # Both words are in 1 of 2 tools, so the same idf: half of the name, and all of the query.
    assert (await parts(searcher, "red"))["red_blue.x"]["server"] == pytest.approx(0.2, abs=1e-6)


WORDS = [
    "red",
    "green",
    "blue",
    "list",
    "create",
    "file",
    "issue",
    "page",
    "user",
    "mail",
    "send",
    "read",
    "table",
    "chart",
    "map",
    "price",
]


def catalog(seed: int, server: str, count: int) -> list[Tool]:
    rng = random.Random(seed)
    return [
        Tool(
            f"{server}.t{n}",
            server,
            f"{rng.choice(WORDS)}_{rng.choice(WORDS)}_{n}",
            {"description": " ".join(rng.choices(WORDS, k=rng.randint(0, 12)))},
        )
        for n in range(count)
    ]


Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(st.sampled_from(["alpha", "beta", "gamma", "delta"]), st.integers(0, 9), st.integers(-3, 6)), max_size=12
)


@settings(max_examples=60, deadline=None)
@given(steps=steps, query=st.lists(st.sampled_from([*WORDS, "alpha", "beta", "unknown"]), min_size=1, max_size=5))
@example(steps=[("alpha", 0, 1), ("alpha", 5, 1)], query=["red", "file", "table"])  # letters of removed names alone
async def test_an_index_that_grew_answers_as_one_built_at_once(steps: list[Step], query: list[str]) -> None:
    grew = KeywordSearcher()
    state: dict[str, list[Tool]] = {}
    for server, seed, count in steps:
        if count < 0:
            grew.remove(server)
            state.pop(server, None)
        else:
            state.pop(server, None)
            state[server] = catalog(seed, server, count)
            grew.add(ServerDocs(server), state[server])
        await grew.search("red", 3)
    fresh = KeywordSearcher()
    for server, tools in state.items():
        fresh.add(ServerDocs(server), tools)
    text = " ".join(query)
    assert await grew.search(text, 10) == await fresh.search(text, 10)


@pytest.fixture(scope="module")
def large() -> list[Tool]:
    return catalog(1, "large", 1_500)


async def test_a_few_new_tools_beside_many_are_ranked_as_if_they_had_always_been_there(large: list[Tool]) -> None:
    few = catalog(2, "few", 40)
    grew, fresh = KeywordSearcher(), KeywordSearcher()
    grew.add(ServerDocs("large"), large)
    await grew.search("red", 3)
    grew.add(ServerDocs("few"), few)
    fresh.add(ServerDocs("large"), large)
    fresh.add(ServerDocs("few"), few)
    for query in ("red blue", "create issue", "send mail user", "few list", "price chart map"):
        one, other = await grew.search(query, 10), await fresh.search(query, 10)
        assert len({hit.tool_id for hit in one} & {hit.tool_id for hit in other}) >= 9, query
        # Average lengths are those of the large part: 40 of 1,540 tools move them by little.
        assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], rel=0.02)


def test_new_tools_stay_apart_until_they_are_an_eighth(large: list[Tool]) -> None:
    vocabulary, segments = Vocabulary(), list[Segment]()
    sizes: list[list[int]] = []
    for server, tools in {"large": large, **{f"s{n}": catalog(n, f"s{n}", n) for n in (50, 51, 99)}}.items():
        batch = number(read(ServerDocs(server), tools), ServerDocs(server), vocabulary)
        segments = grown(segments, [batch], len(vocabulary.words))
        sizes.append([segment.living for segment in segments])
    assert sizes == [[1500], [1500, 50], [1500, 101], [1700]]


async def test_a_large_index_of_which_half_is_gone_closes_its_gaps(large: list[Tool]) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("large"), large)
    searcher.add(ServerDocs("more"), catalog(3, "more", 1_400))
    await searcher.search("red", 3)
    searcher.remove("large")
    hits = await searcher.search("red blue", 10)
    assert all(hit.tool_id.startswith("more.") for hit in hits)
    only = KeywordSearcher()
    only.add(ServerDocs("more"), catalog(3, "more", 1_400))
    assert hits == await only.search("red blue", 10)


def test_nothing_grows_from_nothing() -> None:
    (segment,) = grown([], [], 0)
    assert segment.living == 0
