"""Resources as tools, over the demo servers: what they offer is listed together, and read from whoever has it."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Crib
from toolcrib.config import config_from_mapping
from toolcrib.demo import demo_config
from toolcrib.errors import UsageError
from toolcrib.metatools import MetaTools

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def crib(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Crib]:
    """The demo servers, with resources as tools."""
    settings = {"resources": True, "first_listing_wait": 60}
    config = config_from_mapping({**demo_config(), "toolcrib": settings})
    async with Crib.open(config, state_dir=tmp_path_factory.mktemp("resources")) as opened:
        await opened.refresh()
        yield opened


async def answer(crib: Crib, tool: str, **arguments: Any) -> tuple[str, bool]:
    result = await MetaTools(crib).call(tool, arguments)
    return "\n".join(str(block.get("text") or block) for block in result["content"]), bool(result["isError"])


async def test_the_tools_are_there_only_where_they_are_wanted(crib: Crib, tmp_path: Path) -> None:
    names = {"mcp_list_resources", "mcp_read_resource"}
    assert names <= {each["name"] for each in MetaTools(crib).definitions()}
    async with Crib.from_clients({}, state_dir=tmp_path) as plain:
        assert not names & {each["name"] for each in MetaTools(plain).definitions()}


async def test_all_servers_resources_are_listed_templates_last(crib: Crib) -> None:
    known = await crib.resources()
    assert known.failed == ()
    assert {each.server for each in known.found} == {"notes", "tickets", "files"}  # the calendar has none
    kinds = [each.is_template for each in known.found]
    assert kinds == sorted(kinds)
    text, is_error = await answer(crib, "mcp_list_resources", server="notes")
    assert not is_error
    assert all(line.startswith("notes: ") for line in text.splitlines())


async def test_a_resource_is_read_by_uri_by_name_and_by_what_a_template_stands_for(crib: Crib) -> None:
    plain = next(each for each in (await crib.resources(server="notes")).found if not each.is_template)
    by_uri = await MetaTools(crib).call("mcp_read_resource", {"uri": plain.uri})
    (block,) = by_uri["content"]
    assert (block["type"], block["resource"]["uri"]) == ("resource", plain.uri)
    assert block["resource"]["text"]
    assert await MetaTools(crib).call("mcp_read_resource", {"uri": plain.name, "server": "notes"}) == by_uri
    template = next(each for each in (await crib.resources(server="notes")).found if each.is_template)
    made = template.uri.replace("{note}", "1")
    outcome = await crib.read_resource(made)
    assert outcome.call.source == "notes"
    assert outcome.result["contents"][0]["uri"] == made


async def test_what_is_not_there_is_told_with_what_is(crib: Crib) -> None:
    text, is_error = await answer(crib, "mcp_read_resource", uri="nowhere://x")
    assert is_error
    assert "There is no resource" in text
    assert "What there is: " in text
    assert "notes://note/1 (note-1)" in text
    assert re.search(r"mcp_list_resources lists \d+ more", text)
    with pytest.raises(UsageError, match="no server"):
        await crib.resources(server="nowhere")


async def test_a_page_says_what_is_left(crib: Crib) -> None:
    total = len((await crib.resources()).found)
    text, _ = await answer(crib, "mcp_list_resources", offset=total - 1)
    assert len(text.splitlines()) == 1


async def test_a_server_that_is_denied_as_a_whole_offers_nothing(tmp_path: Path) -> None:
    rules = [{"servers": ["notes"], "then": "deny"}]
    config = config_from_mapping({**demo_config(), "toolcrib": {"policy": {"rules": rules}}})
    async with Crib.open(config, state_dir=tmp_path) as crib:
        assert {each.server for each in (await crib.resources()).found} == {"tickets", "files"}
        with pytest.raises(UsageError, match="no resource"):
            await crib.read_resource("note://1")


async def test_a_server_that_cannot_be_asked_costs_only_its_own(tmp_path: Path) -> None:
    servers = {"notes": demo_config()["mcpServers"]["notes"], "gone": {"command": "no-such-command-here"}}
    async with Crib.open({"mcpServers": servers}, state_dir=tmp_path) as crib:
        known = await crib.resources()
    assert known.failed == ("gone",)
    assert known.found
