"""What a conversation takes: tokens by part, what the surface saved, and what it costs."""

from pathlib import Path
from typing import Any

import pytest

from toolcrib import Crib
from toolcrib.llm import (
    ChatResponse,
    Conversation,
    LlmClient,
    Message,
    Price,
    ScriptedProvider,
    Text,
    Turn,
    TurnEnded,
    Usage,
    use,
)
from toolcrib.llm.account import tools_tokens

pytestmark = pytest.mark.anyio

PRICE = Price(input=3, output=15, cached_input=0.3, cache_write=3.75)
ADD = {"a": 1, "b": 2}


def turn(words: str, usage: Usage) -> Turn:
    return Turn(Message("assistant", (Text(words),)), "end", usage)


def test_a_price_is_by_the_million_and_by_what_the_cache_gave_and_took() -> None:
    usage = Usage(input=1_000_000, output=100_000, cache_read=600_000, cache_write=200_000)
    # 200,000 plain at 3, 600,000 read at 0.3, 200,000 written at 3.75, 100,000 out at 15
    assert PRICE.of(usage) == pytest.approx(0.6 + 0.18 + 0.75 + 1.5)
    assert Price(3, 15).of(usage) == pytest.approx(3 + 1.5)


async def test_the_plainest_surface_saves_nothing(crib: Crib) -> None:
    client = LlmClient(ScriptedProvider([use("local__add", ADD), "3"]), crib, surface="all")
    response = await client.chat("add")
    assert (response.saved, response.cost) == (0, None)


async def test_deferred_saves_the_schemas_less_what_mending_took(crib: Crib) -> None:
    plain = ScriptedProvider(["hi"])
    await LlmClient(plain, crib, surface="all").chat("hi")
    model = ScriptedProvider([use("local__add", ADD), "3"])
    response = await LlmClient(model, crib, use_deferred_loading=True).chat("add")
    schemas = tools_tokens(plain.requests[0].tools) - tools_tokens(model.requests[0].tools)
    assert [account.saved for account in response.accounts] == [schemas, schemas]
    model = ScriptedProvider([use("local__add", {"a": "x"}), use("local__add", ADD), "3"])
    response = await LlmClient(model, crib, use_deferred_loading=True).chat("add")
    first, mending, last = response.accounts
    assert (first.saved, mending.saved, last.saved) == (schemas, -mending.total, schemas)


async def test_searching_is_counted_into_what_the_search_surface_saves(crib: Crib) -> None:
    call = use("call_tool", {"name": "local.add", "arguments": ADD})
    model = ScriptedProvider([use("search_tools", {"query": "add"}), call, "3", "bye"])
    client = LlmClient(model, crib, surface="search")
    first, found, called = (await client.chat("add")).accounts
    assert found.saved == -found.total  # with all definitions there would be no such request
    assert called.saved < first.saved  # what was found is sent along from there on
    assert (await client.chat("bye")).accounts[0].saved == called.saved


async def test_a_conversation_knows_what_it_took_also_after_it_was_stored(crib: Crib) -> None:
    model = ScriptedProvider([turn("a", Usage(1_000, 100)), turn("b", Usage(2_000, 200, cache_read=1_000))])
    client = LlmClient(model, crib, use_deferred_loading=True, prices={"script": PRICE})
    events = [event async for event in client.stream("one")]
    ended = next(event for event in events if isinstance(event, TurnEnded))
    assert ended.cost == pytest.approx(0.003 + 0.0015)
    loaded = Conversation.load(client.conversation.save())
    response = await client.chat("two", conversation=loaded)
    assert response.cost == pytest.approx(0.003 + 0.0003 + 0.003)
    assert (loaded.spent.requests, loaded.spent.usage) == (2, Usage(3_000, 300, cache_read=1_000))
    assert loaded.spent.cost == pytest.approx(0.0045 + 0.0063)
    assert loaded.spent.saved == 2 * response.saved > 0


async def test_prices_may_stand_in_the_configuration_by_provider_too(tmp_path: Path) -> None:
    prices = {"scripted:script": {"input": 10, "output": 0}, "script": {"input": 99, "output": 99}}
    config: dict[str, Any] = {"mcpServers": {}, "toolcrib": {"prices": prices}}
    async with Crib.open(config, state_dir=tmp_path) as crib:
        client = LlmClient(ScriptedProvider([turn("a", Usage(1_000, 5))]), crib)
        response = await client.chat("one")
    assert isinstance(response, ChatResponse)
    assert response.cost == pytest.approx(0.01)
