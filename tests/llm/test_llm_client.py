"""The client: rounds, streams, conversations, limits, and what happens when something breaks."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import anyio
import pytest

from toolcrib import Crib
from toolcrib.errors import UsageError
from toolcrib.llm import (
    BrokenAnswerError,
    ChatResponse,
    ContextTooLongError,
    Conversation,
    LlmClient,
    Message,
    ProviderBusyError,
    Request,
    ScriptedProvider,
    Text,
    TextDelta,
    ToolEnded,
    Traits,
    Trimmed,
    Turn,
    TurnEnded,
    Usage,
    use,
)

pytestmark = pytest.mark.anyio

ADD = use("local__add", {"a": 1, "b": 2})


def client_over(crib: Crib, *script: Any, **options: Any) -> tuple[LlmClient, ScriptedProvider]:
    provider = ScriptedProvider(script, traits=options.pop("traits", None))
    return LlmClient(provider, crib, **options), provider


def results(request: Request) -> list[str]:
    return [str(result.content[0]["text"]) for result in request.messages[-1].results]


async def test_all_definitions_are_told_while_they_are_few(crib: Crib) -> None:
    client, provider = client_over(crib, "hello")
    await client.chat("hi")
    assert client.conversation.surface == "all"
    add = next(tool for tool in provider.requests[0].tools if tool.name == "local__add")
    assert add.input_schema == crib.registry.tool("local.add").input_schema


async def test_beyond_the_threshold_tools_are_searched_for(crib: Crib, calls: list[Any]) -> None:
    found = use("search_tools", {"query": "add whole numbers"})
    call = use("call_tool", {"name": "local.add", "arguments": {"a": 1, "b": 2}})
    client, provider = client_over(crib, found, call, "3", traits=Traits(window=1_500))
    response = await client.chat("what is 1 + 2?")
    assert client.conversation.surface == "search"
    assert [tool.name for tool in provider.requests[0].tools][:3] == ["search_tools", "get_tool_details", "call_tool"]
    assert "local.add(" in results(provider.requests[1])[0]
    assert (response.text, response.rounds, calls) == ("3", 1, [("add", (1, 2))])
    assert [call.kind for call in response.tool_calls] == ["looked", "called"]


async def test_a_vendor_that_holds_definitions_back_is_given_them_all_and_references(crib: Crib) -> None:
    found = use("search_tools", {"query": "add whole numbers"})
    client, provider = client_over(crib, found, ADD, "3", traits=Traits(window=1_500, references=True))
    await client.chat("what is 1 + 2?")
    assert client.conversation.surface == "native"
    search, *rest = provider.requests[0].tools
    assert (search.searches, search.deferred) == (True, False)
    assert all(tool.deferred for tool in rest)
    assert provider.requests[1].messages[-1].results[0].references[0] == "local__add"


async def test_a_call_that_needs_mending_is_mended_on_the_search_surface_too(crib: Crib, calls: list[Any]) -> None:
    bad = use("call_tool", {"name": "local.add", "arguments": {"a": "many"}})
    good = use("call_tool", {"name": "local.add", "arguments": {"a": 1, "b": 2}})
    client, _ = client_over(crib, bad, good, "3", surface="search")
    await client.chat("add")
    assert calls == [("add", (1, 2))]
    assert client.conversation.messages[1].uses == (good,)


async def test_a_tool_called_by_its_own_id_on_the_search_surface_is_called(crib: Crib, calls: list[Any]) -> None:
    client, _ = client_over(crib, use("local.add", {"a": 1, "b": 2}), "3", surface="search")
    await client.chat("add")
    assert calls == [("add", (1, 2))]


async def test_looking_things_up_costs_no_round_but_ends_after_ten(crib: Crib) -> None:
    looks = [use("search_tools", {"query": f"tool {number}"}) for number in range(20)]
    client, provider = client_over(crib, *looks, surface="search")
    response = await client.chat("look for ever")
    assert (response.rounds, response.ended, len(provider.requests)) == (0, "rounds", 11)
    assert [request.tool_choice for request in provider.requests[-2:]] == ["auto", "none"]


async def test_calls_of_a_turn_run_side_by_side_and_are_answered_in_order() -> None:
    second_ran = anyio.Event()

    async def first() -> str:
        """First."""
        await second_ran.wait()
        return "one"

    async def second() -> str:
        """Second."""
        second_ran.set()
        return "two"

    async with Crib.from_clients({}) as crib:
        crib.add_functions(first, second)
        client, provider = client_over(crib, (use("local__first"), use("local__second")), "done")
        with anyio.fail_after(10):
            await client.chat("both")
    assert results(provider.requests[1]) == ["one", "two"]


async def test_no_more_calls_run_at_once_than_allowed() -> None:
    running = most = 0

    async def work(number: int) -> int:
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.lowlevel.checkpoint()
        running -= 1
        return number

    async with Crib.from_clients({}) as crib:
        crib.add_functions(work)
        uses = tuple(use("local__work", {"number": number}) for number in range(50))
        client, provider = client_over(crib, uses, "done", max_parallel_calls=3)
        await client.chat("work")
    assert most == 3
    assert results(provider.requests[1]) == [str(number) for number in range(50)]


async def test_a_stream_tells_words_calls_and_what_it_took(crib: Crib) -> None:
    client, _ = client_over(crib, Turn(Message("assistant", (Text("Let me add."), ADD)), "tool_use", Usage(10, 2)), "3")
    events = [event async for event in client.stream("add")]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Let me add.", "3"]
    turns = [event for event in events if isinstance(event, TurnEnded)]
    assert turns[0].usage == Usage(10, 2)
    assert turns[0].account.tools > 0 == turns[0].account.results < turns[1].account.results
    last = events[-1]
    assert isinstance(last, ChatResponse)
    assert last.usage == turns[0].usage + turns[1].usage


async def test_a_broken_answer_runs_nothing_and_takes_the_question_back(crib: Crib, calls: list[Any]) -> None:
    class Breaks(ScriptedProvider):
        async def stream(self, request: Request) -> AsyncIterator[Any]:  # type: ignore[override]
            yield TextDelta("I wi")

    client = LlmClient(Breaks([]), crib)
    with pytest.raises(BrokenAnswerError):
        await client.chat("add")
    assert (calls, client.conversation.messages) == ([], ())


async def test_a_failure_after_calls_keeps_what_was_done(crib: Crib) -> None:
    client, _ = client_over(crib, ADD, ProviderBusyError("scripted", "Too busy."), "3")
    with pytest.raises(ProviderBusyError):
        await client.chat("add")
    assert len(client.conversation.messages) == 3
    assert (await client.chat("and?")).text == "3"


async def test_a_call_given_up_leaves_an_answer_that_says_so() -> None:
    begun = anyio.Event()

    async def hang() -> str:
        """Hang."""
        begun.set()
        await anyio.sleep_forever()
        return ""

    async with Crib.from_clients({}) as crib:
        crib.add_functions(hang)
        client, provider = client_over(crib, use("local__hang"), "I was interrupted")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.chat, "hang")
            await begun.wait()
            tasks.cancel_scope.cancel()
        assert "not known" in str(client.conversation.messages[-1].results[0].content[0]["text"])
        assert (await client.chat("what now?")).text == "I was interrupted"
        assert [message.role for message in provider.requests[1].messages] == ["user", "assistant", "user", "user"]


async def test_conversations_go_on_side_by_side_and_can_be_stored(crib: Crib) -> None:
    client, provider = client_over(crib, "one", "two", "three", system="Be brief.")
    other = client.new_conversation()
    await client.chat("first")
    await client.chat("second", conversation=other)
    loaded = Conversation.load(other.save())
    await client.chat("third", conversation=loaded)
    assert [message.text for message in provider.requests[2].messages] == ["second", "two", "third"]
    assert provider.requests[2].tools == provider.requests[1].tools
    assert provider.requests[2].system == "Be brief."


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 99}', "not json", '{"version": 1, "id": 3}'])
def test_what_is_no_stored_conversation_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Conversation.load(text)


async def test_a_conversation_that_grows_too_long_ends_clearly_or_is_trimmed(crib: Crib) -> None:
    long = "word " * 400
    client, _ = client_over(crib, "ok", "ok", traits=Traits(window=1_100), surface="search")
    await client.chat(long)
    with pytest.raises(ContextTooLongError, match="Begin another conversation"):
        await client.chat(long)
    assert len(client.conversation.messages) == 2
    client, provider = client_over(crib, "ok", "ok", traits=Traits(window=1_100), surface="search", trim=True)
    await client.chat(long)
    events = [event async for event in client.stream(long)]
    assert [event for event in events if isinstance(event, Trimmed)] == [Trimmed(2, 1)]
    assert len(provider.requests[1].messages) == 1


async def test_a_result_that_would_fill_the_window_is_answered_as_such() -> None:
    def dump() -> str:
        """Dump."""
        return "x" * 10_000_000

    async with Crib.from_clients({}) as crib:
        crib.add_functions(dump)
        client, provider = client_over(crib, use("local__dump"), "too big")
        await client.chat("dump")
    assert "Ask for less" in results(provider.requests[1])[0]


async def test_what_does_not_go_together_is_refused(crib: Crib) -> None:
    with pytest.raises(UsageError, match="selects the surface"):
        LlmClient(ScriptedProvider([]), crib, use_deferred_loading=True, surface="all")
    with pytest.raises(UsageError, match="not both"):
        LlmClient(ScriptedProvider([]), crib, mcp_client={})
    with pytest.raises(UsageError, match="no provider"):
        LlmClient("nonsense:model")
    with pytest.raises(UsageError, match="nothing to ask"):
        await LlmClient(ScriptedProvider([]), crib).chat("  ")


async def test_every_request_begins_with_the_last_one(crib: Crib) -> None:
    """Vendors cache what precedes the newest message, and some refuse a request in which it differs."""
    script = [use("local__add", {"a": "x"}), ADD, use("local__ping"), "done", use("local__ping"), "again"]
    client, provider = client_over(crib, *script, max_tool_rounds=3, surface="deferred")
    await client.chat("one")

    def late(text: str) -> str:
        """A tool that comes later."""
        return text

    crib.add_functions(late, server="later")
    await client.chat("two")
    payloads = [provider.payload(request) for request in provider.requests]
    head = json.dumps([payloads[0]["system"], payloads[0]["tools"]])
    assert all(json.dumps([payload["system"], payload["tools"]]) == head for payload in payloads)
    assert payloads[1]["messages"][1]["parts"][0]["arguments"] == {"a": "x"}  # shown aside, once
    kept = [payload["messages"] for place, payload in enumerate(payloads) if place != 1]
    for earlier, later in pairwise(kept):
        assert later[: len(earlier)] == earlier


@pytest.mark.parametrize("surface", ["deferred", "search"])
async def test_a_result_over_the_budget_is_kept_and_read_in_pages(surface: Any) -> None:
    def lines() -> str:
        """Many lines."""
        return "\n".join(f"line {number}" for number in range(5_000))

    def read(request: Request) -> Any:
        return use("read_result", {"handle": handle_of(results(request)[0]), "offset": 4_999})

    def handle_of(preview: str) -> str:
        found = re.search(r"\br_\w+", preview)
        assert found, preview
        return found[0]

    call = use("call_tool", {"name": "local.lines"}) if surface == "search" else use("local__lines")
    async with Crib.from_clients({}) as crib:
        crib.add_functions(lines)
        client, provider = client_over(
            crib, call, read, "read", surface=surface, result_budget=2_000, max_tool_rounds=3
        )
        response = await client.chat("read the last line")
    assert len(results(provider.requests[1])[0]) < 4_000
    assert "line 4999" in results(provider.requests[2])[0]
    assert (response.rounds, [call.kind for call in response.tool_calls]) == (1, ["called", "looked"])


async def test_whoever_stops_listening_does_not_make_the_conversation_forget_what_was_done(
    crib: Crib, calls: list[Any]
) -> None:
    client, provider = client_over(crib, ADD, "3")
    async with aclosing(client.stream("add")) as events:
        async for event in events:
            if isinstance(event, ToolEnded):
                break
    assert calls == [("add", (1, 2))]
    assert [message.role for message in client.conversation.messages] == ["user", "assistant", "user"]
    assert (await client.chat("and?")).text == "3"
    assert results_of(provider.requests[1]) == ["add"]


def results_of(request: Request) -> list[str]:
    return [result.name.removeprefix("local__") for message in request.messages for result in message.results]


async def test_a_question_is_taken_back_also_after_the_conversation_was_trimmed(crib: Crib) -> None:
    long = "word " * 400
    failure = ProviderBusyError("scripted", "Too busy.")
    client, _ = client_over(crib, "ok", failure, traits=Traits(window=1_100), surface="search", trim=True)
    await client.chat(long)
    with pytest.raises(ProviderBusyError):
        await client.chat(long)
    assert client.conversation.segment == 1
    assert client.conversation.messages == ()
