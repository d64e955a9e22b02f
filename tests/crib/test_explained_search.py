"""Why a crib finds what it finds, by every strategy that is at hand."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from toolcrib import Caller, Crib, Principal
from toolcrib.crib import ExplainedSearch
from toolcrib.errors import ConfigError, UsageError

pytestmark = pytest.mark.anyio


def create_ticket(title: str) -> str:
    """Open a new ticket."""
    return title


def send_message(text: str) -> str:
    """Send a message to somebody."""
    return text


@pytest.fixture
async def crib(tmp_path: Any) -> AsyncIterator[Crib]:
    async with Crib.open({"mcpServers": {}}, state_dir=tmp_path) as crib:
        crib.add_functions(create_ticket, send_message, server="desk")
        yield crib


def ids(explained: ExplainedSearch) -> list[list[str]]:
    return [[each.hit.tool_id for each in need.explanation.hits] for need in explained.needs]


async def test_it_explains_what_a_search_finds(crib: Crib) -> None:
    explained = await crib.explain_search("create a ticket")
    answer = await crib.search("create a ticket")
    assert explained.strategy == "keyword"
    assert ids(explained) == [[each.tool.id for each in answer.found]]
    [need] = explained.needs
    best = need.explanation.hits[0]
    assert sum(share.score for share in best.shares) == pytest.approx(best.hit.score, abs=1e-5)


async def test_each_need_is_explained_by_itself(crib: Crib) -> None:
    explained = await crib.explain_search("create a ticket\nsend a message", limit=1)
    assert [need.need for need in explained.needs] == ["create a ticket", "send a message"]
    assert ids(explained) == [["desk.create_ticket"], ["desk.send_message"]]


async def test_a_regular_expression_is_explained_by_regex(crib: Crib) -> None:
    explained = await crib.explain_search("/^desk.create/", strategy="keyword")
    assert explained.strategy == "regex"
    assert ids(explained) == [["desk.create_ticket"]]


async def test_what_ranks_nothing_has_nothing_to_explain(crib: Crib) -> None:
    assert (await crib.explain_search("")).needs == ()
    assert (await crib.explain_search("select:desk.create_ticket")).needs == ()


async def test_an_unknown_strategy_is_an_error_that_names_those_there_are(crib: Crib) -> None:
    with pytest.raises(UsageError, match="no search strategy 'magic'") as caught:
        await crib.explain_search("ticket", strategy="magic")
    assert "keyword" in caught.value.hint


async def test_a_strategy_whose_model_is_missing_says_so(crib: Crib) -> None:
    strategies = {each.name: each for each in crib.search_strategies}
    assert next(iter(strategies)) == "keyword"
    assert strategies["keyword"].configured
    assert "no model to choose with" in strategies["delegate"].problem
    with pytest.raises(ConfigError, match="no model to choose with"):
        await crib.explain_search("ticket", strategy="delegate")


async def test_a_tool_that_the_caller_may_not_see_is_not_explained(tmp_path: Any) -> None:
    config = {
        "mcpServers": {},
        "toolcrib": {
            "principals": {"guest": {}},
            "policy": {"rules": [{"principals": ["guest"], "tools": ["desk.create_*"], "then": "deny"}]},
        },
    }
    async with Crib.open(config, state_dir=tmp_path) as crib:
        crib.add_functions(create_ticket, send_message, server="desk")
        guest = Caller(Principal("guest"))
        [need] = (await crib.explain_search("create a ticket", caller=guest)).needs
        assert "desk.create_ticket" not in [each.hit.tool_id for each in need.explanation.hits]
        assert {each.term: each.tools for each in need.explanation.sought}["ticket"] == 0


class Chooses:
    """Picks the last tool that it is offered, and counts how often it was asked."""

    name = "chooses"
    window = 8_000
    asked = 0

    async def answer(self, task: str, text: str, shape: dict[str, Any]) -> Any:
        self.asked += 1
        return {"ids": [text.splitlines()[-1].partition(":")[0]]}

    async def close(self) -> None:
        pass


async def test_a_small_model_is_asked_only_when_delegate_is_asked_for(tmp_path: Any) -> None:
    model = Chooses()
    async with Crib.open({"mcpServers": {}}, state_dir=tmp_path, small_model=model) as crib:
        crib.add_functions(create_ticket, send_message, server="desk")
        assert {each.name: each.problem for each in crib.search_strategies}["delegate"] == ""
        await crib.explain_search("send a ticket")
        assert model.asked == 0
        [need] = (await crib.explain_search("send a ticket", strategy="delegate")).needs
        assert model.asked == 1
        assert need.explanation.hits[0].shares[0].part == "chosen"


async def test_tools_that_come_later_are_explained_too(crib: Crib) -> None:
    await crib.explain_search("ticket", strategy="regex")

    def close_ticket(ticket: str) -> str:
        """Close it."""
        return ticket

    crib.add_functions(close_ticket, server="desk")
    assert ids(await crib.explain_search("close_ticket", strategy="regex")) == [["desk.close_ticket"]]
