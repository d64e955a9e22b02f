"""Resources, prompts and completions of the demo servers."""

import json
from base64 import b64decode
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


@MODES
@pytest.mark.parametrize(
    ("name", "resources", "prompts"),
    [("tickets", True, True), ("notes", True, True), ("calendar", False, True), ("files", True, False)],
)
async def test_a_server_declares_what_it_has(
    connect: Any, name: str, resources: bool, prompts: bool, mode: str
) -> None:
    with anyio.fail_after(10):
        async with connect(name, mode) as client:
            capabilities = client.server_capabilities
    assert capabilities.tools is not None
    assert (capabilities.resources is not None) is resources
    assert (capabilities.prompts is not None) is prompts
    assert (capabilities.completions is not None) is (name in ("tickets", "notes"))


@MODES
async def test_a_note_is_a_resource_and_a_deleted_one_is_not_found(connect: Any, mode: str) -> None:
    with anyio.fail_after(10):
        async with connect("notes", mode) as client:
            listed = (await client.list_resources()).resources
            [template] = (await client.list_resource_templates()).resource_templates
            [contents] = (await client.read_resource("notes://note/8")).contents
            await client.call_tool("delete_note", {"note": 8})
            with pytest.raises(MCPError, match="Resource not found") as caught:
                await client.read_resource("notes://note/8")
            remaining = (await client.list_resources()).resources
    assert template.uri_template == "notes://note/{note}"
    assert len(listed) == 14
    assert listed[7].title == "Bread that works"
    assert listed[7].size == len(contents.text.encode())
    assert contents.mime_type == "text/markdown"
    assert "# Bread that works" in contents.text
    # Revision 2026-07-28 moved "resource not found" to -32602.
    assert caught.value.error.code == -32602
    assert len(remaining) == 13


@pytest.mark.parametrize("uri", ["notes://note/", "notes://note/٣", "notes://note/1e3", "notes://nothing/1"])
async def test_an_address_that_is_no_note_is_not_found(connect: Any, uri: str) -> None:
    with anyio.fail_after(10):
        async with connect("notes") as client:
            with pytest.raises(MCPError, match="Resource not found"):
                await client.read_resource(uri)


async def test_tickets_and_projects_are_resources_in_json(connect: Any) -> None:
    with anyio.fail_after(10):
        async with connect("tickets") as client:
            [listed] = (await client.list_resources()).resources
            [projects] = (await client.read_resource(listed.uri)).contents
            [ticket] = (await client.read_resource("tickets://ticket/OPS-3")).contents
            with pytest.raises(MCPError, match="Resource not found"):
                await client.read_resource("tickets://ticket/OPS-99")
    assert [project["key"] for project in json.loads(projects.text)["projects"]] == ["APP", "OPS", "WEB"]
    found = json.loads(ticket.text)
    assert found["links"] == [{"kind": "blocks", "ticket": "WEB-6"}]
    assert [comment["author"] for comment in found["comments"]] == ["noor"]


@MODES
async def test_a_binary_file_is_a_blob(connect: Any, mode: str) -> None:
    with anyio.fail_after(10):
        async with connect("files", mode) as client:
            listed = {each.name: each for each in (await client.list_resources()).resources}
            [contents] = (await client.read_resource("files:///images/harbour-flag.png")).contents
    assert listed["images/harbour-flag.png"].uri == "files:///images/harbour-flag.png"
    content = b64decode(contents.blob)
    assert content.startswith(b"\x89PNG")
    assert len(content) == listed["images/harbour-flag.png"].size


@MODES
async def test_triage_speaks_of_the_ticket(connect: Any, mode: str) -> None:
    with anyio.fail_after(10):
        async with connect("tickets", mode) as client:
            prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
            result = await client.get_prompt("triage", {"ticket": "WEB-5"})
            with pytest.raises(MCPError, match="There is no ticket WEB-99"):
                await client.get_prompt("triage", {"ticket": "WEB-99"})
            with pytest.raises(MCPError, match="needs ticket"):
                await client.get_prompt("triage", {})
            with pytest.raises(MCPError, match="Unknown prompt"):
                await client.get_prompt("praise", {})
    assert prompts.keys() == {"triage", "weekly_report"}
    assert prompts["triage"].arguments[0].required
    [message] = result.messages
    assert "Search takes eight seconds" in message.content.text


async def test_a_summary_brings_the_notes_along(connect: Any) -> None:
    with anyio.fail_after(10):
        async with connect("notes") as client:
            result = await client.get_prompt("summarize_topic", {"tag": "review", "readers": "customers"})
            with pytest.raises(MCPError, match="No note has the tag"):
                await client.get_prompt("summarize_topic", {"tag": "nothing"})
    task, *notes = result.messages
    assert "for customers" in task.content.text
    assert {note.content.resource.uri for note in notes} == {"notes://note/4", "notes://note/10"}


async def test_a_day_is_planned_around_its_events(connect: Any) -> None:
    with anyio.fail_after(10):
        async with connect("calendar") as client:
            today = await client.get_prompt("plan_day", {"calendar": "team"})
            other = await client.get_prompt("plan_day", {"calendar": "noor", "day": "2026-03-17"})
            with pytest.raises(MCPError, match="2026-3-17 is no day"):
                await client.get_prompt("plan_day", {"calendar": "noor", "day": "2026-3-17"})
    assert "- 09:15 to 09:30: Stand-up\n- 13:00 to 14:30: Sprint planning" in today.messages[0].content.text
    assert "- 10:00 to 11:00: Budget review" in other.messages[0].content.text


@MODES
async def test_arguments_of_prompts_and_templates_are_completed(connect: Any, mode: str) -> None:
    with anyio.fail_after(10):
        async with connect("tickets", mode) as client:
            tickets = await client.complete(PromptReference(name="triage"), {"name": "ticket", "value": "app"})
            nothing = await client.complete(PromptReference(name="triage"), {"name": "mood", "value": ""})
        async with connect("notes", mode) as client:
            notes = await client.complete(
                ResourceTemplateReference(uri="notes://note/{note}"), {"name": "note", "value": "1"}
            )
    assert tickets.completion.values == [f"APP-{number}" for number in range(1, 7)]
    assert nothing.completion.values == []
    assert notes.completion.values == ["1", "10", "11", "12", "13", "14"]
