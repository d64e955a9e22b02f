"""The profile `all`: every tool directly, in both eras on both sides."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from toolcrib import Crib
from toolcrib.broker import LOCAL
from toolcrib.config import DirectSettings
from toolcrib.gateway import Gateway
from toolcrib.gateway.profiles import Surfaces
from toolcrib.servers.wire import raw_request

pytestmark = pytest.mark.anyio

LIMIT = 30.0
REPLAY = Path(__file__).resolve().parents[2] / "stubs" / "replay.py"
MODES: dict[str, Any] = {"handshake": "legacy", "modern": "auto"}


@pytest.fixture(params=[(a, b) for a in MODES for b in MODES], ids=lambda pair: f"{pair[0]}-to-{pair[1]}")
async def direct(request: pytest.FixtureRequest, odd_upstream: Any, tmp_path: Path) -> AsyncIterator[Any]:
    """A client of a gateway that shows all, and its era."""
    era, upstream_era = request.param
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(Client(odd_upstream(), mode=MODES[upstream_era]))
        crib = await stack.enter_async_context(Crib.from_clients({"odd": upstream}, state_dir=tmp_path))
        client = await stack.enter_async_context(Client(Gateway(crib, "all").server, mode=MODES[era]))
        with anyio.fail_after(LIMIT):
            yield client, era


def entry(folder: Path, name: str, tools: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    catalog = folder / f"{name}.json"
    catalog.write_text(json.dumps({"server": name, "tools": tools}))
    return {"command": sys.executable, "args": ["-S", str(REPLAY), str(catalog)], "toolcrib": options}


def tool(name: str, **members: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **members}


async def listed(client: Client) -> list[dict[str, Any]]:
    """All pages, as they came over the wire."""
    found: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    while True:
        result = await raw_request(client.session, "tools/list", params)
        found += result["tools"]
        if "nextCursor" not in result:
            return found
        params = {"cursor": result["nextCursor"]}


async def names_of(config: dict[str, Any], state: Path, mode: str = "auto") -> list[str]:
    async with Crib.open(config, state_dir=state) as crib, Client(Gateway(crib).server, mode=MODES["modern"]) as client:
        return [each["name"] for each in await listed(client)]


async def test_each_definition_is_the_servers_own_but_for_its_name(direct: Any, odd: ModuleType) -> None:
    client, _ = direct

    expected = sorted(({**each, "name": f"odd__{each['name']}"} for each in odd.DEFINITIONS), key=lambda d: d["name"])
    assert await listed(client) == expected


@pytest.mark.parametrize("name", ["failed", "nothing", "book", "values"])
async def test_a_result_is_the_servers_own(direct: Any, odd: ModuleType, name: str) -> None:
    client, era = direct
    arguments = {"people": 2} if name == "book" else {}

    result = await raw_request(client.session, "tools/call", {"name": f"odd__{name}", "arguments": arguments})

    expected = odd.answer(name, arguments, {})
    if name == "values" and era == "handshake":  # until 2025-11-25 structured content is an object
        expected = {"content": expected["content"]}
    assert {key: result.get(key) for key in expected} == expected


async def test_what_a_server_refuses_is_refused_with_its_own_error(direct: Any) -> None:
    client, _ = direct

    with pytest.raises(MCPError) as caught:
        await client.call_tool("odd__refuse", {})

    assert (caught.value.error.code, caught.value.error.message) == (-32000, "no such row")
    assert caught.value.error.data == {"row": 7}


async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(direct: Any) -> None:
    client, _ = direct

    with pytest.raises(MCPError, match=r"odd__nothing_at_all") as caught:
        await client.call_tool("odd__nothing_at_all", {})

    assert caught.value.error.code == -32602  # specification 2026-07-28, server/tools, error handling


async def test_progress_comes_as_the_server_sends_it(direct: Any, odd: ModuleType) -> None:
    client, _ = direct
    told: list[Any] = []

    async def on_progress(*report: Any) -> None:
        told.append(report)

    await client.call_tool("odd__steps", {}, progress_callback=on_progress)

    assert told == odd.STEPS


async def test_a_large_result_passes_whole_unless_a_budget_is_set(odd_upstream: Any, odd: ModuleType) -> None:
    async with Client(odd_upstream()) as upstream, Crib.from_clients({"odd": upstream}) as crib:
        async with Client(Gateway(crib, "all").server) as client:
            result = await client.call_tool("odd__big", {})
            assert result.content[0].text == odd.BIG_TEXT
        settings = crib.config.settings.model_copy(update={"direct": DirectSettings(result_budget=5_000)})
        crib.config = replace(crib.config, settings=settings)
        async with Client(Gateway(crib, "all").server) as client:
            text = (await client.call_tool("odd__big", {})).content[0].text
            assert "read_result" in text
            assert [each["name"] for each in await listed(client)][-1] == "read_result"


async def test_a_server_that_stands_alone_may_go_without_prefix(tmp_path: Path) -> None:
    tools = [tool("get.it"), tool("a-b")]
    alone = {"mcpServers": {"one": entry(tmp_path, "one", tools, prefix="")}, "toolcrib": {"profile": "all"}}
    both = {**alone["mcpServers"], "two": entry(tmp_path, "two", tools, prefix="x")}
    two = {**alone, "mcpServers": both}

    assert await names_of(alone, tmp_path / "a") == ["a-b", "get.it"]
    assert await names_of(two, tmp_path / "b") == ["one__a_b", "one__get_it", "x__a_b", "x__get_it"]


async def test_only_what_the_policy_leaves_visible_is_listed_and_called(tmp_path: Path) -> None:
    servers = {"one": entry(tmp_path, "one", [tool("keep"), tool("drop")], deny=["drop"])}
    config = {"mcpServers": servers, "toolcrib": {"profile": "all"}}
    async with Crib.open(config, state_dir=tmp_path / "s") as crib, Client(Gateway(crib).server) as client:
        assert [each["name"] for each in await listed(client)] == ["one__keep"]
        with pytest.raises(MCPError, match="There is no tool"):
            await client.call_tool("one__drop", {})


async def test_a_cursor_stays_good_when_tools_come_and_go(tmp_path: Path) -> None:
    many = [tool(f"t{number:04d}") for number in range(1_200)]
    config = {"mcpServers": {"one": entry(tmp_path, "one", many)}, "toolcrib": {"profile": "all"}}
    async with Crib.open(config, state_dir=tmp_path / "s") as crib, Client(Gateway(crib).server) as client:
        first = await raw_request(client.session, "tools/list")
        assert len(first["tools"]) == 500
        crib.registry.cache_from_maps([tool("a"), *many[:100], *many[101:]], server="one")
        second = await raw_request(client.session, "tools/list", {"cursor": first["nextCursor"]})
        assert second["tools"][0]["name"] == "one__t0500"
        with pytest.raises(MCPError, match="page") as caught:
            await raw_request(client.session, "tools/list", {"cursor": "nonsense"})
        assert caught.value.error.code == -32602  # specification, server/utilities/pagination: invalid cursor


ODDITIES = [
    tool("list_output", outputSchema={"type": "array"}),
    tool("bad_title", title=7, description="kept"),
    tool("bad_marks", annotations={"readOnlyHint": "yes, of course"}),
    tool("bad_icons", icons="none"),
    {"name": "no_schema"},
    {"name": "untyped", "inputSchema": {"properties": {"a": {}}}},
    {"name": "array_in", "inputSchema": {"type": "array"}},
    tool("good"),
]


@pytest.mark.parametrize("era", MODES)
async def test_a_definition_that_a_revision_can_not_carry_costs_only_what_it_can_not_carry(
    tmp_path: Path, era: str
) -> None:
    config = {"mcpServers": {"one": entry(tmp_path, "one", ODDITIES)}, "toolcrib": {"profile": "all"}}
    async with (
        Crib.open(config, state_dir=tmp_path / "s") as crib,
        Client(Gateway(crib).server, mode=MODES[era]) as client,
    ):
        tools = {each.name.removeprefix("one__"): each for each in (await client.list_tools()).tools}
        raw = {each["name"].removeprefix("one__"): each for each in await listed(client)}

    assert tools.keys() == {each["name"] for each in ODDITIES}
    assert ("outputSchema" in raw["list_output"]) == (era == "modern")  # any value from 2026-07-28 on
    assert raw["bad_title"] == {**tool("one__bad_title"), "description": "kept"}
    assert raw["untyped"]["inputSchema"] == {"type": "object", "properties": {"a": {}}}
    assert raw["array_in"]["inputSchema"] == {"type": "object"}
    assert raw["good"] == tool("one__good")


@pytest.mark.parametrize(("limit", "shown"), [(1_000, "one__a"), (10, "search_tools")])
async def test_auto_takes_the_one_that_fits_and_stays_with_it(tmp_path: Path, limit: int, shown: str) -> None:
    tools = [tool("a", description="Does something that takes some words to say.")]
    settings = {"profile": "auto", "direct": {"auto_tokens": limit}}
    config = {"mcpServers": {"one": entry(tmp_path, "one", tools)}, "toolcrib": settings}
    async with Crib.open(config, state_dir=tmp_path / "s") as crib, Client(Gateway(crib).server) as client:
        assert (await listed(client))[0]["name"] == shown
        assert bool(client.instructions) == (shown == "search_tools")
        crib.registry.cache_from_maps(
            [tool(f"a{number}", description="word " * 50) for number in range(40)], server="one"
        )
        assert ((await listed(client))[0]["name"] == "search_tools") == (shown == "search_tools")


async def test_each_profile_has_a_path_of_its_own_over_http(tmp_path: Path, over_http: Any) -> None:
    config = {"one": entry(tmp_path, "one", [tool("a")])}
    async with Crib.open(config, state_dir=tmp_path / "s") as crib, over_http(Gateway(crib)) as url:
        for path, first in (("", "search_tools"), ("/all", "one__a"), ("/discover", "search_tools")):
            for mode in MODES.values():
                async with Client(streamable_http_client(f"{url}{path}"), mode=mode) as client:
                    assert (await listed(client))[0]["name"] == first


async def test_all_who_see_the_same_tools_remember_one_set_of_them(tmp_path: Path) -> None:
    """Of 10,000 tools it takes half a megabyte, for each session and subscription."""
    async with Crib.open({"mcpServers": {}}, state_dir=tmp_path) as crib:
        crib.add_functions(read, server="notes")
        surface = await Surfaces(crib, "all").of(LOCAL)
        assert surface.shown(LOCAL) == {"notes.read"}
        assert surface.shown(LOCAL) is surface.shown(LOCAL)


def read() -> str:
    """Read."""
    return ""
