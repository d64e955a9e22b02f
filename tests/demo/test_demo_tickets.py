"""The ticket tracker keeps its rules: search, workflow, history."""

from typing import Any

import anyio
import pytest

pytestmark = pytest.mark.anyio


async def _found(client: Any, **arguments: Any) -> list[str]:
    result = await client.call_tool("search_tickets", arguments)
    assert not result.is_error, result.content
    return [ticket["id"] for ticket in result.structured_content["tickets"]]


async def test_filters_must_all_hold(connect: Any) -> None:
    with anyio.fail_after(10):
        async with connect("tickets") as client:
            # Read off the seed: what is urgent, what Inês has, what was due before the demo's day, 16 March.
            assert await _found(client, priority=["urgent"], project="APP") == ["APP-4"]
            assert await _found(client, assignee="ines", status=["blocked", "todo"]) == ["WEB-2", "WEB-6"]
            assert await _found(client, due_before="2026-03-16", status=["todo"], sort="due") == ["WEB-5", "APP-4"]
            assert await _found(client, labels=["crash", "login"]) == ["APP-4"]
            assert await _found(client, query="INDEX two-letter") == ["WEB-5"]
            assert await _found(client, query="100%") == []
            assert await _found(client, assignee="none", type=["task"]) == ["WEB-4", "OPS-4", "WEB-8"]


async def test_pages_follow_one_another_without_gap_or_overlap(connect: Any) -> None:
    seen: list[str] = []
    offset: int | None = 0
    with anyio.fail_after(10):
        async with connect("tickets") as client:
            while offset is not None:
                arguments = {"sort": "created", "limit": 7, "offset": offset}
                page = (await client.call_tool("search_tickets", arguments)).structured_content
                seen += [ticket["id"] for ticket in page["tickets"]]
                offset = page["next_offset"]
    assert page["total"] == 20
    assert len(seen) == len(set(seen)) == 20


async def test_a_ticket_goes_its_way_and_its_history_tells(connect: Any) -> None:
    with anyio.fail_after(10):
        async with connect("tickets") as client:
            arguments = {"project": "WEB", "title": "Print the basket", "reporter": "yuki", "labels": ["print"]}
            created = (await client.call_tool("create_ticket", arguments)).structured_content
            # The clock stands at 09:00 and moves by a minute with each change.
            assert created == {"id": "WEB-10", "status": "backlog", "created_at": "2026-03-16T09:01:00Z"}
            await client.call_tool("transition_ticket", {"ticket": "WEB-10", "status": "todo"})
            await client.call_tool("assign_ticket", {"ticket": "WEB-10", "assignee": "ines"})
            await client.call_tool("add_labels", {"ticket": "WEB-10", "labels": ["css"]})
            arguments = {"ticket": "WEB-10", "include_history": True}
            shown = (await client.call_tool("get_ticket", arguments)).structured_content
    assert [(row["field"], row["old"], row["new"]) for row in shown["history"]] == [
        ("status", "backlog", "todo"),
        ("assignee", None, "ines"),
        ("labels", "print", "css print"),
    ]
    assert shown["updated_at"] == "2026-03-16T09:04:00Z"


async def test_the_number_of_a_deleted_ticket_is_not_given_out_again(connect: Any) -> None:
    arguments = {"project": "OPS", "title": "Once more", "reporter": "noor"}
    with anyio.fail_after(10):
        async with connect("tickets") as client:
            first = (await client.call_tool("create_ticket", arguments)).structured_content["id"]
            await client.call_tool("delete_ticket", {"ticket": first, "confirm": True})
            second = (await client.call_tool("create_ticket", arguments)).structured_content["id"]
    assert (first, second) == ("OPS-6", "OPS-7")


async def test_a_move_with_a_remark_by_a_stranger_moves_nothing(connect: Any) -> None:
    arguments = {"ticket": "WEB-2", "status": "in_progress", "comment": {"author": "bob", "body": "Mine."}}
    with anyio.fail_after(10):
        async with connect("tickets") as client:
            refused = await client.call_tool("transition_ticket", arguments)
            shown = await client.call_tool("get_ticket", {"ticket": "WEB-2"})
    assert refused.is_error
    assert shown.structured_content["status"] == "todo"


async def test_a_link_shows_on_both_tickets(connect: Any) -> None:
    with anyio.fail_after(10):
        async with connect("tickets") as client:
            blocked = await client.call_tool("get_ticket", {"ticket": "WEB-6"})
    assert blocked.structured_content["links"] == [{"kind": "blocked_by", "ticket": "OPS-3"}]


async def test_statistics_count_open_overdue_and_closed_tickets(connect: Any) -> None:
    with anyio.fail_after(10):
        async with connect("tickets") as client:
            result = await client.call_tool("get_statistics", {"group_by": "assignee", "project": "APP"})
    # By hand from the seed: Kofi has APP-1, 2 and 4 (5 + 20 + 4 hours, APP-4 overdue) and finished APP-5;
    # nobody has APP-3 and 6 (12 + 1 hours).
    assert result.structured_content["groups"] == [
        {"value": "kofi", "open": 3, "overdue": 1, "closed": 1, "open_hours": 29},
        {"value": "none", "open": 2, "overdue": 0, "closed": 0, "open_hours": 13},
    ]
