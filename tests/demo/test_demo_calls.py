"""Every demo tool answers a sample call as its definition says, and refuses with a helpful word."""

import json
from typing import Any

import anyio
import jsonschema_rs
import pytest
from mcp import MCPError

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("name", ["tickets", "notes", "calendar", "files"])
async def test_structured_content_fits_the_output_schema_of_every_tool(
    connect: Any, samples: Any, name: str, mode: str
) -> None:
    with anyio.fail_after(10):
        async with connect(name, mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert samples[name].keys() == tools.keys()
            for tool, arguments in samples[name].items():
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, (tool, result.content)
                schema = tools[tool].output_schema
                if schema is None:
                    assert result.structured_content is None
                    assert result.content
                    continue
                jsonschema_rs.Draft202012Validator(schema, validate_formats=True).validate(result.structured_content)
                if tool != "render_chart":
                    assert json.loads(result.content[0].text) == result.structured_content


@pytest.mark.parametrize(
    ("name", "tool", "arguments", "reason"),
    [
        ("tickets", "create_ticket", {"project": "WEB", "title": "abc"}, '"reporter" is a required property'),
        ("tickets", "create_ticket", {"project": "NIX", "title": "abc", "reporter": "noor"}, "APP, OPS, WEB"),
        ("tickets", "get_ticket", {"ticket": "WEB-99"}, "There is no ticket WEB-99"),
        ("tickets", "get_ticket", {"ticket": "web-1"}, "ticket: "),
        ("tickets", "search_tickets", {"due_before": "2026-02-30"}, "due_before: "),
        ("tickets", "transition_ticket", {"ticket": "WEB-6", "status": "done"}, "in_progress, wont_do"),
        ("tickets", "assign_ticket", {"ticket": "WEB-1", "assignee": "bob"}, "The team is ines, kofi"),
        ("tickets", "delete_ticket", {"ticket": "WEB-1", "confirm": False}, "Set confirm to true"),
        ("tickets", "link_tickets", {"source": "WEB-1", "kind": "blocks", "target": "WEB-1"}, "itself"),
        ("notes", "get_note", {"note": 99}, "There is no note 99"),
        ("notes", "get_note", {"note": "4"}, 'is not of type "integer"'),
        ("notes", "search_notes", {"query": ' " " '}, "The query holds no word"),
        ("notes", "update_note", {"note": 1}, "arguments: "),
        ("notes", "export_notes", {"format": "csv", "notes": [1], "tag": "shop"}, "Give one of them"),
        (
            "calendar",
            "list_events",
            {"from": "2026-03-16T00:00:00Z", "to": "2026-03-16T00:00:00Z"},
            "at most 366 days later",
        ),
        (
            "calendar",
            "list_events",
            {"from": "9999-12-31T23:59:59Z", "to": "9999-12-31T23:59:59Z"},
            "the years 2000 to 2100",
        ),
        ("calendar", "cancel_event", {"event": "evt-6", "occurrence": "2026-03-19T00:00:00Z"}, "list_events"),
        (
            "calendar",
            "respond_to_invitation",
            {"event": "evt-5", "email": "noor@example.com", "response": "accepted"},
            "invite_attendees",
        ),
        (
            "calendar",
            "create_event",
            {
                "calendar": "room-lighthouse",
                "title": "Clash",
                "starts_at": "2026-03-17T10:30:00Z",
                "ends_at": "2026-03-17T11:30:00Z",
                "on_conflict": "refuse",
            },
            "evt-14 (Accessibility workshop), evt-13 (Budget review)",
        ),
        ("files", "read_file", {"path": "nowhere.txt"}, "list_files shows"),
        ("files", "read_file", {"path": "../secret"}, "path: "),
        ("files", "read_file", {"path": "readme.md", "first_line": 900}, "It has 7 lines"),
        ("files", "write_file", {"path": "readme.md", "content": ""}, "overwrite or append"),
        ("files", "write_file", {"path": "readme.md/a.txt", "content": ""}, "is a file and can't hold"),
        ("files", "write_file", {"path": "a.exe", "content": ""}, "not the name of a text file"),
        ("files", "move_file", {"source": "readme.md", "target": "docs/todo.txt"}, "overwrite to true"),
    ],
)
async def test_a_call_that_cannot_be_done_is_a_tool_error_that_says_why(
    connect: Any, name: str, tool: str, arguments: dict[str, Any], reason: str
) -> None:
    with anyio.fail_after(10):
        async with connect(name) as client:
            result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert reason in result.content[0].text
    assert result.structured_content is None


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_unknown_tool_is_a_protocol_error(connect: Any, mode: str) -> None:
    with anyio.fail_after(10):
        async with connect("notes", mode) as client:
            with pytest.raises(MCPError, match="Unknown tool: burn_notes") as caught:
                await client.call_tool("burn_notes", {})
    # -32602 is the code that the protocol gives (revision 2026-07-28, server/tools, "Error handling").
    assert caught.value.error.code == -32602


async def test_a_refused_change_leaves_everything_as_it_was(connect: Any) -> None:
    with anyio.fail_after(10):
        async with connect("notes") as client:
            refused = await client.call_tool("tag_notes", {"notes": [1, 99], "add": ["spring"]})
            tags = await client.call_tool("list_tags")
    assert refused.is_error
    assert "spring" not in {row["tag"] for row in tags.structured_content["tags"]}
