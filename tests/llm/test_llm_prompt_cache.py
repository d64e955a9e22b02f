"""The prompt cache: every request begins with the last one's bytes, whatever becomes of servers meanwhile.

Vendors cache what precedes the newest turn (Anthropic's prompt caching, OpenAI's and Gemini's implicit caches all
match by prefix), and some models refuse a conversation whose earlier part has changed.
"""

import copy
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("anthropic")
pytest.importorskip("openai")
pytest.importorskip("google.genai")

from doubles.steps import EACH, IDS, calls, looks
from doubles.vendors import Vendor
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

from toolcrib import Crib
from toolcrib.crib.opening import loaded
from toolcrib.llm import first_difference

pytestmark = pytest.mark.anyio

REPLAY = Path(__file__).parents[1] / "stubs" / "replay.py"
COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


class Shop:
    """A connected server that tells when its list changes."""

    def __init__(self) -> None:
        self.names = ["buy"]
        self.bus = InMemorySubscriptionBus()
        self.server: Server[Any] = Server(
            "shop", on_list_tools=self._list, on_call_tool=self._call, on_subscriptions_listen=ListenHandler(self.bus)
        )

    async def _list(self, _: Any, __: Any) -> ListToolsResult:
        return ListToolsResult(
            tools=[Tool(name=name, description=f"{name} pears.", input_schema=COUNT) for name in self.names]
        )

    async def _call(self, _: Any, __: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text="bought")])

    async def change(self, crib: Crib) -> None:
        """Add a tool and change another, and wait until the crib knows."""
        self.names = ["sell", "buy"]
        with anyio.fail_after(20), crib.events.subscribe() as events:
            await self.bus.publish(ToolsListChanged())
            await anext(events)


def configured(folder: Path) -> dict[str, Any]:
    """Notes that are there, and a CRM that starts on request."""

    def entry(name: str, **options: Any) -> dict[str, Any]:
        catalog = folder / f"{name}.json"
        tool = {"name": "find", "description": f"Find {name}.", "inputSchema": {"type": "object"}}
        catalog.write_text(json.dumps({"server": name, "tools": [tool]}))
        args = ["-S", str(REPLAY), str(catalog)]
        return {"command": sys.executable, "args": args, "toolcrib": {"protocol": "legacy", **options}}

    servers = {"notes": entry("notes"), "crm": entry("crm", start="on_request", description="customers")}
    return {"mcpServers": servers, "toolcrib": {"first_listing_wait": 60, "dynamic": {"enabled": True}}}


@pytest.mark.parametrize(("vendor", "surface"), EACH, ids=IDS)
async def test_requests_begin_with_the_last_one_whatever_servers_do(
    vendor: Vendor, surface: Any, tmp_path: Path
) -> None:
    def task(number: int) -> list[Any]:
        steps = looks(vendor, surface, "buy pears", f"call_{number}a")
        return [*steps, calls(vendor, surface, "shop.buy", {"count": number}, f"call_{number}b"), vendor.answer("done")]

    mistake = calls(vendor, surface, "shop.buy", {"count": "some"}, "call_0")
    script = [mistake, *(step for number in range(1, 7) for step in task(number))]
    shop = Shop()
    with anyio.fail_after(60):
        async with (
            Client(shop.server) as connected,
            Crib(loaded(configured(tmp_path)), clients={"shop": connected}, state_dir=tmp_path) as crib,
        ):
            await anyio.wait_all_tasks_blocked()  # the subscription is on its way
            async with vendor.client(crib, *script, surface=surface, system="Be brief.") as (client, double):
                await client.chat("Buy a pear.")
                await shop.change(crib)
                await client.chat("Two more, now that the list has changed.")
                await crib.refresh("notes")
                await client.chat("Three more, over a new connection.")
                await crib.enable("crm")
                await client.chat("Four more, with another server.")
                await crib.disable("crm")
                await client.chat("Five more, without it.")
                crib.add_functions(late, server="later")
                assert (await client.chat("Six more, and a function.")).text == "done"
    assert not double.script
    found = [
        first_difference(earlier, later, mended=int(place == 1))
        for place, (earlier, later) in enumerate(pairwise(double.bodies))
    ]
    assert found == [None] * (len(double.bodies) - 1)
    assert len(found) == len(script) - 1


def late() -> str:
    """Come later."""
    return "late"


EARLIER: dict[str, Any] = {
    "model": "m",
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "a/b", "input_schema": {"properties": {"cache_control": {"type": "string"}}}}],
    "tool_choice": {"type": "auto"},
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "a", "input": {"x": 1, "y": 2}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]},
    ],
}


def test_marks_and_the_choice_of_tools_do_not_count() -> None:
    later = copy.deepcopy(EARLIER)
    del later["system"][0]["cache_control"]
    later["tool_choice"] = {"type": "none"}
    later["messages"].append({"role": "assistant", "content": []})
    assert first_difference(EARLIER, later) is None


@pytest.mark.parametrize(
    ("where", "value", "told"),
    [
        (("messages", 0, "content", 0, "text"), "ho", "/messages/0/content/0/text"),
        (("messages", 1, "content", 0, "input"), {"y": 2, "x": 1}, "/messages/1/content/0/input"),
        (("system",), [], "/system/0"),
        (("tools", 0, "name"), "a", "/tools/0/name"),
        (("tools", 0, "input_schema", "properties"), {}, "/tools/0/input_schema/properties/cache_control"),
        (("max_tokens",), 3, "/max_tokens"),
        (("messages",), EARLIER["messages"][:2], "/messages/2"),
    ],
)
def test_the_first_part_that_differs_is_named(where: tuple[Any, ...], value: Any, told: str) -> None:
    later = copy.deepcopy(EARLIER)
    part: Any = later
    for step in where[:-1]:
        part = part[step]
    part[where[-1]] = value
    assert first_difference(EARLIER, later) == told


def test_a_turn_that_was_mended_is_not_looked_at_and_what_precedes_it_is() -> None:
    mended = {**EARLIER, "messages": [*EARLIER["messages"][:1], {"role": "assistant", "content": []}]}
    assert first_difference(EARLIER, mended) == "/messages/1/content/0"
    assert first_difference(EARLIER, mended, mended=1) is None
    assert first_difference(EARLIER, {**mended, "messages": []}, mended=1) == "/messages/0"
