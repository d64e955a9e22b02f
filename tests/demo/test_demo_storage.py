"""Where the demo servers keep their data, how they start, and the configuration that starts them."""

import importlib
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from toolcrib.demo import demo_config

pytestmark = pytest.mark.anyio


async def test_what_was_written_in_a_directory_is_there_after_a_restart(connect: Any, tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with connect("notes", directory=tmp_path / "new") as client:
            await client.call_tool("create_note", {"title": "Kept", "body": "quokka"})
            await client.call_tool("delete_note", {"note": 1})
        async with connect("notes", "legacy", directory=tmp_path / "new") as client:
            found = await client.call_tool("search_notes", {"query": "quokka"})
            listed = await client.call_tool("list_notes")
            again = await client.call_tool("create_note", {"title": "Later", "body": ""})
    assert [note["title"] for note in found.structured_content["notes"]] == ["Kept"]
    assert listed.structured_content["total"] == 14
    # The clock goes on where it stood: one minute for each note.
    assert again.structured_content["updated_at"] == "2026-03-16T09:02:00Z"


async def test_without_a_directory_each_connection_begins_anew(connect: Any) -> None:
    with anyio.fail_after(10):
        async with connect("tickets") as client:
            await client.call_tool("delete_ticket", {"ticket": "WEB-1", "confirm": True})
        async with connect("tickets") as client:
            shown = await client.call_tool("get_ticket", {"ticket": "WEB-1"})
    assert not shown.is_error


async def test_a_finished_index_is_known_to_the_next_process(connect: Any, tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with connect("files", directory=tmp_path) as client:
            await client.call_tool("build_word_index", {"folder": "docs", "pause_ms": 0})
            before = await client.call_tool("get_word_index")
        async with connect("files", directory=tmp_path) as client:
            after = await client.call_tool("get_word_index")
    assert after.structured_content == before.structured_content
    assert after.structured_content["state"] == "complete"


def _other_version(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "notes.db")) as connection:
        connection.execute("PRAGMA user_version = 99")


def _no_database(directory: Path) -> None:
    (directory / "notes.db").write_text("This is no database, only a text that is long enough to be looked at.")


def _a_folder_in_its_place(directory: Path) -> None:
    (directory / "notes.db").mkdir()


@pytest.mark.parametrize("spoil", [_other_version, _no_database, _a_folder_in_its_place])
def test_unusable_data_ends_the_server_with_one_plain_line(
    spoil: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(tmp_path)
    monkeypatch.setenv("TOOLCRIB_DEMO_DIR", str(tmp_path))
    with pytest.raises(SystemExit) as caught:
        importlib.import_module("toolcrib.demo.notes").APP.serve()
    assert str(caught.value).startswith("toolcrib demo server notes: The demo's data ")
    assert "Point TOOLCRIB_DEMO_DIR at an empty directory" in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_data_that_another_process_keeps_locked_is_a_tool_error(
    connect: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcrib.demo.database._PATIENCE", 0)
    with anyio.fail_after(10):
        async with connect("tickets", directory=tmp_path) as client:
            with closing(sqlite3.connect(tmp_path / "tickets.db", isolation_level=None)) as other:
                other.execute("BEGIN EXCLUSIVE")
                refused = await client.call_tool("delete_ticket", {"ticket": "WEB-1", "confirm": True})
                other.execute("ROLLBACK")
            allowed = await client.call_tool("delete_ticket", {"ticket": "WEB-1", "confirm": True})
    assert refused.is_error
    assert "locked" in refused.content[0].text
    assert not allowed.is_error


def test_the_configuration_names_every_server_and_imports_none() -> None:
    code = "import sys, toolcrib.demo as d; print(*d.demo_config()['mcpServers'], 'mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.split() == ["tickets", "notes", "calendar", "files", "False"]


def test_the_configuration_says_where_the_data_lives_only_when_asked(tmp_path: Path) -> None:
    plain = demo_config()["mcpServers"]["notes"]
    placed = demo_config(tmp_path)["mcpServers"]["notes"]
    assert plain["args"][-2:] == ["-m", "toolcrib.demo.notes"]
    assert "env" not in plain
    assert plain["toolcrib"]["description"].startswith("Notebook: ")
    assert placed == {**plain, "env": {"TOOLCRIB_DEMO_DIR": str(tmp_path)}}


@pytest.mark.parametrize(
    ("name", "mode", "tool"),
    [
        ("tickets", "auto", "list_projects"),
        ("notes", "legacy", "list_tags"),
        ("calendar", "auto", "list_calendars"),
        ("files", "legacy", "list_files"),
    ],
)
async def test_a_server_runs_as_a_child_process(
    cancel_indexing: Any, name: str, mode: Any, tool: str, tmp_path: Path
) -> None:
    entry = demo_config(tmp_path)["mcpServers"][name]
    server = StdioServerParameters(command=entry["command"], args=entry["args"], env=entry["env"], cwd=tmp_path)
    with anyio.fail_after(30), tempfile.TemporaryFile("w+") as errors:
        async with Client(stdio_client(server, errlog=errors), mode=mode) as client:
            assert client.protocol_version == ("2026-07-28" if mode == "auto" else "2025-11-25")
            assert client.server_info.name == f"toolcrib-demo-{name}"
            assert "demonstration" in client.instructions
            assert len((await client.list_tools()).tools) >= 10
            assert (await client.call_tool(tool)).structured_content
            if name == "files":
                assert (await cancel_indexing(client))["state"] == "cancelled"
        errors.seek(0)
        assert errors.read() == ""
    assert (tmp_path / f"{name}.db").is_file()
