"""Where each case of the deferred-loading pattern is tested: those its own packages test (A to D), and those that its
promises need and nobody tests (T).

A1    catalog/test_tool_registry.py test_metadata_keeps_name_and_description
A2    catalog/test_tool_registry.py test_metadata_from_a_tool_object_ignores_the_schema
A3    test_known_names.py test_metadata_snippet
A4    catalog/test_tool_registry.py test_metadata_without_a_description_has_an_empty_one
A5    catalog/test_tool_registry.py test_metadata_as_json_has_exactly_two_members
A6    catalog/test_tool_registry.py test_metadata_is_equal_by_value_and_shows_itself
A7    catalog/test_tool_registry.py test_metadata_is_equal_by_value_and_shows_itself
A8    catalog/test_tool_registry.py test_a_new_registry_is_empty_and_not_initialized
A9    catalog/test_tool_registry.py test_tools_of_any_kind_are_cached
A10   catalog/test_tool_registry.py test_tools_of_any_kind_are_cached
A11   test_known_names.py test_registry_snippet
A12   catalog/test_tool_registry.py test_tools_of_any_kind_are_cached
A13   catalog/test_tool_registry.py test_maps_are_kept_with_every_member
A14   catalog/test_tool_registry.py test_a_bare_name_resolves_when_it_is_unique
A15   catalog/test_tool_registry.py test_invalidating_forgets_everything
A16   catalog/test_tool_registry.py test_caching_again_replaces_and_an_empty_list_counts
A17   catalog/test_tool_registry.py test_of_equal_names_the_last_counts_at_the_place_of_the_first
A18   test_known_names.py test_listing_through_a_client_reads_all_pages
A19   test_known_names.py test_an_empty_listing_is_a_listing
A20   catalog/test_tool_registry.py test_metadata_as_json_has_exactly_two_members
A21   catalog/test_tool_registry.py test_metadata_is_much_smaller_than_the_definitions
A22   catalog/test_tool_registry.py test_maps_are_kept_with_every_member
B1    schema/test_validation.py test_a_valid_result_has_no_error_and_says_so
B2    schema/test_validation.py test_an_invalid_result_keeps_its_error_and_says_so
B3    test_known_names.py test_validation_result_snippet
B4    llm/test_llm_deferred_manager.py test_b4_metadata_for_a_model_is_the_catalog_s
B5    llm/test_llm_deferred_manager.py test_b5_b6_a_new_manager_knows_nothing
B6    llm/test_llm_deferred_manager.py test_b5_b6_a_new_manager_knows_nothing
B7    llm/test_llm_deferred_manager.py test_b7_invalidate_and_reset_forget
B8    llm/test_llm_deferred_manager.py test_b8_b11_a_client_shows_its_manager_only_with_the_flag
B9    llm/test_llm_deferred_manager.py test_b9_metadata_is_under_half_of_the_whole
B10   llm/test_llm_pattern.py test_b10_rounds_within_the_bounds_are_taken_as_given
B11   llm/test_llm_deferred_manager.py test_b8_b11_a_client_shows_its_manager_only_with_the_flag
C1    llm/test_llm_resources.py test_c1_both_tools_are_there_by_themselves_on_every_surface
C2    llm/test_llm_resources.py test_c1_both_tools_are_there_by_themselves_on_every_surface
C3    llm/test_llm_resources.py test_t26_t29_one_is_read_from_the_server_that_has_it
C4    llm/test_llm_resources.py test_t26_t29_one_is_read_from_the_server_that_has_it
C5    llm/test_llm_resources.py test_t26_t29_one_is_read_from_the_server_that_has_it
C6    llm/test_llm_resources.py test_t25_t27_all_servers_are_listed_over_all_pages_templates_included
C7    llm/test_llm_resources.py test_t26_t29_one_is_read_from_the_server_that_has_it
C8    llm/test_llm_resources.py test_t26_a_name_that_fits_several_and_one_that_fits_none_are_told_with_what_there_is
C9    llm/test_llm_resources.py test_t26_a_name_that_fits_several_and_one_that_fits_none_are_told_with_what_there_is
C10   llm/test_llm_openai_chat.py test_a_call_and_its_answer_go_over_the_wire
C11   llm/test_llm_openai_chat.py test_a_call_and_its_answer_go_over_the_wire
C12   llm/test_llm_pattern.py test_c12_to_c17_arguments_are_kept_as_objects_and_written_once
C13   llm/test_llm_pattern.py test_c12_to_c17_arguments_are_kept_as_objects_and_written_once
C14   llm/test_llm_pattern.py test_c12_to_c17_arguments_are_kept_as_objects_and_written_once
C15   llm/test_llm_pattern.py test_c12_to_c17_arguments_are_kept_as_objects_and_written_once
C16   llm/test_llm_openai_chat.py test_the_ways_of_other_servers_are_understood
C17   llm/test_llm_pattern.py test_c12_to_c17_arguments_are_kept_as_objects_and_written_once
D1    servers/test_server_start.py test_one_server_that_fails_touches_no_other
D1    servers/test_server_start.py test_the_next_need_tries_a_failed_server_again
D1    servers/test_server_start.py test_a_server_that_never_answers_is_given_up_and_ended
D1    servers/test_breaker.py test_a_server_that_fails_again_and_again_is_started_no_more
D2    llm/test_llm_pattern.py test_d2_servers_stay_apart_and_all_of_them_can_be_asked_at_once
D3    catalog/test_tool_registry.py test_metadata_without_a_description_has_an_empty_one
D4    llm/test_llm_pattern.py test_d4_a_chat_keeps_what_both_said
T1    llm/test_llm_deferred.py test_t1_the_first_request_has_names_descriptions_and_a_valid_minimal_schema
T2    llm/test_llm_deferred.py test_t2_a_right_call_is_made_once_without_a_retry
T3    llm/test_llm_deferred.py test_t3_a_missing_argument_brings_the_whole_schema_in_the_payload
T4    llm/test_llm_deferred.py test_t4_every_error_is_told_with_its_path
T5    llm/test_llm_deferred.py test_t5_a_mended_call_leaves_no_trace_of_the_repair_in_the_conversation
T6    llm/test_llm_deferred.py test_t6_a_second_mistake_is_not_sent_and_stays_as_the_call_s_result
T7    llm/test_llm_deferred.py test_t7_a_good_call_beside_a_bad_one_is_made
T8    llm/test_llm_deferred.py test_t8_calls_of_later_rounds_are_validated_too
T9    llm/test_llm_deferred.py test_t9_a_stream_validates_and_repairs_like_a_chat
T10   llm/test_llm_deferred.py test_t10_an_unknown_tool_is_answered_with_near_names
T11   llm/test_llm_deferred.py test_t11_a_tool_without_arguments_is_called
T12   llm/test_llm_deferred.py test_t12_null_for_a_required_value_is_a_mistake
T13   llm/test_llm_deferred.py test_t13_rounds_go_from_1_to_10
T13   llm/test_llm_deferred.py test_t13_at_the_limit_the_model_is_asked_for_what_it_has
T14   llm/test_llm_deferred.py test_t14_when_all_calls_fail_the_model_sees_the_errors_and_may_go_on
T15   llm/test_llm_pattern.py test_t15_functions_and_what_servers_offer_to_read_are_there_in_deferred_mode_too
T16   llm/test_llm_pattern.py test_t16_a_changed_list_is_replaced_at_once_and_touches_no_other_server
T17   llm/test_llm_pattern.py test_t17_a_failed_first_listing_is_not_kept_as_no_tools
T18   servers/test_server_json.py test_of_equal_names_the_last_definition_counts_and_entries_without_a_name_are_left_out
T18   catalog/test_tool_registry.py test_an_entry_without_a_name_is_left_out
T19   llm/test_llm_deferred_manager.py test_initialize_lists_one_client_with_all_pages
T19   servers/test_server_json.py test_a_cursor_that_repeats_ends_the_listing
T19   servers/test_server_json.py test_a_listing_without_end_is_cut_after_a_thousand_pages
T20   llm/test_llm_deferred_manager.py test_t16_t20_over_a_crib_changes_show_at_once
T21   llm/test_llm_deferred_manager.py test_t21_several_at_once_list_once_and_an_invalidation_meanwhile_wins
T22   llm/test_llm_deferred_manager.py test_t22_one_name_on_two_servers_is_two_tools
T22   llm/test_llm_pattern.py test_t22_a_failed_call_is_not_made_on_another_server
T23   llm/test_llm_pattern.py test_t23_a_server_named_like_a_constant_tool_and_names_that_vendors_refuse
T23   schema/test_wire_names.py test_names_are_allowed_unique_and_reversible_for_any_servers_and_tools
T24   llm/test_llm_pattern.py test_t24_a_server_s_own_error_reaches_the_model_and_a_member_named_error_is_none
T25   llm/test_llm_resources.py test_t25_t27_all_servers_are_listed_over_all_pages_templates_included
T26   llm/test_llm_resources.py test_t26_a_name_that_fits_several_and_one_that_fits_none_are_told_with_what_there_is
T27   llm/test_llm_resources.py test_t27_what_a_template_stands_for_is_read
T28   llm/test_llm_resources.py test_t28_a_text_that_is_too_long_becomes_a_handle_and_is_read_in_pages
T29   llm/test_llm_resources.py test_t26_t29_one_is_read_from_the_server_that_has_it
T30   bench/test_benches_run.py test_the_surfaces_bench_counts_first_requests_and_a_task
"""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from doubles.vendors import VENDORS, Vendor
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Resource,
    TextContent,
    Tool,
)

