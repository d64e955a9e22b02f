"""What every search strategy promises, asked of each of them in one word, which is a query for all."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from toolcrib.catalog.tool import Tool
from toolcrib.catalog.visible import VisibleSet
from toolcrib.config import SearchSettings
from toolcrib.errors import ConfigError, UsageError
from toolcrib.search import (
    Candidate,
    DelegateSearcher,
    Embedder,
    Hit,
    Searcher,
    SemanticSearcher,
    ServerDocs,
    make_searcher,
)

pytestmark = pytest.mark.anyio

MakeTool = Callable[..., Tool]
Fill = Callable[[Searcher], Searcher]

ODD_QUERIES = {
    "empty": "",
    "one character": "x",
    "one character of another script": "文",
    "mixed scripts": "создать issue 在 repository की सूची",
    "blank": " \t\n",
    "100 kB of words": "issue repository " * 6_000,
    "100 kB in one word": "x" * 100_000,
    "Chinese": "查询北京到上海的火车票",
    "Russian": "отправить письмо",
    "Vietnamese": "tìm kiếm thư điện tử",
    "Arabic": "ابحث عن الملفات",
    "Hindi": "फ़ाइल खोजें",
    "emoji": "📧 👩‍👩‍👧‍👦",
    "NUL": "issue\x00repository",
    "lone surrogate": "issue \ud83d",
    "null": "null",
    "punctuation": "!?.,;:'\"()[]{}<>|\\/",
    "stop words": "how do I get the",
    "combining marks": "e\u0301\u0301\u0301" * 50,
}


Make = Callable[[], Searcher]


STRATEGIES = ("keyword", "regex", "semantic", "hybrid", "delegate")


@pytest.fixture(params=["auto", *STRATEGIES])
def make(request: pytest.FixtureRequest, trigrams: type[Embedder]) -> Make:
    """Makes an empty searcher of one strategy; `auto` with what is installed."""
    settings = SearchSettings(embedder_patience=60.0)
    if request.param == "auto":
        return lambda: make_searcher("auto", settings=settings)

    async def as_they_were(query: str, candidates: Sequence[Candidate]) -> list[str]:
        return []

    return lambda: make_searcher(request.param, settings=settings, embedder=trigrams(), chooser=as_they_were)


@pytest.fixture
def searcher(make: Make) -> Searcher:
    return make()


def ids(hits: list[Hit]) -> list[str]:
    return [hit.tool_id for hit in hits]


async def test_an_empty_index_finds_nothing(searcher: Searcher) -> None:
    assert await searcher.search("issue", 5) == []
    assert searcher.servers == ()
    assert searcher.fingerprint("github") is None


async def test_it_finds_a_tool_by_a_word_of_its_name(searcher: Searcher, filled: Fill) -> None:
    hits = await filled(searcher).search("forecast", 5)
    assert ids(hits)[0] == "weather.forecast"
    assert hits[0].score > 0


async def test_hits_come_best_first_and_say_why(searcher: Searcher, filled: Fill) -> None:
    hits = await filled(searcher).search("search", 10)
    assert len(hits) >= 2
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.why
        assert sum(hit.why.values()) == pytest.approx(hit.score)


async def test_a_tool_is_found_once_however_often_the_word_is_given(searcher: Searcher, filled: Fill) -> None:
    filled(searcher)
    hits = ids(await searcher.search("forecast", 10))
    assert len(hits) == len(set(hits))


async def test_the_limit_is_kept_and_takes_the_best(searcher: Searcher, filled: Fill) -> None:
    filled(searcher)
    everything = ids(await searcher.search("search", 100))
    assert ids(await searcher.search("search", 1)) == everything[:1]
    assert await searcher.search("search", 0) == []
    assert await searcher.search("search", -1) == []


async def test_adding_a_server_again_replaces_its_tools(searcher: Searcher, filled: Fill, tool: MakeTool) -> None:
    filled(searcher)
    await searcher.search("forecast", 5)
    searcher.add(ServerDocs("weather"), [tool("weather", "tides", "Tides.")], digest="weather v2")
    assert "weather.forecast" not in ids(await searcher.search("forecast", 10))
    assert ids(await searcher.search("tides", 10))[:1] == ["weather.tides"]
    assert searcher.fingerprint("weather") == "weather v2"


async def test_a_server_added_twice_before_a_search_counts_once(searcher: Searcher, tool: MakeTool) -> None:
    searcher.add(ServerDocs("weather"), [tool("weather", "forecast")], digest="1")
    searcher.add(ServerDocs("weather"), [tool("weather", "tides")], digest="2")
    assert "weather.forecast" not in ids(await searcher.search("forecast", 10))
    assert ids(await searcher.search("tides", 10)) == ["weather.tides"]


async def test_a_removed_server_is_not_found_and_comes_back_when_added(
    searcher: Searcher, filled: Fill, tool: MakeTool
) -> None:
    filled(searcher)
    before = ids(await searcher.search("forecast", 10))
    searcher.remove("weather")
    assert "weather.forecast" not in ids(await searcher.search("forecast", 10))
    assert "weather" not in searcher.servers
    assert searcher.fingerprint("weather") is None
    searcher.add(ServerDocs("weather"), [tool("weather", "forecast", "Weather for the coming days.")])
    assert ids(await searcher.search("forecast", 10))[0] == before[0]


async def test_removing_an_unknown_server_changes_nothing(searcher: Searcher, filled: Fill) -> None:
    filled(searcher)
    before = await searcher.search("search", 10)
    searcher.remove("nowhere")
    assert await searcher.search("search", 10) == before


async def test_everything_can_be_removed(searcher: Searcher, filled: Fill, tool: MakeTool) -> None:
    filled(searcher)
    await searcher.search("search", 10)
    for server in searcher.servers:
        searcher.remove(server)
    assert await searcher.search("search", 10) == []
    searcher.add(ServerDocs("weather"), [tool("weather", "forecast")])
    assert ids(await searcher.search("forecast", 10)) == ["weather.forecast"]


async def test_a_server_without_tools_is_known_by_its_digest(searcher: Searcher) -> None:
    searcher.add(ServerDocs("empty", description="Has no tools"), [], digest="d")
    assert await searcher.search("tools", 5) == []
    assert searcher.servers == ("empty",)
    assert searcher.fingerprint("empty") == "d"


async def test_only_visible_tools_are_found_even_where_hidden_ones_fit_better(
    searcher: Searcher, tool: MakeTool
) -> None:
    searcher.add(ServerDocs("many"), [tool("many", f"forecast_{n}", "forecast") for n in range(50)])
    searcher.add(ServerDocs("few"), [tool("few", "almanac", "Has a forecast too, among much else, in a long text.")])
    visible = VisibleSet(["few.almanac"])
    for limit in (1, 5, 100):
        assert ids(await searcher.search("forecast", limit, visible)) == ["few.almanac"]
    assert await searcher.search("forecast", 5, VisibleSet([])) == []


async def test_a_visible_set_holds_for_tools_that_are_added_later(searcher: Searcher, tool: MakeTool) -> None:
    visible = VisibleSet(["a.forecast", "b.forecast"])
    searcher.add(ServerDocs("a"), [tool("a", "forecast")])
    assert ids(await searcher.search("forecast", 5, visible)) == ["a.forecast"]
    searcher.add(ServerDocs("b"), [tool("b", "forecast"), tool("b", "forecast_hidden")])
    assert set(ids(await searcher.search("forecast", 5, visible))) == {"a.forecast", "b.forecast"}


async def test_equal_scores_come_in_the_order_of_their_ids(searcher: Searcher) -> None:
    definition = {"name": "forecast", "description": "The weather to come."}
    searcher.add(ServerDocs("s"), [Tool(f"{at}.forecast", "s", "forecast", definition) for at in "cab"])
    everything = await searcher.search("forecast", 10)
    assert sorted(everything, key=lambda hit: (-hit.score, hit.tool_id)) == everything
    assert ids(await searcher.search("forecast", 2)) == ids(everything)[:2]
    if len({hit.score for hit in everything}) == 1:
        assert ids(everything) == ["a.forecast", "b.forecast", "c.forecast"]


async def test_the_same_question_gets_the_same_answer(make: Make, filled: Fill) -> None:
    searcher = filled(make())
    first = await searcher.search("search", 10)
    assert await searcher.search("search", 10) == first
    assert await filled(make()).search("search", 10) == first


@pytest.mark.parametrize("query", ODD_QUERIES.values(), ids=ODD_QUERIES.keys())
async def test_odd_queries_get_hits_or_are_refused(searcher: Searcher, filled: Fill, query: str) -> None:
    filled(searcher)
    if searcher.name == "regex" and not is_pattern(query):
        with pytest.raises(UsageError, match="can't be used"):
            await searcher.search(query, 5)
    else:
        assert len(await searcher.search(query, 5)) <= 5


def is_pattern(query: str) -> bool:
    """What the regex strategy takes: at most 200 characters, and here no broken punctuation."""
    return len(query) <= 200 and query != ODD_QUERIES["punctuation"]


async def test_odd_definitions_are_taken_in(searcher: Searcher) -> None:
    deep: dict[str, object] = {"type": "object"}
    for _ in range(500):
        deep = {"properties": {"inner": deep}}
    definitions: list[dict[str, object]] = [
        {"description": None, "inputSchema": None, "title": 7, "annotations": [], "_meta": "x"},
        {"description": ["no", "text"], "inputSchema": [1], "outputSchema": "string"},
        {"inputSchema": {"properties": [], "enum": 3, "items": True, "anyOf": {}, "$defs": None}},
        {"inputSchema": deep, "description": "x" * 300_000},
        {"description": "<p>Weather <b>of</b>&nbsp;today</p><script>alert(1)</script> 🌦️👩‍👩‍👧", "title": "🌦️"},
        {"description": "\ud800 \x00 \u202e", "inputSchema": {"properties": {"": {}, "\ud800": {"enum": [None, 1]}}}},
    ]
    tools = [Tool(f"odd.forecast_{n}", "odd", f"forecast_{n}", definition) for n, definition in enumerate(definitions)]
    searcher.add(ServerDocs("odd", instructions="\ud800"), tools)
    assert len(await searcher.search("forecast", 10)) == len(definitions)


@pytest.mark.parametrize("make", STRATEGIES, indirect=True)
async def test_a_server_of_very_many_like_tools_is_taken_in_and_hides_no_other(searcher: Searcher) -> None:
    definition = {"description": "Read one record of a table. " * 4}
    like = [Tool(f"crm.read_{n}", "crm", f"read_{n}", definition) for n in range(5_000)]
    other = {"description": "Forecast of the weather."}
    searcher.add(ServerDocs("crm"), like)
    searcher.add(ServerDocs("weather"), [Tool("weather.forecast", "weather", "forecast", other)])
    is_by_meaning = await has_its_vectors(searcher)
    assert ids(await searcher.search("forecast", 3))[0] == "weather.forecast"
    found = ids(await searcher.search("record", 3))
    if is_by_meaning:
        assert len(set(found) & {tool.id for tool in like}) == 3
    else:
        assert found == sorted(tool.id for tool in like)[:3]


async def has_its_vectors(searcher: Searcher) -> bool:
    """Whether it searches by meaning; waits for the vectors of more tools than a search itself waits for."""
    if isinstance(searcher, DelegateSearcher):
        searcher = searcher.candidates
    return isinstance(searcher, SemanticSearcher) and await searcher.settled()


async def test_a_searcher_that_keeps_nothing_says_so(make: Make, filled: Fill, tmp_path: Path) -> None:
    path = tmp_path / "index"
    kept = filled(make()).save(path)
    assert kept == path.exists()
    assert make().load(path) == kept


def test_an_unknown_strategy_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'magic'.*auto, keyword, regex, semantic, hybrid, delegate, subagent"):
        make_searcher("magic")


WORDS = "wipe wipes wipex wiper disk dusk forge forger invoices deploys zebra staf wombat payload mail"


async def test_what_is_not_visible_changes_nothing_in_what_is_found(make: Make, tool: MakeTool) -> None:
    seen = [
        tool("box", "wiper_settings", "Change the settings of wipers."),
        tool("box", "invoice_list", "List invoices of a customer."),
        tool("box", "deploys_show", "Show deployments to production."),
        tool("box", "mail_read", "Read a message."),
    ]
    hidden = [
        tool("box", "wipe", "Wipe a disk wholly."),
        tool("box", "invoices", "Forge invoices of a zebra."),
        tool("box", "deploy", "Deploy a payload."),
        tool("box", "staff_wombats", "Mail the staff of wombats."),
    ]
    whole, part = make(), make()
    whole.add(ServerDocs("box"), [*seen, *hidden])
    part.add(ServerDocs("box"), seen)
    visible = VisibleSet(each.id for each in seen)
    words = WORDS.split()
    for query in (*words, *map(" ".join, pairwise(words))):
        assert await whole.search(query, 10, visible) == await part.search(query, 10, visible), query
