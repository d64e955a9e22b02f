"""Code mode through the gateway: both protocol eras, over memory and HTTP."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client

from toolcrib import Crib
from toolcrib.gateway import Gateway

pytestmark = pytest.mark.anyio

LIMIT = 30.0


class Shop:
    """What the tools act on."""

    def __init__(self) -> None:
        self.sold: list[str] = []
        self.open = False

    async def price(self, item: str) -> dict[str, Any]:
        """The price of an item."""
        return {"item": item, "price": len(item)}

    async def sell(self, item: str) -> dict[str, Any]:
        """Sell an item."""
        if item == "lamp" and not self.open:
            raise ValueError("closed")
        self.sold.append(item)
        return {"sold": item}

    async def picture(self, item: str) -> Any:
        """A picture of an item."""
        return [{"type": "image", "mimeType": "image/png", "data": "AAAA"}]


@pytest.fixture(params=[("memory", "auto"), ("memory", "legacy"), ("http", "auto"), ("http", "legacy")], ids="-".join)
def way(request: pytest.FixtureRequest) -> tuple[str, str]:
    """How the client reaches the gateway, and in which era."""
    return request.param


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def connected(shop: Shop, tmp_path: Path, over_http: Callable[..., Any]) -> Callable[..., Any]:
    """A client of a gateway over the shop."""

    @asynccontextmanager
    async def connecting(
        way: tuple[str, str], person: Any = None, **settings: Any
    ) -> AsyncIterator[tuple[Client, Crib]]:
        crib = Crib.open({"mcpServers": {}, "toolcrib": settings}, state_dir=tmp_path)
        crib.add_functions(shop.price, shop.sell, shop.picture, server="shop")
        async with AsyncExitStack() as stack:
            stack.enter_context(anyio.fail_after(LIMIT))
            await stack.enter_async_context(crib)
            gateway = Gateway(crib)
            target = await stack.enter_async_context(over_http(gateway)) if way[0] == "http" else gateway.server
            mode: Any = way[1]
            client = await stack.enter_async_context(Client(target, mode=mode, elicitation_callback=person))
            yield client, crib

    return connecting


async def run(client: Client, code: str, **more: Any) -> tuple[str, bool]:
    result = await client.call_tool("run_code", {"code": code, **more})
    return "\n".join(getattr(block, "text", f"[{block.type}]") for block in result.content), bool(result.is_error)


async def test_one_script_in_place_of_many_calls(connected: Any, way: tuple[str, str]) -> None:
    code = "prices = [(await shop.price(item=i))['price'] for i in ('lamp', 'table')]\nprint(prices)\nsum(prices)"
    async with connected(way) as (client, _):
        text, is_error = await run(client, code)
    assert not is_error
    assert text.splitlines()[:2] == ["[4, 5]", "9"]
    assert "2 calls" in text


async def test_a_failure_tells_what_was_done_and_is_gone_on_from(
    connected: Any, way: tuple[str, str], shop: Shop
) -> None:
    code = "await shop.sell(item='table')\nawait shop.sell(item='lamp')"
    async with connected(way) as (client, _):
        text, is_error = await run(client, code)
        assert is_error
        assert "failed at line 2: ToolError: ValueError: closed" in text
        assert "- shop.sell (line 1): done" in text
        shop.open = True
        name = re.search(r'retry_of="(run_\w+)"', text)
        assert name
        text, is_error = await run(client, code, retry_of=name[1])
    assert not is_error
    assert "- shop.sell (line 1): done by the earlier run, not again" in text
    assert shop.sold == ["table", "lamp"]


async def test_what_is_wrong_is_told_and_nothing_is_called(connected: Any, way: tuple[str, str], shop: Shop) -> None:
    async with connected(way) as (client, _):
        text, is_error = await run(client, "await shop.sell(item='table')\nawait shop.sel(item='x')")
    assert is_error
    assert "was not run, and nothing was called" in text
    assert "shop.sell" in text
    assert shop.sold == []


async def test_progress_counts_the_calls(connected: Any, way: tuple[str, str]) -> None:
    told: list[float] = []
    second = anyio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        if progress == 2:
            second.set()

    async with connected(way) as (client, _):
        code = "await shop.price(item='a')\nawait shop.price(item='b')"
        await client.call_tool("run_code", {"code": code}, progress_callback=on_progress)
        await second.wait()
    assert told == [1, 2]


class Mill:
    """A source whose tool reports as it works, and one that never ends."""

    id, description = "mill", ""

    def __init__(self) -> None:
        self.hanging, self.cancelled = anyio.Event(), anyio.Event()

    async def ensure(self, context: Any = None) -> None:
        pass

    async def list(self, method: str, context: Any = None) -> list[dict[str, Any]]:
        tools = ["grind", "stone", "hang"]
        return [{"name": name, "inputSchema": {"type": "object"}} for name in tools] if method == "tools/list" else []

    async def request(self, method: str, params: Any, context: Any) -> dict[str, Any]:
        if params["name"] == "hang":
            self.hanging.set()
            try:
                await anyio.sleep_forever()
            finally:
                self.cancelled.set()
        if params["name"] == "grind":
            for report in ((1.0, 4.0, "coarse"), (1.0, 4.0, None), (2.0, 4.0, "fine")):
                await context.on_progress(*report)
        return {"content": [], "isError": params["name"] == "stone"}


async def test_what_calls_report_reaches_the_client_and_only_ever_grows(connected: Any, way: tuple[str, str]) -> None:
    told: list[tuple[float, str | None]] = []
    last = anyio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        told.append((progress, message))
        if progress == 3:
            last.set()

    async with connected(way) as (client, crib):
        await crib.add_source(Mill())
        code = (
            "await mill.grind()\ntry:\n    await mill.stone()\nexcept ToolError:\n    pass\nawait search_tools('mill')"
        )
        await client.call_tool("run_code", {"code": code}, progress_callback=on_progress)
        await last.wait()
    assert told == [
        (0.25, "call 1: mill.grind: coarse"),
        (0.5, "call 1: mill.grind: fine"),
        (1, "call 1: mill.grind"),
        (2, "call 2: mill.stone"),
        (3, "call 3: search_tools"),
    ]


async def test_a_client_that_cancels_ends_the_script_and_its_calls(connected: Any, way: tuple[str, str]) -> None:
    mill = Mill()
    async with connected(way) as (client, crib):
        await crib.add_source(mill)

        async def ask() -> None:
            await client.call_tool(
                "run_code", {"code": "try:\n    await mill.hang()\nfinally:\n    await mill.stone()"}
            )

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await mill.hanging.wait()
            tasks.cancel_scope.cancel()
        await mill.cancelled.wait()
        entries: list[Any] = []
        while not entries or entries[0].state == "started":
            entries = await crib.journal.entries()
        assert [(each.tool, each.state) for each in entries] == [("mill.hang", "unknown")]


async def test_each_call_of_a_script_needs_its_own_yes(connected: Any, way: tuple[str, str], shop: Shop) -> None:
    """Approving the script is not approving its calls (the protocol's guide for clients: per-call authorization)."""
    asked: list[str] = []

    async def person(context: Any, params: Any) -> Any:
        asked.append(params.message)
        answer = "allow this call" if "table" in params.message else "deny"
        return types.ElicitResult(action="accept", content={"decision": answer})

    shop.open = True
    rules = [{"name": "selling", "tools": ["shop.sell"], "sources": ["script"], "then": "ask"}]
    code = "await shop.sell(item='table')\nawait shop.sell(item='lamp')"
    async with connected(way, person, policy={"rules": rules}, approvals={"patience": 0.2}) as (client, crib):
        text, is_error = await run(client, code)
        if "The script waits" in text:
            # A client of the stateless era is asked by an answer, which a script under way can't give.
            for item, approved in (("table", True), ("lamp", False)):
                (pending,) = await crib.approvals.list()
                assert item in str(pending.arguments)
                await crib.approvals.decide(pending.id, approved=approved, by="a test")
                name = re.search(r'retry_of="(run_\w+)"', text)
                assert name
                text, is_error = await run(client, code, retry_of=name[1])
        else:
            assert len(asked) == 2
    assert is_error
    assert "not approved" in text
    assert shop.sold == ["table"]
