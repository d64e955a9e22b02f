"""Servers turned on and off through the gateway, in both eras: what is listed never changes, what is found does."""

import json
import random
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from toolcrib import Crib, MetaTools
from toolcrib.config import Switches
from toolcrib.crib import SWITCHES_FILE
from toolcrib.errors import UnknownToolError
from toolcrib.gateway import Gateway
from toolcrib.metatools.definitions import meta_tools
from toolcrib.servers.wire import raw_request
from toolcrib.tokens import count_tokens

pytestmark = pytest.mark.anyio

REPLAY = Path(__file__).resolve().parent.parent / "stubs" / "replay.py"
CONSTANT = ["search_tools", "get_tool_details", "call_tool", "read_result", "run_code"]
DYNAMIC = ["search_available_servers", "enable_server", "disable_server"]
LIMIT = 60.0


def entry(folder: Path, name: str, tools: list[str], **options: Any) -> dict[str, Any]:
    catalog = folder / f"{name}.json"
    definitions = [{"name": each, "description": each.replace("_", " "), "inputSchema": {}} for each in tools]
    catalog.write_text(json.dumps({"server": name, "tools": definitions}))
    command = {"command": sys.executable, "args": ["-S", str(REPLAY), str(catalog)]}
    return {**command, "toolcrib": {"protocol": "legacy", **options}}


def config(folder: Path, *, dynamic: bool = True) -> dict[str, Any]:
    return {
        "mcpServers": {
            "notes": entry(folder, "notes", ["create_note", "search_notes"]),
            "crm": entry(
                folder, "crm", ["find_contact", "merge_contacts"], start="on_request", description="customers"
            ),
        },
        "toolcrib": {"first_listing_wait": 60, **({"dynamic": {"enabled": True}} if dynamic else {})},
    }


class Seen:
    """A client of the gateway, and the notifications that reached it."""

    def __init__(self) -> None:
        self.client: Client
        self.told: list[str] = []

    async def take(self, message: Any) -> None:
        self.told.append(getattr(message, "method", type(message).__name__))

    async def call(self, tool: str, /, **arguments: Any) -> tuple[str, bool]:
        result = await raw_request(self.client.session, "tools/call", {"name": tool, "arguments": arguments})
        return "\n".join(block["text"] for block in result["content"]), bool(result.get("isError"))

    async def listed(self) -> str:
        return json.dumps((await raw_request(self.client.session, "tools/list", {}))["tools"])


@pytest.fixture(params=["memory-modern", "memory-handshake", "http-modern", "http-handshake"])
async def seen(request: pytest.FixtureRequest, tmp_path: Path, over_http: Callable[..., Any]) -> AsyncIterator[Seen]:
    transport, _, era = request.param.partition("-")
    mode: Any = {"handshake": "legacy", "modern": "auto"}[era]
    seen = Seen()
    with anyio.fail_after(LIMIT):
        async with AsyncExitStack() as stack:
            gateway = Gateway(await stack.enter_async_context(Crib.open(config(tmp_path), state_dir=tmp_path)))
            target: Any = gateway.server
            if transport == "http":
                target = streamable_http_client(await stack.enter_async_context(over_http(gateway)))
            seen.client = await stack.enter_async_context(Client(target, mode=mode, message_handler=seen.take))
            yield seen


