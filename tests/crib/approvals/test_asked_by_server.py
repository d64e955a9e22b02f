"""What a server asks for before it goes on, under tokens as approvals are."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from wiping import LIMIT

from toolcrib import Crib
from toolcrib.broker import Call, Decision, Options, Principal, Question

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def booking(**policy: Any) -> AsyncIterator[tuple[Crib, list[dict[str, Any]]]]:
    """A crib over a server that asks for a seat, then for a meal, then books; and what it was sent."""
    calls: list[dict[str, Any]] = []

    async def listing(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="book", input_schema={"type": "object"})])

    async def calling(ctx: Any, params: types.CallToolRequestParams) -> Any:
        calls.append({"state": params.request_state, "answers": params.input_responses})
        wanted = {None: "seat", "1": "meal"}.get(params.request_state)
        if wanted is None:
            return types.CallToolResult(content=[types.TextContent(text="booked")])
        form = types.ElicitRequestFormParams(
            message=f"Which {wanted}?", requested_schema={"type": "object", "properties": {}}
        )
        requests = {wanted: types.ElicitRequest(params=form)}
        return types.InputRequiredResult(input_requests=requests, request_state=str(len(calls)))

    server = Server[Any]("up", version="1", on_list_tools=listing, on_call_tool=calling)
    with anyio.fail_after(LIMIT):
        async with Client(server) as client, Crib.from_clients({"up": client}, **policy) as crib:
            yield crib, calls


async def test_what_a_server_asks_comes_back_with_a_token_for_each_round() -> None:
    async with booking() as (crib, calls):

        async def book(**options: Any) -> Any:
            return await crib.request("tools/call", "up.book", {}, options=Options(**options))

        first = await book()
        assert (first.kind, list(first.result["inputRequests"])) == ("input_required", ["seat"])
        again = await book(token=first.token)  # an answer is missing: asked again, and nothing sent
        assert (again.kind, again.token, len(calls)) == ("input_required", first.token, 1)
        seat, meal = {"seat": {"action": "decline"}}, {"meal": {"action": "cancel"}}
        second = await book(token=first.token, input_responses={**seat, "other": {"action": "cancel"}})
        assert list(second.result["inputRequests"]) == ["meal"]
        third = await book(token=second.token, input_responses=meal)
        assert (third.kind, third.token) == ("result", None)
        late = await book(token=first.token, input_responses=meal)  # the first round is over, and has its outcome
        assert late.token == second.token
    assert [each["state"] for each in calls] == [None, "1", "2"]
    assert list(calls[1]["answers"]) == ["seat"]


async def test_a_call_may_need_an_approval_and_then_an_answer() -> None:
    async def approver(question: Question) -> bool:
        return True

    class Ask:
        def hides(self, principal: Principal, server: str, tool: Any) -> bool:
            return False

        def decide(self, call: Call) -> Decision:
            return Decision("ask")

    async with booking(approver=approver, policy=Ask()) as (crib, _):
        outcome = await crib.call("up.book")
        assert outcome.kind == "input_required"
        assert outcome.token is not None
