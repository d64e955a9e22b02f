"""The demo servers, connected in memory, and one sample call for each of their tools."""

import importlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

SERVERS = ("tickets", "notes", "calendar", "files")

_WEEK = {"from": "2026-03-16T00:00:00Z", "to": "2026-03-21T00:00:00Z"}

SAMPLES: dict[str, dict[str, dict[str, Any]]] = {
    "tickets": {
        "list_projects": {},
        "list_people": {},
        "search_tickets": {
            "query": "checkout",
            "status": ["in_progress", "done"],
            "updated_since": "2026-01-01T00:00:00+02:00",
            "sort": "priority",
        },
        "get_ticket": {"ticket": "WEB-6", "include_history": True},
        "get_statistics": {"group_by": "label", "project": "WEB"},
        "create_ticket": {"project": "APP", "title": "Widget", "reporter": "kofi", "labels": ["ios"]},
        "update_ticket": {"ticket": "WEB-2", "fields": {"priority": "low", "due_date": None}},
        "transition_ticket": {
            "ticket": "WEB-3",
            "status": "done",
            "comment": {"author": "yuki", "body": "Checked with two invoices."},
        },
        "assign_ticket": {"ticket": "WEB-5", "assignee": "tomas"},
        "add_comment": {"ticket": "OPS-2", "author": "noor", "body": "Thursday suits."},
        "add_labels": {"ticket": "OPS-2", "labels": ["urgent", "keys"]},
        "remove_labels": {"ticket": "WEB-1", "labels": ["payments"]},
        "link_tickets": {"source": "OPS-2", "kind": "blocks", "target": "WEB-1"},
        "delete_ticket": {"ticket": "WEB-8", "confirm": True},
    },
    "notes": {
        "list_notes": {"tag": "shop", "sort": "title"},
        "search_notes": {"query": "keyboard focus", "tags": ["shop"]},
        "get_note": {"note": 4},
        "list_tags": {},
        "get_linked_notes": {"note": 1},
        "export_notes": {"format": "markdown", "notes": [9, 8]},
        "create_note": {"title": "New", "body": "Text.\n", "tags": ["shop"], "pinned": True},
        "update_note": {"note": 9, "body": "Nothing left to read.\n"},
        "append_to_note": {"note": 12, "text": "4. More sleep.", "heading": "Late addition"},
        "delete_note": {"note": 8},
        "tag_notes": {"notes": [1, 2], "add": ["spring"], "remove": ["meeting"]},
        "link_notes": {"source": 12, "target": 1},
    },
    "calendar": {
        "list_calendars": {},
        "list_events": {**_WEEK, "calendars": ["team", "noor"], "query": "lighthouse"},
        "get_event": {"event": "evt-1"},
        "find_free_slots": {**_WEEK, "calendars": ["noor", "ines"], "duration_minutes": 45},
        "find_conflicts": _WEEK,
        "create_event": {
            "calendar": "team",
            "title": "Spring walk",
            "starts_at": "2026-03-20T15:00:00+01:00",
            "ends_at": "2026-03-20T17:00:00+01:00",
            "attendees": [{"email": "noor@example.com", "name": "Noor"}, {"email": "guest@example.org"}],
            "recurrence": {"frequency": "weekly", "weekdays": ["fr"], "count": 3},
            "on_conflict": "refuse",
        },
        "update_event": {"event": "evt-6", "starts_at": "2026-03-18T10:00:00Z"},
        "cancel_event": {"event": "evt-1", "occurrence": "2026-03-17T09:15:00Z"},
        "invite_attendees": {"event": "evt-5", "attendees": [{"email": "ines@example.com", "optional": True}]},
        "respond_to_invitation": {"event": "evt-1", "email": "noor@example.com", "response": "declined"},
    },
    "files": {
        "list_files": {"folder": "logs", "pattern": "*-w0*"},
        "read_file": {"path": "docs/style-guide.md"},
        "search_files": {"text": "FOG", "limit": 3},
        "get_checksums": {"paths": ["docs/todo.txt", "readme.md"], "algorithm": "md5"},
        "link_file": {"path": "logs/harbour-2026-q1.log"},
        "render_chart": {"title": "Two", "bars": [{"label": "a", "value": 1}, {"label": "b", "value": 2.5}]},
        "get_word_index": {"top": 3},
        "write_file": {"path": "docs/new.md", "content": "# New\n"},
        "move_file": {"source": "docs/todo.txt", "target": "docs/old/todo.txt"},
        "delete_file": {"path": "data/visitors-2026-02.csv"},
        "build_word_index": {"folder": "docs", "pause_ms": 0},
    },
}

Connect = Callable[..., Client]


@pytest.fixture
def connect() -> Connect:
    """A client for a demo server: `async with connect("notes", "legacy", directory) as client`."""

    def open_client(name: str, mode: Any = "auto", directory: Path | None = None) -> Client:
        app = importlib.import_module(f"toolcrib.demo.{name}").APP
        return Client(app.server(directory), mode=mode)

    return open_client


@pytest.fixture
def samples() -> dict[str, dict[str, dict[str, Any]]]:
    return SAMPLES


@pytest.fixture
def cancel_indexing() -> Callable[[Client], Awaitable[dict[str, Any]]]:
    """Start the indexing job, cancel it once it has begun, and answer the state of the index after its end."""

    async def cancel(client: Client) -> dict[str, Any]:
        begun = anyio.Event()

        async def note(progress: float, total: float | None, message: str | None) -> None:
            begun.set()

        async def index() -> None:
            # A pause of a minute after each file: only cancellation ends it within the test's time.
            await client.call_tool("build_word_index", {"pause_ms": 60_000}, progress_callback=note)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(index)
            await begun.wait()
            second: Any = (await client.call_tool("build_word_index", {})).content[0]
            assert "An indexing job is running" in second.text
            tasks.cancel_scope.cancel()
        while True:
            after = (await client.call_tool("get_word_index")).structured_content
            if after["state"] != "running":
                return after

    return cancel
