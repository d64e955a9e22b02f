"""What goes wrong with a model, over every vendor's API: the doubles refuse a request that the API would refuse."""

import json
from typing import Any

import anyio
import pytest

pytest.importorskip("anthropic")
pytest.importorskip("openai")
pytest.importorskip("google.genai")

from doubles.vendors import VENDORS, Vendor

from toolcrib import Crib
from toolcrib.llm import ContextTooLongError, ProviderAuthError, ProviderBusyError, ProviderError

pytestmark = pytest.mark.anyio

over_each = pytest.mark.parametrize("vendor", VENDORS, ids=[vendor.name for vendor in VENDORS])
ADD = {"a": 1, "b": 2}


@over_each
async def test_arguments_that_are_no_object_run_nothing_and_are_mended(
    crib: Crib, calls: list[Any], vendor: Vendor
) -> None:
    # Gemini gives arguments as an object, whatever its model writes.
    wrong: Any = {"a": [1]} if vendor.name == "gemini" else '{"a": 1, "b"'
    script = (
        vendor.answer("", ("local__add", wrong, "call_1")),
        vendor.answer("", ("local__add", ADD, "call_2")),
        vendor.answer("3"),
    )
    async with vendor.client(crib, *script, surface="all") as (client, double):
        assert (await client.chat("1 + 2?")).text == "3"
    assert calls == [("add", (1, 2))]
    assert "integer" in json.dumps(double.bodies[1])


@over_each
@pytest.mark.parametrize("name", ["local__sum", "bash", "local.add.twice", "ünknown tool!", "x" * 200])
async def test_a_tool_that_is_not_there_is_answered(crib: Crib, calls: list[Any], vendor: Vendor, name: str) -> None:
    script = (vendor.answer("", (name, {}, "call_1")), vendor.answer("sorry"))
    async with vendor.client(crib, *script, surface="all") as (client, _):
        response = await client.chat("do it")
    assert (response.text, response.tool_calls[0].kind, calls) == ("sorry", "mistaken", [])


@over_each
async def test_calls_with_one_id_are_told_apart(crib: Crib, calls: list[Any], vendor: Vendor) -> None:
    twice = (("local__add", ADD, "call_1"), ("local__ping", {}, "call_1"))
    async with vendor.client(crib, vendor.answer("", *twice), vendor.answer("done"), surface="all") as (client, _):
        response = await client.chat("add and ping")
        uses = client.conversation.messages[1].uses
    assert response.text == "done"
    assert len({use.id for use in uses}) == len({call.id for call in response.tool_calls}) == 2
    assert sorted(name for name, _ in calls) == ["add", "ping"]


@over_each
async def test_an_id_that_came_before_comes_again(crib: Crib, calls: list[Any], vendor: Vendor) -> None:
    call = vendor.answer("", ("local__ping", {}, "call_1"))
    script = (call, vendor.answer("one"), call, vendor.answer("two"))
    async with vendor.client(crib, *script, surface="all") as (client, _):
        await client.chat("ping")
        assert (await client.chat("again")).text == "two"
        ids = [use.id for message in client.conversation.messages for use in message.uses]
    assert len(set(ids)) == 2
    assert len(calls) == 2


@over_each
async def test_words_beside_calls_are_kept_and_are_not_the_answer(crib: Crib, vendor: Vendor) -> None:
    script = (vendor.answer("Let me look.", ("local__ping", {}, "call_1")), vendor.answer("It is there."))
    async with vendor.client(crib, *script, surface="all") as (client, double):
        assert (await client.chat("ping")).text == "It is there."
    assert "Let me look." in json.dumps(double.bodies[1])


@over_each
async def test_fifty_calls_at_once_are_all_answered(crib: Crib, calls: list[Any], vendor: Vendor) -> None:
    fifty = [("local__add", {"a": number, "b": 0}, f"call_{number}") for number in range(50)]
    async with vendor.client(crib, vendor.answer("", *fifty), vendor.answer("done"), surface="all") as (client, _):
        response = await client.chat("add fifty")
        results = client.conversation.messages[2].results
    assert (response.text, response.rounds, len(calls)) == ("done", 1, 50)
    assert [result.content[0]["text"] for result in results] == [str(number) for number in range(50)]


