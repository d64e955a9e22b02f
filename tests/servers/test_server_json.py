"""What a server sends stays the JSON that it sent, over any number of pages: DESIGN 5.6."""

import json

import pytest

from toolcrib.catalog import RequestContext

pytestmark = pytest.mark.anyio

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "strange"}}


def written(value):
    """JSON text, in which the order of members, 1 and 1.0, and null and absent all differ."""
    return json.dumps(value)


async def test_definitions_keep_unknown_members_nulls_big_numbers_and_order(stub, open_pool, spoken):
    server = stub("Strange")
    [answer] = spoken(server.entry, LIST)
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        listed = [opened["one"].snapshot.definitions.read(0)]
        assert written(listed) == written(answer["result"]["tools"])
        assert written(await opened["one"].list("tools/list")) == written(answer["result"]["tools"])


async def test_results_keep_unknown_members_nulls_big_numbers_order_and_lone_surrogates(stub, open_pool, call, spoken):
    server = stub("Strange")
    [answer] = spoken(server.entry, CALL)
    async with open_pool(one=server) as opened:
        assert written(await call(opened["one"], "strange")) == written(answer["result"])


async def test_arguments_reach_the_server_as_they_were_given(stub, open_pool, call):
    server = stub("Normal")
    given = {
        "z": None,
        "a": [1, 1.0, -0.0, 1e300, 123456789012345678901234567890, True, {}, []],
        "": "empty name",
        "text": "line\nbreak \u2028 \x00 \x7f 日本語 🜁",
        "half a pair": "\ud83d",
    }
    async with open_pool(one=server) as opened:
        result = await call(opened["one"], "echo", given)
    [sent] = [message for message in server.received if message["method"] == "tools/call"]
    assert written(sent["params"]["arguments"]) == written(given)
    assert written(result["structuredContent"]["arguments"]) == written(given)


async def test_meta_given_with_a_request_is_merged_with_what_the_era_asks_for(stub, open_pool):
    server = stub("Modern")
    context = RequestContext(meta={"traceparent": "00-ab-cd-01"})
    async with open_pool(one=server) as opened:
        await opened["one"].request("tools/call", {"name": "echo", "_meta": {"own": 1}}, context)
    meta = server.received[-1]["params"]["_meta"]
    assert (meta["own"], meta["traceparent"]) == (1, "00-ab-cd-01")
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


async def test_an_answer_of_fifty_megabytes_arrives_whole(stub, open_pool, call):
    async with open_pool(one=stub("Big")) as opened:
        result = await call(opened["one"], "echo")
    assert len(result["content"][0]["text"]) == 50_000_000


async def test_a_definition_of_three_megabytes_is_listed_whole(stub, open_pool, spoken):
    server = stub("HugeTool")
    [answer] = spoken(server.entry, LIST)
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        assert [opened["one"].snapshot.definitions.read(0)] == answer["result"]["tools"]


async def test_bytes_that_are_not_utf8_are_replaced_and_the_rest_of_the_answer_arrives(stub, open_pool, call):
    async with open_pool(one=stub("NotUtf8")) as opened:
        result = await call(opened["one"], "echo")
    assert result["content"] == [{"type": "text", "text": "caf\N{REPLACEMENT CHARACTER}"}]


async def test_lines_that_are_no_messages_are_passed_over(stub, open_pool, call):
    async with open_pool(one=stub("Junk")) as opened:
        result = await call(opened["one"], "echo", {"a": 1})
    assert result["structuredContent"] == {"name": "echo", "arguments": {"a": 1}}


async def test_all_pages_of_a_listing_are_joined_in_order(open_pool, replay):
    tools = [{"name": f"t{number}", "inputSchema": {}, "n": number} for number in range(25)]
    prompts = [{"name": f"p{number}"} for number in range(11)]
    server = replay({"tools": tools, "prompts": prompts}, "--page", "10")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        assert await opened["one"].list("tools/list") == tools
        assert await opened["one"].list("prompts/list") == prompts
        assert opened["one"].status.tools == 25


async def test_a_cursor_that_repeats_ends_the_listing(stub, open_pool):
    server = stub("LoopingCursor")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        assert opened["one"].snapshot.definitions.names == ["echo"]
    assert server.methods.count("tools/list") == 2


async def test_a_listing_without_end_is_cut_after_a_thousand_pages(stub, open_pool):
    async with open_pool(one=stub("EndlessCursor")) as opened:
        await opened["one"].ensure()
        assert opened["one"].status.tools == 1_000


async def test_of_equal_names_the_last_definition_counts_and_entries_without_a_name_are_left_out(stub, open_pool):
    async with open_pool(one=stub("Duplicates")) as opened:
        await opened["one"].ensure()
        definitions = opened["one"].snapshot.definitions
        assert list(definitions.names) == ["twin", "other"]
        assert definitions.read(0)["title"] == "second"
