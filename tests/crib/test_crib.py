"""A crib as a program uses it: over clients, functions, configured servers and what they left on disk."""

import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server.lowlevel import Server

from toolcrib import Crib
from toolcrib.catalog import JsonObject
from toolcrib.demo import demo_config as shipped_config
from toolcrib.demo.notes import APP as NOTES
from toolcrib.demo.tickets import APP as TICKETS
from toolcrib.errors import ConfigError, ServerError, UnknownToolError, UsageError
from toolcrib.events import CatalogChanged

pytestmark = pytest.mark.anyio


def demo_config() -> dict[str, Any]:
    """The demo servers, waited for however busy the machine is."""
    return {**shipped_config(), "toolcrib": {"first_listing_wait": 60}}


@pytest.fixture
async def demo() -> AsyncIterator[Crib]:
    async with (
        Client(TICKETS.server()) as tickets,
        Client(NOTES.server()) as notes,
        Crib.from_clients({"tickets": tickets, "notes": notes}) as crib,
    ):
        yield crib


def names(answer: Any) -> list[str]:
    return [each.tool.id for each in answer.found]


async def test_search_finds_the_tool_and_call_runs_it(demo: Crib) -> None:
    assert names(await demo.search("create a ticket"))[0] == "tickets.create_ticket"
    outcome = await demo.call("tickets.list_projects")
    assert outcome.kind == "result"
    assert outcome.result["structuredContent"]["projects"]


async def test_each_line_is_a_need_of_its_own(demo: Crib) -> None:
    answer = await demo.search("create a ticket\nsearch notes")
    assert set(names(answer)[:2]) == {"tickets.create_ticket", "notes.search_notes"}


async def test_a_search_can_be_kept_to_one_server(demo: Crib) -> None:
    found = names(await demo.search("create", server="notes", limit=50))
    assert found
    assert {each.partition(".")[0] for each in found} == {"notes"}
    with pytest.raises(UsageError, match="no server"):
        await demo.search("create", server="nowhere")


async def test_a_search_can_be_kept_to_what_only_reads(demo: Crib) -> None:
    reading = names(await demo.search("ticket", read_only=True, limit=50))
    assert "tickets.get_ticket" in reading
    assert not {"tickets.create_ticket", "tickets.delete_ticket"} & set(reading)
    everything = (await demo.search("", read_only=True, limit=50)).found
    assert {each.tool.annotations["readOnlyHint"] for each in everything} == {True}


async def test_a_search_can_be_kept_to_a_tag_of_the_configuration_or_a_group(tmp_path: Path) -> None:
    config = demo_config()
    config["mcpServers"]["tickets"]["toolcrib"]["tags"] = ["Work"]

    class Grouped:
        id = "grouped"
        description = ""

        async def ensure(self, context: Any = None) -> None: ...

        async def list(self, method: str, context: Any = None) -> list[JsonObject]:
            group = {"_meta": {"io.modelcontextprotocol/groups": ["work"]}}
            return [{"name": "one", "description": "A ticket.", **group}, {"name": "two", "description": "A ticket."}]

        async def request(self, method: str, params: JsonObject, context: Any = None) -> JsonObject:
            return {"content": []}

    async with Crib.open(config, state_dir=tmp_path) as crib:
        await crib.add_source(Grouped())
        found = names(await crib.search("ticket note", tag="WORK", limit=50))
        assert {each.partition(".")[0] for each in found} == {"tickets", "grouped"}
        assert "grouped.two" not in found
        assert (await crib.search("ticket", tag="play")).found == []


async def test_an_empty_query_lists_the_servers_or_the_tools_of_one(demo: Crib) -> None:
    answer = await demo.search("")
    assert answer.sources is not None
    assert [(each.id, each.tools) for each in answer.sources] == [("tickets", 14), ("notes", 12)]
    assert len((await demo.search(None, server="notes", limit=50)).found) == 12


async def test_select_takes_any_spelling_and_names_what_is_unknown(demo: Crib) -> None:
    answer = await demo.search("select:tickets/create_ticket, notes__search_notes, tickets.nothing")
    assert names(answer) == ["tickets.create_ticket", "notes.search_notes"]
    assert len(answer.unknown) == 1
    assert "tickets.nothing" in answer.unknown[0]


async def test_a_regular_expression_searches_the_names(demo: Crib) -> None:
    found = names(await demo.search("/^tickets\\.create_/", limit=50))
    assert found
    assert all(each.startswith("tickets.create_") for each in found)


async def test_pages_follow_on_each_other(demo: Crib) -> None:
    whole = names(await demo.search("ticket", limit=10))
    first, second = await demo.search("ticket", limit=5), await demo.search("ticket", limit=5, offset=5)
    assert names(first) + names(second) == whole
    assert first.at_least
    assert first.total == 15  # three pages are ranked
    assert second.total >= first.total


