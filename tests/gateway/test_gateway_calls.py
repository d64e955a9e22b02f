"""What a client of the gateway is given, in both protocol eras over every transport."""

import json
from types import ModuleType
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

pytestmark = pytest.mark.anyio

LIMIT = 20.0


@pytest.fixture(autouse=True)
async def _in_time() -> Any:
    with anyio.fail_after(LIMIT):
        yield


async def test_the_server_says_who_it_is_and_claims_only_what_it_serves(link: Any) -> None:
    client = link.client
    capabilities = client.server_capabilities.model_dump(by_alias=True, exclude_none=True)

    assert client.server_info.name == "toolcrib"
    assert client.server_info.version == "0.1.0"
    assert capabilities == {
        "tools": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "prompts": {"listChanged": True},
        "completions": {},
        "logging": {},
    }
    assert "search_tools" in client.instructions


async def test_the_list_is_the_constant_tools_in_the_same_bytes_every_time(link: Any) -> None:
    first = await link.request("tools/list")
    await link.meta("search_tools", {"query": "book a meeting room"})
    second = await link.request("tools/list")

    names = [tool["name"] for tool in first["tools"]]
    assert names == ["search_tools", "get_tool_details", "call_tool", "read_result", "run_code"]
    assert json.dumps(first) == json.dumps(second)
    if link.era == "modern":  # specification 2026-07-28, server/utilities/caching: both are required
        assert first["ttlMs"] >= 0
        assert first["cacheScope"] == "private"
        assert first["resultType"] == "complete"
    else:
        assert first.keys() == {"tools"}


async def test_the_list_has_no_second_page(link: Any) -> None:
    with pytest.raises(MCPError, match="page") as caught:
        await link.request("tools/list", {"cursor": "2"})

    assert caught.value.error.code == -32602  # specification, server/utilities/pagination: invalid cursor


async def test_a_search_finds_a_tool_by_what_it_does(link: Any) -> None:
    result = await link.meta("search_tools", {"query": "reserve a room for a meeting", "detail": "name"})

    assert result["content"][0]["text"].splitlines()[0].strip() == "odd.book"


async def test_details_are_equal_to_what_the_server_listed(link: Any, odd: ModuleType) -> None:
    result = await link.meta("get_tool_details", {"name": "odd.book"})

    listed = next(tool for tool in odd.DEFINITIONS if tool["name"] == "book")
    assert json.loads(result["content"][0]["text"])["definition"] == listed


@pytest.mark.parametrize("name", ["rich", "failed", "nothing"])
async def test_a_result_arrives_with_the_values_that_the_server_sent(link: Any, odd: ModuleType, name: str) -> None:
    result = await link.call(name)

    if name == "rich":  # a NUL in a text, of which a remark behind the content tells
        assert result["_meta"].pop("toolcrib/hidden")[0] == {"path": "/content/0/text", "kinds": ["control"]}
        assert "Remark of Toolcrib" in result["content"].pop()["text"]
    assert result == link.expected(odd.RESULTS[name])


async def test_a_structure_that_is_no_object_reaches_who_can_take_it(link: Any, odd: ModuleType) -> None:
    result = await link.call("values")

    if link.era == "modern":
        assert result == link.expected(odd.RESULTS["values"])
    else:  # until 2025-11-25 `structuredContent` is an object
        assert result == {"content": odd.RESULTS["values"]["content"]}


async def test_a_structure_without_text_becomes_text_for_who_cannot_take_it(link: Any, odd: ModuleType) -> None:
    result = await link.call("bare_values")

    if link.era == "modern":
        assert result == link.expected(odd.RESULTS["bare_values"])
    else:
        assert result == {"content": [{"type": "text", "text": '[1,"two",null]'}]}


async def test_the_sdk_reads_the_result_as_one_of_its_own(link: Any) -> None:
    result = await link.client.call_tool("call_tool", {"name": "odd.failed"})

    assert result.is_error
    assert result.structured_content == {"row": 7}
    assert result.content[0].text == "no such row"


async def test_six_megabytes_arrive_whole_where_the_budget_takes_them(link: Any, odd: ModuleType) -> None:
    assert len(odd.BIG_TEXT) == 6_000_000
    result = await link.call("big")

    if link.kind == "memory":  # connected clients have no configuration, so the default budget holds
        handle = result["_meta"]["toolcrib/handle"]
        result = await link.meta("read_result", {"handle": handle, "offset": 2_999})
        assert result["content"][0]["text"] == odd.BIG_TEXT[-2_000:]
        assert result["content"][1]["text"] == "(lines 2,999 to 2,999 of 3,000; the end)"
    else:
        assert result["content"][0]["text"] == odd.BIG_TEXT