@over_each
async def test_an_empty_turn_is_an_answer_without_words(crib: Crib, vendor: Vendor) -> None:
    async with vendor.client(crib, vendor.answer(""), vendor.answer("there")) as (client, _):
        first = await client.chat("hello")
        assert (first.text, first.ended) == ("", "answered")
        assert (await client.chat("anybody?")).text == "there"


@over_each
async def test_a_key_that_is_refused(crib: Crib, vendor: Vendor) -> None:
    async with vendor.client(crib, vendor.refused(401)) as (client, _):
        with pytest.raises(ProviderAuthError):
            await client.chat("hi")
        assert client.conversation.messages == ()


@over_each
@pytest.mark.parametrize("status", [429, 500])
async def test_an_api_that_is_busy_or_fails_takes_the_question_back(crib: Crib, vendor: Vendor, status: int) -> None:
    refused = vendor.refused(status, **({"retry_after": "7"} if status == 429 else {}))
    async with vendor.client(crib, refused, vendor.answer("hi")) as (client, _):
        with pytest.raises(ProviderBusyError) as caught:
            await client.chat("hi")
        assert client.conversation.messages == ()
        assert (await client.chat("hi")).text == "hi"
    if status == 429 and vendor.name != "gemini":  # whose API says it in the body: see its own tests
        assert caught.value.retry_after == 7.0


@over_each
async def test_an_api_that_stays_silent_is_given_up_in_time(crib: Crib, vendor: Vendor) -> None:
    async with vendor.client(crib, silent := anyio.Event(), vendor.answer("hi"), timeout=1.0) as (client, _):
        with anyio.fail_after(20), pytest.raises(ProviderError, match="did not answer in time"):
            await client.chat("hi")
        silent.set()
        assert client.conversation.messages == ()
        assert (await client.chat("hi")).text == "hi"


@over_each
async def test_a_caller_who_gives_up_leaves_a_conversation_that_goes_on(crib: Crib, vendor: Vendor) -> None:
    async with vendor.client(crib, silent := anyio.Event(), vendor.answer("hi")) as (client, double):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.chat, "hi")
            await double.asked.wait()
            tasks.cancel_scope.cancel()
        silent.set()
        assert client.conversation.messages == ()
        assert (await client.chat("hi")).text == "hi"


@over_each
async def test_a_result_of_ten_megabytes_is_not_sent(vendor: Vendor) -> None:
    def dump() -> str:
        """Dump."""
        return "word " * 2_000_000

    async with Crib.from_clients({}) as crib:
        crib.add_functions(dump)
        script = (vendor.answer("", ("local__dump", {}, "call_1")), vendor.answer("too much"))
        async with vendor.client(crib, *script, surface="all") as (client, double):
            assert (await client.chat("dump")).text == "too much"
    assert len(json.dumps(double.bodies[1])) < 10_000
    assert "Ask for less" in json.dumps(double.bodies[1])


@over_each
async def test_a_question_over_the_window_is_not_sent(crib: Crib, vendor: Vendor) -> None:
    async with vendor.client(crib, vendor.answer("hi")) as (client, double):
        with pytest.raises(ContextTooLongError):
            await client.chat("word " * 1_200_000)
        assert double.bodies == []
        assert (await client.chat("hi")).text == "hi"


@over_each
async def test_arrays_that_say_nothing_of_their_items_cost_no_request(vendor: Vendor) -> None:
    """OpenAI refuses a request with one such schema in it, and with it every other tool."""
    bare: dict[str, Any] = {"type": "array"}
    properties = {"a": bare, "b": {"type": "object", "properties": {"c": {"anyOf": [bare, {"type": "null"}]}}}}
    listed = [{"name": "put", "inputSchema": {"type": "object", "properties": properties}}]
    async with Crib.from_clients({}) as crib:
        crib.registry.cache_from_maps(listed, server="box")
        async with vendor.client(crib, vendor.answer("hi"), surface="all") as (client, double):
            assert (await client.chat("hi")).text == "hi"
    assert "box__put" in json.dumps(double.bodies[0])
    assert listed[0]["inputSchema"]["properties"]["a"] == {"type": "array"}