from toolcrib import Crib
from toolcrib.errors import ServerError
from toolcrib.llm import (
    DeferredToolManager,
    LlmClient,
    LlmConfiguration,
    Message,
    Request,
    ScriptedProvider,
    ToolResult,
    ToolUse,
    use,
)
from toolcrib.llm.naming import provider_by_name

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[1]
CASES = {"A": 22, "B": 11, "C": 17, "D": 4, "T": 30}
ROW = re.compile(r"^([A-DT]\d+) +(\S+\.py) (\w+)$", re.MULTILINE)


def test_every_case_has_a_test_that_exists() -> None:
    rows = ROW.findall(__doc__ or "")
    assert {case for case, _, _ in rows} == {f"{group}{n}" for group, last in CASES.items() for n in range(1, last + 1)}
    missing = [row for row in rows if f"def {row[2]}(" not in (TESTS / row[1]).read_text(encoding="utf-8")]
    assert missing == []


class Shop:
    """A server whose tools, and whose answer to every call, are given; it notes the calls that reach it."""

    def __init__(self, name: str, *tools: str, answer: Callable[[str], CallToolResult] | None = None) -> None:
        self.name, self.tools, self.called = name, list(tools), list[str]()
        self.broken = False
        self._answer = answer or (lambda tool: text_result(f"{tool} of {name}"))
        self.server: Server[Any] = Server(name, on_list_tools=self._list, on_call_tool=self._call)

    async def _list(self, _: Any, __: Any) -> ListToolsResult:
        if self.broken:
            raise MCPError(INTERNAL_ERROR, "closed for today")
        return ListToolsResult(tools=[Tool(name=each, input_schema={"type": "object"}) for each in self.tools])

    async def _call(self, _: Any, params: Any) -> CallToolResult:
        self.called.append(params.name)
        return self._answer(params.name)