async def test_functions_are_tools_beside_the_servers(demo: Crib) -> None:
    async def exchange_rate(base: str, quote: str = "EUR") -> dict[str, float]:
        """The exchange rate between two currencies."""
        return {"rate": 1.5 if base != quote else 1.0}

    assert demo.add_functions(exchange_rate, server="money") == ["money.exchange_rate"]
    assert names(await demo.search("currency exchange rate"))[0] == "money.exchange_rate"
    assert (await demo.call("money.exchange_rate", {"base": "USD"})).result["structuredContent"] == {"rate": 1.5}
    with pytest.raises(UsageError, match="server already"):
        demo.add_functions(exchange_rate, server="tickets")


async def test_what_a_function_raises_is_the_tools_error(demo: Crib) -> None:
    def divide(a: float, b: float) -> float:
        return a / b

    demo.add_functions(divide)
    outcome = await demo.call("local.divide", {"a": 1, "b": 0})
    assert outcome.is_error
    assert "division by zero" in outcome.result["content"][0]["text"]
    assert (await demo.call("local.divide", {"a": 1, "b": 2})).result["content"][0]["text"] == "0.5"


def by_position(a: int, /) -> None: ...


def no_data(a: Any = object) -> None: ...


def test_a_function_that_cannot_be_described_is_refused() -> None:
    crib = Crib.from_clients({})
    with pytest.raises(UsageError, match="by position only"):
        crib.add_functions(by_position)
    with pytest.raises(UsageError, match="needs a name"):
        crib.add_functions(lambda: None)


async def test_a_source_of_any_kind_can_be_added(demo: Crib) -> None:
    class Fixed:
        id = "fixed"
        description = "One tool"

        async def ensure(self, context: Any = None) -> None: ...

        async def list(self, method: str, context: Any = None) -> list[JsonObject]:
            return [{"name": "ping", "description": "Answers pong.", "inputSchema": {"type": "object"}}]

        async def request(self, method: str, params: JsonObject, context: Any = None) -> JsonObject:
            return {"content": [{"type": "text", "text": "pong"}]}

    assert await demo.add_source(Fixed()) == ["fixed.ping"]
    assert (await demo.call("ping")).result["content"][0]["text"] == "pong"
    with pytest.raises(UsageError, match="already"):
        await demo.add_source(Fixed())


async def test_a_crib_can_be_entered_and_left_in_different_tasks() -> None:
    crib = Crib.from_clients({})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(crib.__aenter__)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(crib.__aexit__, None, None, None)
    with pytest.raises(UsageError, match="entered once"):
        await crib.__aenter__()


async def test_a_client_that_is_not_connected_is_refused() -> None:
    with pytest.raises(UsageError, match="gone is not connected"):
        Crib.from_clients({"gone": Client(NOTES.server())})


async def test_a_client_that_cannot_list_costs_only_its_own_tools() -> None:
    async with (
        Client(NOTES.server()) as notes,
        Client(Server[Any]("offers nothing")) as silent,
        Crib.from_clients({"notes": notes, "silent": silent}) as crib,
    ):
        assert crib.registry.servers == ["notes"]
        assert (await crib.call("notes.list_tags")).kind == "result"


async def test_configured_servers_are_listed_once_and_then_known_from_disk(tmp_path: Path) -> None:
    config = demo_config()
    async with Crib.open(config, state_dir=tmp_path) as crib:
        assert {each.state for each in crib.servers} == {"dormant"}
        assert names(await crib.search("create a ticket"))[0] == "tickets.create_ticket"
        assert [each.tools for each in crib.servers] == [14, 12, 10, 11]
    async with Crib.open(config, state_dir=tmp_path) as crib:
        assert names(await crib.search("create a ticket"))[0] == "tickets.create_ticket"
        assert {each.state for each in crib.servers} == {"dormant"}
        assert [each.pid for each in crib.servers] == [None] * 4
        assert (await crib.call("tickets.list_projects")).kind == "result"
        assert [each.state for each in crib.servers] == ["ready", "dormant", "dormant", "dormant"]


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("index", [False, True])
async def test_a_stored_listing_that_is_damaged_or_deleted_is_listed_anew_and_costs_no_other_server(
    tmp_path: Path, listed: Path, running: bool, index: bool
) -> None:
    config = demo_config()
    shutil.copytree(listed, tmp_path, dirs_exist_ok=True)
    if not index:
        shutil.rmtree(tmp_path / "index")
    async with Crib.open(config, state_dir=tmp_path) as crib:
        if running:
            await crib.call("tickets.list_projects")
        [stored] = (tmp_path / "snapshots").glob("tickets-*.tools")
        if running:
            stored.unlink()
        else:
            stored.write_bytes(b"\0" * stored.stat().st_size)
        with anyio.fail_after(60):
            assert names(await crib.search("write a note"))[0] == "notes.create_note"
            assert names(await crib.search("create a ticket"))[0] == "tickets.create_ticket"
            assert (await crib.tool("tickets.list_projects")).name == "list_projects"
            assert (await crib.call("tickets.list_projects")).kind == "result"


