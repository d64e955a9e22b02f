"""Callers: whose request it is, told from its connection and its `_meta`."""

from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from toolcrib import Crib
from toolcrib.broker import ALLOW, Call, Caller, Decision, ListedTool, Principal
from toolcrib.gateway import Gateway
from toolcrib.gateway.callers import CONVERSATION_META, IDLE_WINDOW, Callers
from toolcrib.servers.wire import raw_request

pytestmark = pytest.mark.anyio


class Seen:
    """A policy that allows everything and keeps who called."""

    def __init__(self) -> None:
        self.callers: list[Caller] = []

    def hides(self, principal: Principal, server: str, tool: ListedTool | None) -> bool:
        return False

    def decide(self, call: Call) -> Decision:
        self.callers.append(call.caller)
        return ALLOW


def ping() -> str:
    return "pong"


async def call_ping(client: Client, conversation: str | None = None) -> None:
    params: dict[str, Any] = {"name": "call_tool", "arguments": {"name": "local.ping"}}
    if conversation is not None:
        params["_meta"] = {CONVERSATION_META: conversation}
    result = await raw_request(client.session, "tools/call", params)
    assert result["content"][0]["text"] == "pong"


async def test_each_handshake_connection_is_a_conversation_of_its_own() -> None:
    seen = Seen()
    async with Crib.from_clients({}, policy=seen) as crib:
        crib.add_functions(ping)
        server = Gateway(crib).server
        async with Client(server, mode="legacy") as one, Client(server, mode="legacy") as two:
            await call_ping(one)
            await call_ping(two)
            await call_ping(one)
            await call_ping(one, "a")
    first, second, again, named = (caller.conversation for caller in seen.callers)
    assert first == again != second
    assert named == f"{first}:a"
    assert {caller.face for caller in seen.callers} == {"stdio"}


async def test_modern_clients_name_their_conversations_or_share_one_until_they_pause() -> None:
    seen = Seen()
    async with Crib.from_clients({}, policy=seen) as crib:
        crib.add_functions(ping)
        server = Gateway(crib).server
        async with Client(server) as one, Client(server) as two:
            await call_ping(one, "a")
            await call_ping(two, "a")
            await call_ping(two, "b")
            await call_ping(one)
            await call_ping(two)
    keys = [caller.key for caller in seen.callers]
    assert keys[0] == keys[1]
    assert keys[3] == keys[4]
    assert len(set(keys)) == 3


async def test_long_names_that_begin_alike_are_different_conversations() -> None:
    seen = Seen()
    async with Crib.from_clients({}, policy=seen) as crib:
        crib.add_functions(ping)
        async with Client(Gateway(crib).server) as client:
            for name in ("x" * 500 + "a", "x" * 500 + "b", "x" * 500 + "a"):
                await call_ping(client, name)
    one, other, again = (caller.conversation for caller in seen.callers)
    assert one == again != other
    assert len(one) < 300


async def test_over_http_a_session_is_a_conversation(over_http: Callable[..., Any]) -> None:
    seen = Seen()
    async with Crib.from_clients({}, policy=seen) as crib:
        crib.add_functions(ping)
        async with over_http(Gateway(crib)) as url:
            for _ in range(2):
                async with Client(streamable_http_client(url), mode="legacy") as client:
                    await call_ping(client)
                    await call_ping(client)
    keys = [caller.key for caller in seen.callers]
    assert keys[0] == keys[1] != keys[2] == keys[3]
    assert {caller.face for caller in seen.callers} == {"http"}


async def test_a_long_pause_begins_another_conversation() -> None:
    now = 0.0
    callers = Callers(lambda: now)
    crib = Crib.from_clients({})
    gateway = Gateway(crib)
    found: list[str] = []

    async def keep(ctx: Any, call_next: Any) -> Any:
        found.append(callers.caller(ctx).conversation)
        return await call_next(ctx)

    async with crib:
        gateway.server.middleware.append(keep)
        async with Client(gateway.server) as client:
            found.clear()
            for pause in (0.0, IDLE_WINDOW, IDLE_WINDOW + 1):
                now += pause
                await client.list_tools(cache_mode="bypass")
    assert found[0] == found[1] != found[2]