def text_result(text: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)


@asynccontextmanager
async def crib_over(*shops: Shop) -> AsyncIterator[Crib]:
    async with AsyncExitStack() as stack:
        clients = {shop.name: await stack.enter_async_context(Client(shop.server)) for shop in shops}
        yield await stack.enter_async_context(Crib.from_clients(clients))


def told(request: Request) -> list[tuple[str, bool]]:
    """The results in a request's newest message, and whether they are errors."""
    return [(str(result.content[0]["text"]), result.is_error) for result in request.messages[-1].results]


@pytest.mark.parametrize("rounds", range(1, 11))
def test_b10_rounds_within_the_bounds_are_taken_as_given(rounds: int) -> None:
    assert LlmClient(ScriptedProvider([])).max_tool_rounds == 1
    assert LlmClient(ScriptedProvider([]), max_tool_rounds=rounds).max_tool_rounds == rounds


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
def test_c12_to_c17_arguments_are_kept_as_objects_and_written_once(vendor: Vendor) -> None:
    pytest.importorskip({"anthropic": "anthropic", "gemini": "google.genai"}.get(vendor.name, "openai"))
    given = {"filter": {"tags": ["a", {"deep": None}], "text": '{"not": "decoded"}'}, "limit": 3}
    call = ToolUse("call_1", "local__find", given)
    result = ToolResult("call_1", "local__find", ({"type": "text", "text": "found"},))
    provider = provider_by_name(vendor.name, LlmConfiguration(vendor.model, "key", "http://127.0.0.1:9"))
    body = provider.payload(Request((Message("assistant", (call,)), Message("user", (result,)))))
    assert call.arguments == given
    match vendor.name:
        case "anthropic":
            block, answer = body["messages"][0]["content"][0], body["messages"][1]["content"][0]
            assert (block["input"], answer["type"], answer["tool_use_id"]) == (given, "tool_result", "call_1")
        case "openai":
            assert json.loads(body["input"][0]["arguments"]) == given
            assert (body["input"][1]["type"], body["input"][1]["output"]) == ("function_call_output", "found")
        case "openai-chat":
            turn, answer = body["messages"]
            assert json.loads(turn["tool_calls"][0]["function"]["arguments"]) == given
            assert (answer["role"], answer["tool_call_id"], answer["content"]) == ("tool", "call_1", "found")
        case _:
            turn, answer = body["contents"]
            assert turn["parts"][0]["functionCall"]["args"] == given
            assert answer["parts"][0]["functionResponse"]["name"] == "local__find"


