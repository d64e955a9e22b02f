"""The calendar tools that look and change nothing."""

import itertools
from datetime import timedelta, timezone
from typing import Any

from toolcrib.demo.calendar.schedule import WEEKDAYS, Span, WorkingHours, gaps
from toolcrib.demo.calendar.shapes import CALENDAR, EVENT, EVENT_FIELDS, FROM, OCCURRENCE, TO, WHEN
from toolcrib.demo.calendar.store import CalendarStore, window_of
from toolcrib.demo.faults import DemoError
from toolcrib.demo.moments import moment, timestamp
from toolcrib.demo.shapes import arguments, choice, integer, many, record, text
from toolcrib.demo.toolbox import READS, Arguments, Toolbox

tools = Toolbox[CalendarStore]()

_CLOCK = "^([01][0-9]|2[0-3]):[0-5][0-9]$"


@tools.tool(
    "List calendars",
    READS,
    gives=record(
        {"calendars": many(record({"id": text(), "name": text(), "description": text(), "events": integer()}))}
    ),
)
def list_calendars(store: CalendarStore, given: Arguments) -> dict[str, Any]:
    """List the calendars of the team, its members and its meeting room, with their ids."""
    return {"calendars": store.calendars()}


@tools.tool(
    "List events",
    READS,
    takes=arguments(
        {
            "from": FROM,
            "to": TO,
            "calendars": many(CALENDAR, "Calendars to look in; all when left out.", uniqueItems=True),
            "query": text("Words that must occur in title, description or place.", maxLength=200),
        },
        required=["from", "to"],
    ),
    gives=record({"events": many(OCCURRENCE)}),
)
def list_events(store: CalendarStore, given: Arguments) -> dict[str, Any]:
    """List what takes place between two moments, in order of time; also the way to search for events.

    A recurring event appears once for each time that it takes place. Cancelled events are left out.
    """
    window = window_of(given["from"], given["to"])
    return {"events": store.between(given.get("calendars", ()), window, given.get("query", ""))}


@tools.tool(
    "Get event",
    READS,
    takes=arguments({"event": EVENT}, required=["event"]),
    gives=record(EVENT_FIELDS),
)
def get_event(store: CalendarStore, given: Arguments) -> dict[str, Any]:
    """Show one event in full: time, place, recurrence, and who is invited with their answers."""
    return store.event(given["event"])


@tools.tool(
    "Find free time",
    READS,
    takes=arguments(
        {
            "calendars": many(CALENDAR, "Calendars that must all be free.", minItems=1, uniqueItems=True),
            "from": FROM,
            "to": TO,
            "duration_minutes": integer("Length of the meeting.", minimum=5, maximum=1440),
            "working_hours": arguments(
                {
                    "start": text("Clock time.", pattern=_CLOCK, default="09:00"),
                    "end": text("Clock time.", pattern=_CLOCK, default="17:00"),
                    "utc_offset": text("Of that clock.", pattern="^[+-](0[0-9]|1[0-4]):[0-5][0-9]$"),
                    "weekdays": many(choice(WEEKDAYS), "Monday to Friday by default.", uniqueItems=True),
                }
            )
            | {"description": "When a meeting may be; 09:00 to 17:00 UTC on weekdays when left out."},
            "limit": integer("The most gaps to answer.", minimum=1, maximum=100, default=10),
        },
        required=["calendars", "from", "to", "duration_minutes"],
    ),
    gives=record({"slots": many(record({"starts_at": WHEN, "ends_at": WHEN, "minutes": integer()}))}),
)
def find_free_slots(store: CalendarStore, given: Arguments) -> dict[str, Any]:
    """Find gaps in which several people or rooms are all free, to schedule a meeting.

    Answers the earliest gaps within working hours that are at least as long as the meeting, whole, so that it
    can begin anywhere inside one.
    """
    window = window_of(given["from"], given["to"])
    shortest = timedelta(minutes=given["duration_minutes"])
    busy = [_span(event) for event in store.between(given["calendars"], window)]
    free = gaps(busy, window, _working_hours(given.get("working_hours", {})), shortest)
    return {
        "slots": [
            {
                "starts_at": timestamp(span.start),
                "ends_at": timestamp(span.end),
                "minutes": (span.end - span.start) // timedelta(minutes=1),
            }
            for span in itertools.islice(free, int(given.get("limit", 10)))
        ]
    }


@tools.tool(
    "Find conflicts",
    READS,
    takes=arguments(
        {
            "from": FROM,
            "to": TO,
            "calendars": many(CALENDAR, "Calendars to look in; all when left out.", uniqueItems=True),
        },
        required=["from", "to"],
    ),
    gives=record(
        {
            "conflicts": many(
                record({"calendar": text(), "overlap_minutes": integer(), "first": text(), "second": text()})
            )
        }
    ),
)
def find_conflicts(store: CalendarStore, given: Arguments) -> dict[str, Any]:
    """Find double bookings: pairs of events in the same calendar that overlap in time.

    Answers the ids of both events and how many minutes they share.
    """
    events = store.between(given.get("calendars", ()), window_of(given["from"], given["to"]))
    conflicts: list[dict[str, Any]] = []
    for position, first in enumerate(events):
        # Events come in order of time, so no event after the first that begins later can overlap.
        later = itertools.takewhile(
            lambda event, end=first["ends_at"]: event["starts_at"] < end, events[position + 1 :]
        )
        conflicts += [
            {
                "calendar": first["calendar"],
                "overlap_minutes": _shared(_span(first), _span(second)),
                "first": first["event"],
                "second": second["event"],
            }
            for second in later
            if first["calendar"] == second["calendar"]
        ]
    return {"conflicts": conflicts}


def _span(event: dict[str, Any]) -> Span:
    return Span(moment(event["starts_at"]), moment(event["ends_at"]))


def _shared(first: Span, second: Span) -> int:
    """How many minutes two overlapping spans share."""
    return (min(first.end, second.end) - max(first.start, second.start)) // timedelta(minutes=1)


def _working_hours(given: dict[str, Any]) -> WorkingHours:
    start, end = given.get("start", "09:00"), given.get("end", "17:00")
    if start >= end:
        raise DemoError(f"Working hours can't last from {start} to {end}.", hint="The end must come later.")
    offset = given.get("utc_offset", "+00:00")
    minutes = _minutes(offset[1:]) * (-1 if offset[0] == "-" else 1)
    return WorkingHours(
        start=_minutes(start),
        end=_minutes(end),
        weekdays=frozenset(WEEKDAYS.index(day) for day in given.get("weekdays", WEEKDAYS[:5])),
        zone=timezone(timedelta(minutes=minutes)),
    )


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])
