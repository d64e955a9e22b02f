"""The calendar's arithmetic: recurrence, free time, double bookings."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import anyio
import pytest

from toolcrib.demo.calendar.schedule import Span, WorkingHours, gaps, occurrences

pytestmark = pytest.mark.anyio


def _starts(first: datetime, rule: dict[str, Any], days: int) -> list[str]:
    window = Span(first, first + timedelta(days=days))
    found = occurrences(Span(first, first + timedelta(hours=1)), rule, window)
    return [span.start.strftime("%m-%d") for span in found]


@pytest.mark.parametrize(
    ("first", "rule", "expected"),
    [
        # RFC 5545, 3.8.5.3: "Every other week on Tuesday and Thursday, for 8 occurrences".
        (
            datetime(1997, 9, 2, 9, tzinfo=UTC),
            {"frequency": "weekly", "interval": 2, "count": 8, "weekdays": ["tu", "th"]},
            ["09-02", "09-04", "09-16", "09-18", "09-30", "10-02", "10-14", "10-16"],
        ),
        # RFC 5545, 3.8.5.3: "Every 10 days, 5 occurrences".
        (
            datetime(1997, 9, 2, 9, tzinfo=UTC),
            {"frequency": "daily", "interval": 10, "count": 5},
            ["09-02", "09-12", "09-22", "10-02", "10-12"],
        ),
        # RFC 5545, 3.3.10: a date that doesn't exist, such as 30 February, is ignored.
        (
            datetime(2007, 1, 30, 9, tzinfo=UTC),
            {"frequency": "monthly", "until": "2007-05-30"},
            ["01-30", "03-30", "04-30", "05-30"],
        ),
    ],
)
def test_an_event_recurs_as_rfc_5545_says(first: datetime, rule: dict[str, Any], expected: list[str]) -> None:
    assert _starts(first, rule, 365) == expected


def test_an_occurrence_that_only_reaches_into_the_window_counts() -> None:
    first = Span(datetime(2026, 3, 1, 23, tzinfo=UTC), datetime(2026, 3, 2, 1, tzinfo=UTC))
    window = Span(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 2, 12, tzinfo=UTC))
    assert occurrences(first, {"frequency": "weekly"}, window) == [first]
    assert occurrences(first, None, Span(first.end, first.end + timedelta(hours=1))) == []


def test_gaps_lie_within_the_working_hours_of_another_clock() -> None:
    # 8:00 to 12:00 at UTC+2 is 6:00 to 10:00 UTC; 7 March 2026 is a Saturday.
    hours = WorkingHours(8 * 60, 12 * 60, frozenset(range(5)), timezone(timedelta(hours=2)))

    def at(day: int, hour: float) -> datetime:
        return datetime(2026, 3, day, tzinfo=UTC) + timedelta(hours=hour)

    busy = [Span(at(6, 7), at(6, 8)), Span(at(6, 7.5), at(6, 9)), Span(at(9, 0), at(9, 9.75))]
    window = Span(at(6, 0), at(10, 7))
    assert list(gaps(busy, window, hours, timedelta(minutes=30))) == [
        Span(at(6, 6), at(6, 7)),
        Span(at(6, 9), at(6, 10)),
        Span(at(10, 6), at(10, 7)),
    ]


async def test_free_time_is_free_in_every_calendar_asked_for(connect: Any) -> None:
    arguments = {
        "calendars": ["noor", "ines", "room-lighthouse"],
        "from": "2026-03-17T00:00:00Z",
        "to": "2026-03-19T00:00:00Z",
        "duration_minutes": 60,
    }
    with anyio.fail_after(10):
        async with connect("calendar") as client:
            slots = (await client.call_tool("find_free_slots", arguments)).structured_content["slots"]
    # Tuesday: the workshop ends at 13:00. Wednesday: Noor is at the dentist until 9:30 and talks with Kofi from
    # 10:00 to 10:30, Inês interviews from 13:00 to 14:00.
    assert [(slot["starts_at"], slot["ends_at"]) for slot in slots] == [
        ("2026-03-17T13:00:00Z", "2026-03-17T17:00:00Z"),
        ("2026-03-18T10:30:00Z", "2026-03-18T13:00:00Z"),
        ("2026-03-18T14:00:00Z", "2026-03-18T17:00:00Z"),
    ]


async def test_a_double_booking_is_found_once(connect: Any) -> None:
    week = {"from": "2026-03-16T00:00:00Z", "to": "2026-03-21T00:00:00Z"}
    with anyio.fail_after(10):
        async with connect("calendar") as client:
            found = (await client.call_tool("find_conflicts", week)).structured_content["conflicts"]
    # The room is promised to the workshop from 9 to 13 and to the budget review from 10 to 11.
    assert found == [{"calendar": "room-lighthouse", "overlap_minutes": 60, "first": "evt-14", "second": "evt-13"}]


async def test_a_cancelled_date_leaves_the_others(connect: Any) -> None:
    days = {"from": "2026-03-16T00:00:00Z", "to": "2026-03-19T00:00:00Z", "query": "stand-up"}
    with anyio.fail_after(10):
        async with connect("calendar") as client:
            arguments = {"event": "evt-1", "occurrence": "2026-03-17T10:15:00+01:00"}
            assert not (await client.call_tool("cancel_event", arguments)).is_error
            left = (await client.call_tool("list_events", days)).structured_content["events"]
            await client.call_tool("cancel_event", {"event": "evt-1"})
            none = (await client.call_tool("list_events", days)).structured_content["events"]
            shown = (await client.call_tool("get_event", {"event": "evt-1"})).structured_content
    assert [event["starts_at"] for event in left] == ["2026-03-16T09:15:00Z", "2026-03-18T09:15:00Z"]
    assert none == []
    assert shown["status"] == "cancelled"


async def test_a_moved_event_keeps_its_length(connect: Any) -> None:
    with anyio.fail_after(10):
        async with connect("calendar") as client:
            arguments = {"event": "evt-6", "starts_at": "2026-03-18T10:00:00+01:00"}
            moved = (await client.call_tool("update_event", arguments)).structured_content
    # The dentist takes ninety minutes.
    assert (moved["starts_at"], moved["ends_at"]) == ("2026-03-18T09:00:00Z", "2026-03-18T10:30:00Z")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"frequency": "daily", "weekdays": ["tu"]}, "takes no weekdays"),
        ({"frequency": "weekly", "weekdays": ["mo"]}, "begins on tu"),
        ({"frequency": "daily", "count": 2, "until": "2026-04-01"}, "Both count and until"),
    ],
)
async def test_a_recurrence_that_makes_no_sense_is_refused(connect: Any, rule: dict[str, Any], reason: str) -> None:
    arguments = {
        "calendar": "team",
        "title": "Walk",
        "starts_at": "2026-03-17T15:00:00Z",
        "ends_at": "2026-03-17T16:00:00Z",
        "recurrence": rule,
    }
    with anyio.fail_after(10):
        async with connect("calendar") as client:
            refused = await client.call_tool("create_event", arguments)
    assert refused.is_error
    assert reason in refused.content[0].text


async def test_nobody_is_invited_twice(connect: Any) -> None:
    guests = [{"email": "noor@example.com"}, {"email": "new@example.org"}]
    with anyio.fail_after(10):
        async with connect("calendar") as client:
            arguments = {"event": "evt-1", "attendees": guests}
            first = (await client.call_tool("invite_attendees", arguments)).structured_content
            second = (await client.call_tool("invite_attendees", arguments)).structured_content
    assert first["invited"] == ["new@example.org"]
    assert second["invited"] == []