async def test_safe_mismatches_are_mended_and_said(link: Any) -> None:
    result = await link.call("book", {"people": "5", "day": "Monday"})

    assert result["structuredContent"] == {"arguments": {"people": 5, "day": "monday"}}
    assert len(result["_meta"]["toolcrib/changes"]) == 2


@pytest.mark.parametrize(
    "sent",
    [
        {"name": "odd.book", "arguments": '{"people": 2}'},
        {"name": "odd.book", "args": {"people": 2}},
        {"name": "odd.book", "people": 2},
        {"name": "odd__book", "arguments": {"people": 2}},
    ],
)
async def test_a_call_is_understood_in_the_ways_that_models_write_it(link: Any, sent: dict[str, Any]) -> None:
    result = await link.meta("call_tool", sent)

    assert result["structuredContent"] == {"arguments": {"people": 2}}


async def test_wrong_arguments_are_answered_with_the_schema_of_that_tool(link: Any) -> None:
    result = await link.call("book", {"persons": 3})

    text = result["content"][0]["text"]
    assert result["isError"] is True
    assert "people" in text
    assert '"additionalProperties":false' in text


async def test_an_unknown_tool_of_an_upstream_is_an_error_that_a_model_reads(link: Any) -> None:
    result = await link.call("bok")

    assert result["isError"] is True
    assert "odd.book" in result["content"][0]["text"]


async def test_an_unknown_tool_of_the_gateway_is_a_protocol_error_with_a_hint(link: Any) -> None:
    with pytest.raises(MCPError, match=r"There is no tool 'odd\.book' here") as caught:
        await link.meta("odd.book", {})

    assert caught.value.error.code == -32602  # specification, server/tools, error handling
    assert caught.value.error.data["code"] == "usage"
    assert "call_tool" in caught.value.error.data["hint"]


@pytest.mark.parametrize(
    "params", [{}, {"name": "call_tool", "arguments": "{}"}, {"name": "call_tool", "arguments": [1]}]
)
async def test_malformed_params_are_a_protocol_error(link: Any, params: dict[str, Any]) -> None:
    with pytest.raises(MCPError) as caught:
        await link.request("tools/call", params)

    assert caught.value.error.code == -32602


async def test_a_method_that_is_not_served_is_not_found(link: Any) -> None:
    with pytest.raises(MCPError) as caught:
        await link.request("example.com/other", {})

    assert caught.value.error.code == -32601


@pytest.mark.parametrize("member", ["resources", "prompts", "resourceTemplates"])
async def test_a_list_of_what_no_server_has_is_empty(link: Any, member: str) -> None:
    method = {"resourceTemplates": "resources/templates/list"}.get(member, f"{member}/list")

    result = await link.request(method)

    assert result[member] == []


async def test_a_refusal_of_the_upstream_is_told_to_the_model(link: Any) -> None:
    result = await link.call("refuse")

    assert result["isError"] is True
    assert "no such row" in result["content"][0]["text"]
    assert "-32000" in result["content"][0]["text"]


async def test_what_an_upstream_asks_for_is_not_passed_on_to_a_client_that_cannot_answer(link: Any) -> None:
    result = await link.call("asks")

    assert result["isError"] is True
    assert "elicitation/create" in result["content"][0]["text"]
    assert "inputRequests" not in result


async def test_progress_reaches_the_client_that_asked_for_it(link: Any, odd: ModuleType) -> None:
    seen: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    result = await link.call("steps", on_progress=on_progress)

    assert result["content"] == [{"type": "text", "text": "done"}]
    assert seen == odd.STEPS


async def test_a_cancelled_call_is_cancelled_at_the_upstream(link: Any) -> None:
    with anyio.CancelScope() as scope:

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            scope.cancel()

        await link.call("hang", on_progress=on_progress)

    result = await link.call("until_cancelled")  # answered by the upstream once it saw the cancellation
    assert scope.cancelled_caught
    assert not result.get("isError")


async def test_trace_context_is_passed_on_and_nothing_else_of_the_clients_meta(link: Any) -> None:
    # W3C Trace Context, 3.2.2.5 and 3.3.1; W3C Baggage, 3.3.2: their own examples
    trace = {
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "tracestate": "rojo=00f067aa0ba902b7",
        "baggage": "userId=alice",
    }
    params = {"name": "call_tool", "arguments": {"name": "odd.meta"}, "_meta": {**trace, "example.com/secret": "s"}}
    result = await link.request("tools/call", params)

    received = result["structuredContent"]
    assert {name: received[name] for name in trace} == trace
    assert "example.com/secret" not in received