async def test_d2_servers_stay_apart_and_all_of_them_can_be_asked_at_once() -> None:
    shops = [Shop("east", "stock", "ship"), Shop("west", "stock")]
    async with crib_over(*shops) as crib:
        assert [tool.id for tool in await crib.tools()] == ["east.stock", "east.ship", "west.stock"]
        owners = [tool.server for tool in await crib.tools() if tool.name == "stock"]
        calls = (tuple(use(f"{owner}__stock") for owner in owners), "both")
        model = ScriptedProvider(calls)
        await LlmClient(model, crib).chat("What is in stock everywhere?")
    assert told(model.requests[1]) == [("stock of east", False), ("stock of west", False)]


async def test_d4_a_chat_keeps_what_both_said(crib: Crib) -> None:
    client = LlmClient(ScriptedProvider(["Hello yourself."]), crib)
    await client.chat("Hello.")
    said = [(message.role, message.text) for message in client.conversation.messages]
    assert said == [("user", "Hello."), ("assistant", "Hello yourself.")]


async def test_t15_functions_and_what_servers_offer_to_read_are_there_in_deferred_mode_too() -> None:
    async def listing(_: Any, __: Any) -> ListResourcesResult:
        return ListResourcesResult(resources=[Resource(uri="doc://one", name="one")])

    def ping() -> str:
        """Say that it is there."""
        return "pong"

    shop = Shop("shop", "stock")
    shop.server.add_request_handler("resources/list", PaginatedRequestParams, listing)
    script = ((use("shop__stock"), use("local__ping"), use("mcp_list_resources")), "done")
    model = ScriptedProvider(script)
    async with crib_over(shop) as crib:
        crib.add_functions(ping)
        await LlmClient(model, crib, use_deferred_loading=True).chat("all three")
    stock, pong, listed = told(model.requests[1])
    assert (stock, pong) == (("stock of shop", False), ("pong", False))
    assert "doc://one" in listed[0]


