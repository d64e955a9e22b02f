"""What the demo servers list: names, schemas, and hints that tell the truth."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs
import pytest

pytestmark = pytest.mark.anyio

# From the task that each server has: how many tools it lists.
TOOLS = {"tickets": 14, "notes": 12, "calendar": 10, "files": 11}


@pytest.mark.parametrize(("mode", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
@pytest.mark.parametrize("name", TOOLS)
async def test_every_server_lists_its_tools_in_both_eras(connect: Any, name: str, mode: str, revision: str) -> None:
    with anyio.fail_after(10):
        async with connect(name, mode) as client:
            listed = await client.list_tools()
            assert client.protocol_version == revision
            assert len({tool.name for tool in listed.tools}) == TOOLS[name]
            assert listed.next_cursor is None


@pytest.mark.parametrize("name", TOOLS)
async def test_every_definition_is_complete_and_its_schemas_are_schemas(connect: Any, name: str) -> None:
    with anyio.fail_after(10):
        async with connect(name) as client:
            tools = (await client.list_tools()).tools
    for tool in tools:
        assert tool.title
        assert 40 <= len(tool.description) <= 500
        assert tool.description.endswith(".")
        jsonschema_rs.meta.validate(tool.input_schema)
        assert tool.input_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        if tool.output_schema is not None:
            jsonschema_rs.meta.validate(tool.output_schema)
            assert tool.output_schema["type"] == "object"


def _data(directory: Path) -> dict[str, list[Any]]:
    """All rows of all tables of the server's database, without the inner tables of the full-text index."""
    [file] = directory.glob("*.db")
    with closing(sqlite3.connect(file)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: connection.execute(f'SELECT * FROM "{name}"').fetchall()
            for (name,) in names
            if not name.startswith("words")
        }


@pytest.mark.parametrize("name", TOOLS)
async def test_the_hints_say_what_a_call_does_to_the_data(
    connect: Any, samples: Any, tmp_path: Path, name: str
) -> None:
    async with connect(name) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    for tool, arguments in samples[name].items():
        directory, hints = tmp_path / tool, tools[tool].annotations
        with anyio.fail_after(10):
            async with connect(name, directory=directory) as client:
                before = _data(directory)
                await client.call_tool(tool, arguments)
                once = _data(directory)
                await client.call_tool(tool, arguments)
                twice = _data(directory)
        assert (once == before) is hints.read_only_hint, tool
        if hints.idempotent_hint:
            assert twice == once, tool
        if not hints.destructive_hint:
            lost = [table for table in before if not set(before[table]) <= set(once[table])]
            assert set(lost) <= KEPT_OTHERWISE.get(tool, BOOKKEEPING), (tool, lost)


# Counters, which no one reads; and for tools that change a row, the table of that row: the old status, assignee and
# labels stay in the ticket's history, and a note that was added to holds what it held.
BOOKKEEPING = {"clock", "numbers", "sqlite_sequence"}
KEPT_OTHERWISE = {
    "transition_ticket": BOOKKEEPING | {"tickets"},
    "assign_ticket": BOOKKEEPING | {"tickets"},
    "add_comment": BOOKKEEPING | {"tickets"},
    "add_labels": BOOKKEEPING | {"tickets"},
    "append_to_note": BOOKKEEPING | {"notes"},
}


async def test_only_invitations_reach_beyond_the_demo(connect: Any) -> None:
    reaching: set[str] = set()
    for name in TOOLS:
        async with connect(name) as client:
            tools = (await client.list_tools()).tools
        reaching |= {tool.name for tool in tools if tool.annotations.open_world_hint}
    assert reaching == {"create_event", "invite_attendees"}
