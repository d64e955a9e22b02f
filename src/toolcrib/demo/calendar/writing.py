"""The calendar tools that change something."""

from typing import Any

from toolcrib.demo.calendar.schedule import Span
from toolcrib.demo.calendar.shapes import (
    ATTENDEES,
    CALENDAR,
    ENDS,
    EVENT,
    RECURRENCE,
    RESPONSES,
    STARTS,
    TITLE,
)
from toolcrib.demo.calendar.store import CalendarStore
from toolcrib.demo.faults import DemoError
from toolcrib.demo.moments import moment
from toolcrib.demo.shapes import arguments, choice, many, nullable, record, text
from toolcrib.demo.toolbox import ADDS, OVERWRITES, Arguments, Toolbox

tools = Toolbox[CalendarStore]()

_INVITES = ADDS.model_copy(update={"open_world_hint": True})
_DESCRIPTION = text("Agenda or other details.", maxLength=5_000)
_SAVED = record(
    {
        "event": text(),
        "starts_at": text(format="date-time"),
        "ends_at": text(format="date-time"),
        "attendees": many(text(), "Addresses of all who are invited."),
    }
)
_LOCATION = text("Room, address or link.", maxLength=200)


def _saved(event: dict[str, Any]) -> dict[str, Any]:
    return {
        "event": event["id"],
        "starts_at": event["starts_at"],
        "ends_at": event["ends_at"],
        "attendees": [attendee["email"] for attendee in event["attendees"]],
    }


@tools.tool(
    "Create event",
    _INVITES,
    takes=arguments(
        {
            "calendar": CALENDAR,
            "title": TITLE,
            "starts_at": STARTS,
            "ends_at": ENDS,
            "description": _DESCRIPTION,
            "location": _LOCATION,
            "attendees": ATTENDEES,
            "recurrence": RECURRENCE,
            "on_conflict": choice(
                ("allow", "refuse"),
                "What to do when the calendar has another event at the first time.",
                default="allow",
            ),
        },
        required=["calendar", "title", "starts_at", "ends_at"],
    ),
    gives=_SAVED,
)
def create_event(store: CalendarStore, given: Arguments) -> dict[str, Any]:
    """Put an event into a calendar: a meeting, an appointment or a recurring date.

    Attendees get an invitation by e-mail (the demo keeps it in an outbox). find_free_slots finds a time at
    which everyone is free. Calling this twice makes two events.
    """
    fields = {name: given.get(name, "") for name in ("title", "description", "location")}
    fields |= {name: given[name] for name in ("calendar", "starts_at", "ends_at")}
    if given.get("on_conflict") == "refuse":
        wanted = Span(moment(given["starts_at"]), moment(given["ends_at"]))
        others = store.between([given["calendar"]], wanted)
        if others:
            raise DemoError(
                f"{given['calendar']} is taken then by "
                + ", ".join(f"{event['event']} ({event['title']})" for event in others)
                + ".",
                hint="find_free_slots finds another time.",
            )
    fields["recurrence"] = given.get("recurrence")
    return _saved(store.create(fields, given.get("attendees", ())))


@tools.tool(
    "Update event",
    OVERWRITES,
    takes=arguments(
        {
            "event": EVENT,
            "title": TITLE,
            "starts_at": STARTS,
            "ends_at": ENDS,
            "description": _DESCRIPTION,
            "location": _LOCATION,
            "recurrence": nullable(RECURRENCE),
        },
        required=["event"],
    )
    | {"minProperties": 2},
    gives=_SAVED,
)
def update_event(store: CalendarStore, given: Arguments) -> dict[str, Any]:
    """Move an event to another time or change its title, details, place or recurrence.

    Fields that are left out stay as they are; with a new beginning alone, the length stays. A recurring event
    changes as a whole; null as recurrence makes it take place once.
    """
    fields = {name: value for name, value in given.items() if name != "event"}
    return _saved(store.update(given["event"], fields))


@tools.tool(
    "Cancel event",
    OVERWRITES,
    takes=arguments(
        {
            "event": EVENT,
            "occurrence": text(
                "For one date of a recurring event: when it would begin, as list_events shows it.",
                format="date-time",
            ),
        },
        required=["event"],
    ),
)
def cancel_event(store: CalendarStore, given: Arguments) -> str:
    """Cancel an event, or one date of a recurring event while the others stay.

    It disappears from the calendar; get_event still shows it.
    """
    occurrence = given.get("occurrence")
    store.cancel(given["event"], occurrence)
    return f"{given['event']} is cancelled{f' at {occurrence}' if occurrence else ''}."


@tools.tool(
    "Invite attendees",
    _INVITES.model_copy(update={"idempotent_hint": True}),
    takes=arguments({"event": EVENT, "attendees": ATTENDEES}, required=["event", "attendees"]),
    gives=record({"event": text(), "invited": many(text(), "Addresses that were not invited before.")}),
)
def invite_attendees(store: CalendarStore, given: Arguments) -> dict[str, Any]:
    """Invite people, also from outside the team, to an event that exists.

    Each gets an invitation by e-mail (the demo keeps it in an outbox); who is invited already gets no second
    one.
    """
    return {"event": given["event"], "invited": store.invite(given["event"], given["attendees"])}


@tools.tool(
    "Respond to invitation",
    OVERWRITES,
    takes=arguments(
        {
            "event": EVENT,
            "email": text("Address that was invited.", format="email"),
            "response": choice(RESPONSES, "The answer."),
            "comment": text("A word to the organizer.", maxLength=500),
        },
        required=["event", "email", "response"],
    ),
    gives=record({"event": text(), "accepted": many(text()), "waiting": many(text(), "No answer yet.")}),
)
def respond_to_invitation(store: CalendarStore, given: Arguments) -> dict[str, Any]:
    """Accept or decline an invitation, or accept it tentatively, in the name of an attendee (RSVP).

    Replaces an earlier answer. Shows who has accepted and who hasn't answered yet.
    """
    found = store.respond(given["event"], given["email"], given["response"], given.get("comment", ""))
    answers = [(attendee["response"], attendee["email"]) for attendee in found["attendees"]]
    return {
        "event": given["event"],
        "accepted": [email for response, email in answers if response == "accepted"],
        "waiting": [email for response, email in answers if response == "no answer"],
    }