async def test_a_damaged_listing_of_a_server_that_cannot_start_costs_its_own_tools_alone(tmp_path: Path) -> None:
    program = tmp_path / "tickets.py"
    program.write_text("from toolcrib.demo.tickets import APP\nAPP.serve()\n")
    config = demo_config()
    config["mcpServers"]["tickets"] = {"command": sys.executable, "args": ["-m", "tickets"], "cwd": str(tmp_path)}
    async with Crib.open(config, state_dir=tmp_path) as crib:
        assert names(await crib.search("create a ticket"))[0] == "tickets.create_ticket"
    shutil.rmtree(tmp_path / "index")
    program.unlink()
    [stored] = (tmp_path / "snapshots").glob("tickets-*.tools")
    stored.write_bytes(b"\0" * stored.stat().st_size)
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            assert names(await crib.search("write a note"))[0] == "notes.create_note"
            with pytest.raises(ServerError, match="tickets"):
                await crib.tool("tickets.list_projects")
        assert crib.servers[0].state == "failed"


async def test_a_first_listing_is_published_with_the_ids_of_its_tools_in_order(tmp_path: Path) -> None:
    config = {"mcpServers": {"my-notes": demo_config()["mcpServers"]["notes"]}}
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with crib.events.subscribe() as events, anyio.fail_after(20):
            await crib.refresh()
            change = await anext(each async for each in events if isinstance(each, CatalogChanged))
        assert change.server == "my_notes"
        assert list(change.added) == crib.registry.keys("my_notes")
        assert (change.removed, change.changed) == ((), ())


async def test_a_tool_of_a_server_that_was_never_listed_can_be_called_by_its_id(tmp_path: Path) -> None:
    async with Crib.open(demo_config(), state_dir=tmp_path) as crib:
        assert (await crib.call("notes.list_tags")).kind == "result"
        assert [each.state for each in crib.servers] == ["dormant", "ready", "dormant", "dormant"]
        with pytest.raises(UnknownToolError):
            await crib.call("nowhere.list_tags")


async def test_one_failing_server_is_its_own_state(tmp_path: Path) -> None:
    script = "import sys; sys.stderr.write('no licence found'); sys.exit(7)"
    config = {
        "mcpServers": {
            "bad": {"command": sys.executable, "args": ["-c", script]},
            "away": {"command": "no-such-command-anywhere"},
            "unset": {"command": "x", "env": {"API_TOKEN": "${TOOLCRIB_NOT_SET_ANYWHERE}"}},
            "off": {"command": "x", "disabled": True},
            "tickets": demo_config()["mcpServers"]["tickets"],
        },
        "toolcrib": {"first_listing_wait": 60},
    }
    async with Crib.open(config, state_dir=tmp_path) as crib:
        assert names(await crib.search("create a ticket"))[0] == "tickets.create_ticket"
        states = {each.id: each for each in crib.servers}
        assert [each.state for each in crib.servers] == ["failed", "failed", "failed", "disabled", "ready"]
        assert "exit code 7" in states["bad"].reason
        assert states["bad"].output == ("no licence found",)
        assert "no-such-command-anywhere" in states["away"].reason
        assert "env.API_TOKEN: the environment variable TOOLCRIB_NOT_SET_ANYWHERE is not set." in states["unset"].reason
        with pytest.raises(ServerError, match="no licence found"):
            await crib.call("bad.anything")
        answer = await crib.search("")
        assert answer.sources is not None
        assert "off" not in [each.id for each in answer.sources]


async def test_a_configuration_that_names_no_servers_is_refused() -> None:
    with pytest.raises(ConfigError):
        Crib.open({"something": 1})


async def test_what_a_failing_server_prints_of_its_secrets_is_not_shown(tmp_path: Path) -> None:
    script = "import os, sys; sys.exit('refused key ' + os.environ['API_KEY'])"
    config = {
        "mcpServers": {"bad": {"command": sys.executable, "args": ["-c", script], "env": {"API_KEY": "hunter2-long"}}}
    }
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with pytest.raises(ServerError) as caught:
            await crib.call("bad.anything")
        [status] = crib.servers
        assert status.output[0].startswith("refused key ")
        assert "hunter2" not in f"{caught.value} {status}"