async def test_t16_a_changed_list_is_replaced_at_once_and_touches_no_other_server() -> None:
    manager = DeferredToolManager()
    async with crib_over(Shop("east", "stock"), Shop("west", "stock")) as crib:
        await manager.initialize(crib)
        west = crib.registry.version_of("west")
        crib.registry.cache_from_maps([{"name": "ship", "inputSchema": {"type": "object"}}], server="east")
        assert manager.tool_names == ["east__ship", "west__stock"]
        assert crib.registry.version_of("west") == west


async def test_t17_a_failed_first_listing_is_not_kept_as_no_tools() -> None:
    shop = Shop("shop", "stock")
    shop.broken = True
    manager = DeferredToolManager()
    async with Client(shop.server) as client:
        with pytest.raises(ServerError, match="closed for today"):
            await manager.initialize(client)
        assert not manager.is_initialized
        shop.broken = False
        await manager.initialize(client)
    assert manager.tool_names == ["mcp__stock"]


async def test_t22_a_failed_call_is_not_made_on_another_server() -> None:
    east = Shop("east", "ship", answer=lambda _: text_result("no truck", is_error=True))
    west = Shop("west", "ship")
    model = ScriptedProvider([use("east__ship"), "sorry"])
    async with crib_over(east, west) as crib:
        await LlmClient(model, crib, use_deferred_loading=True).chat("ship it")
    assert (east.called, west.called) == (["ship"], [])
    assert told(model.requests[1]) == [("no truck", True)]


@pytest.mark.parametrize("surface", ["all", "deferred", "search"])
async def test_t23_a_server_named_like_a_constant_tool_and_names_that_vendors_refuse(surface: Any) -> None:
    shops = [Shop("search_tools", "run"), Shop("mcp", "read_resource"), Shop("odd", "a b", "a/b", "x" * 100)]
    async with crib_over(*shops) as crib:
        ids = [tool.id for tool in await crib.tools()]
        told_of = ScriptedProvider(["hi"])
        await LlmClient(told_of, crib, surface=surface).chat("hi")
        names = [tool.name for tool in told_of.requests[0].tools]
        if surface == "search":
            calls = tuple(use("call_tool", {"name": each}) for each in ids)
        else:
            calls = tuple(use(name) for name in names)
        model = ScriptedProvider([calls, "done"])
        await LlmClient(model, crib, surface=surface).chat("call them all")
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name) for name in names)
    assert [shop.called for shop in shops] == [["run"], ["read_resource"], ["a b", "a/b", "x" * 100]]


async def test_t24_a_server_s_own_error_reaches_the_model_and_a_member_named_error_is_none() -> None:
    def answer(tool: str) -> CallToolResult:
        if tool == "refuses":
            raise MCPError(INTERNAL_ERROR, "the till is locked")
        return text_result("out of paper", is_error=True) if tool == "fails" else text_result('{"error": null}')

    model = ScriptedProvider([(use("shop__refuses"), use("shop__fails"), use("shop__works")), "done"])
    async with crib_over(Shop("shop", "refuses", "fails", "works", answer=answer)) as crib:
        with anyio.fail_after(10):
            await LlmClient(model, crib, use_deferred_loading=True).chat("all three")
    refused, failed, worked = told(model.requests[1])
    assert "the till is locked" in refused[0]
    assert (refused[1], failed, worked) == (True, ("out of paper", True), ('{"error": null}', False))