async def test_a_conversation_enables_uses_and_disables_a_server(seen: Seen) -> None:
    before = await seen.listed()
    assert [each["name"] for each in json.loads(before)] == [*CONSTANT, *DYNAMIC]
    assert "crm" not in before
    answer, failed = await seen.call("call_tool", name="crm.find_contact")
    assert failed
    assert 'enable_server("crm")' in answer
    answer, _ = await seen.call("search_available_servers", query="customers")
    assert answer == 'crm (off): customers  enable_server("crm")'
    answer, failed = await seen.call("enable_server", name="crm")
    assert (answer, failed) == (
        "crm is on, with 2 tools: crm.find_contact, crm.merge_contacts. search_tools finds them now.",
        False,
    )
    answer, _ = await seen.call("search_tools", query="find contact", detail="name")
    assert answer.splitlines()[0] == "crm.find_contact"
    assert not (await seen.call("call_tool", name="crm.find_contact"))[1]
    answer, failed = await seen.call("disable_server", name="crm")
    assert (answer, failed) == ("crm is off; its tools are in no search any more.", False)
    answer, _ = await seen.call("search_tools", query="find contact", detail="name")
    assert answer.splitlines()[-1] == 'crm (off): 2 tools may fit; enable_server("crm")'
    assert "crm.find_contact" not in answer
    assert await seen.listed() == before
    # The protocol forbids a list that changes as a side effect of a call, and nothing claims that it did.
    assert [each for each in seen.told if "list_changed" in each] == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("enable_server", {}),
        ("enable_server", {"name": ""}),
        ("enable_server", {"name": "nobody"}),
        ("enable_server", {"name": {"command": "sh"}}),
        ("enable_server", {"name": "com.example/any"}),
        ("enable_server", {"name": "x" * 100_000}),
        ("disable_server", {"name": "notes"}),
        ("disable_server", {"name": None}),
        ("search_available_servers", {"query": {"a": 1}}),
    ],
)
async def test_what_is_not_left_to_a_model_is_an_error_to_act_on(
    tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    async with Crib.open(config(tmp_path), state_dir=tmp_path) as crib:
        result = await MetaTools(crib).call(name, arguments)
    assert result["isError"]
    assert 0 < len(result["content"][0]["text"]) < 2_000


async def test_a_model_never_supplies_what_is_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    evil = {"command": "touch", "args": [str(marker)], "env": {"PATH": str(tmp_path)}, "url": "http://127.0.0.1:9"}
    async with Crib.open(config(tmp_path), state_dir=tmp_path) as crib:
        before = repr(crib.config.servers["crm"])
        with anyio.fail_after(LIMIT):
            await MetaTools(crib).call("enable_server", {"name": "crm", **evil})
            await MetaTools(crib).call("enable_server", {"name": "other", **evil})
        assert repr(crib.config.servers["crm"]) == before
        assert [each.id for each in crib.servers] == ["notes", "crm"]
    assert not marker.exists()


async def test_without_the_setting_there_are_no_such_tools(tmp_path: Path) -> None:
    async with Crib.open(config(tmp_path, dynamic=False), state_dir=tmp_path) as crib:
        tools = MetaTools(crib)
        assert [each["name"] for each in tools.definitions()] == CONSTANT
        assert not any(tools.knows(name) for name in DYNAMIC)


def test_the_three_tools_cost_about_three_hundred_tokens() -> None:
    servers = [(f"server_{number}", f"Does everything about subject {number}") for number in range(30)]
    plain = count_tokens(json.dumps(meta_tools(servers, token_budget=300)))
    dynamic = count_tokens(json.dumps(meta_tools(servers, token_budget=300, dynamic=True)))
    assert dynamic - plain <= 320


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_is_switched_only_what_is_on_is_seen_and_the_list_stays(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    switches = Switches(tmp_path / SWITCHES_FILE)
    on, aside, switched = False, False, None
    async with Crib.open(config(tmp_path), state_dir=tmp_path) as crib:
        tools = MetaTools(crib)
        constant = json.dumps(tools.definitions())
        with anyio.fail_after(LIMIT):
            await crib.search("note")
            for _ in range(30):
                action = chance.choice(["enable", "disable", "call", "user on", "user off", "user neither"])
                if action == "enable":
                    result = await tools.call("enable_server", {"name": "crm"})
                    assert bool(result.get("isError")) == (switched is False)
                    if switched is not False:
                        on, aside = True, False
                elif action == "disable":
                    result = await tools.call("disable_server", {"name": "crm"})
                    assert bool(result.get("isError")) == (switched is False)
                    aside = aside or (switched is not False and (on or switched is True))
                elif action.startswith("user"):
                    before, switched = switched, {"user on": True, "user off": False, "user neither": None}[action]
                    aside = aside and not (switched is True and before is not True)
                    switches.put(crib.config.servers["crm"], switched)
                    on = on and switched is not False
                visible = on or switched is True
                try:
                    assert (await crib.call("crm.find_contact")).kind == "result"
                    assert visible
                except UnknownToolError:
                    assert not visible
                found = {each.tool.server for each in (await crib.search("find contact", limit=50)).found}
                # A server that was never listed has nothing yet that a search could find.
                assert ("crm" in found) == (visible and not aside), (action, on, aside, switched)
                assert json.dumps(tools.definitions()) == constant
