"""What the calendars hold when they are new: the weeks around the demo's day."""

import json
from datetime import timedelta
from typing import Any

from toolcrib.demo.database import Database
from toolcrib.demo.moments import DEMO_NOW, timestamp

_CALENDARS = (
    ("team", "Team", "Meetings and dates of the whole team."),
    ("noor", "Noor Haddad", "Personal calendar."),
    ("tomas", "Tomás Vidal", "Personal calendar."),
    ("ines", "Inês Carvalho", "Personal calendar."),
    ("kofi", "Kofi Mensah", "Personal calendar."),
    ("room-lighthouse", "Meeting room Lighthouse", "Eight seats, screen, second floor."),
)

_DAILY: dict[str, Any] = {"frequency": "weekly", "weekdays": ["mo", "tu", "we", "th", "fr"]}
_WEEKLY: dict[str, Any] = {"frequency": "weekly"}
_BIWEEKLY: dict[str, Any] = {"frequency": "weekly", "interval": 2}

# calendar, title, days from today, starts at hour, minutes, recurrence, location, invited people
_EVENTS: tuple[tuple[str, str, int, float, int, dict[str, Any] | None, str, str], ...] = (
    ("team", "Stand-up", -14, 9.25, 15, _DAILY, "Lighthouse", "noor tomas ines kofi"),
    (
        "team",
        "Sprint planning",
        -14,
        13,
        90,
        _BIWEEKLY,
        "Lighthouse",
        "noor tomas ines kofi",
    ),
    ("team", "Retrospective", -3, 14, 60, _BIWEEKLY, "Lighthouse", "noor tomas ines"),
    ("noor", "Talk with Kofi", -12, 10, 30, _WEEKLY, "", "kofi"),
    ("noor", "Budget review", 1, 10, 60, None, "Lighthouse", ""),
    ("noor", "Dentist", 2, 8, 90, None, "Harbour Street 4", ""),
    ("tomas", "Key rotation with the payment provider", 3, 15, 120, None, "", "noor"),
    ("tomas", "On-call handover", -7, 10, 30, _WEEKLY, "", "kofi"),
    ("ines", "Accessibility workshop", 1, 9, 240, None, "Lighthouse", "kofi"),
    ("ines", "Customer interview: garden centre", 2, 13, 60, None, "by phone", "noor"),
    ("kofi", "App release", 3, 11, 60, None, "", "ines"),
    ("kofi", "Parental leave meeting", 4, 9, 45, None, "", "noor"),
    ("room-lighthouse", "Budget review", 1, 10, 60, None, "", ""),
    ("room-lighthouse", "Accessibility workshop", 1, 9, 240, None, "", ""),
    ("room-lighthouse", "Quarter review", 15, 13, 180, {"frequency": "monthly", "interval": 3}, "", ""),
)


def fill(database: Database) -> None:
    """Put calendars, events and invitations into new tables."""
    database.insert("calendars", "id, name, description", _CALENDARS)
    names = {key: name for key, name, _ in _CALENDARS}
    midnight = DEMO_NOW.replace(hour=0)
    for number, (calendar, title, day, hour, minutes, rule, location, invited) in enumerate(_EVENTS, 1):
        start = midnight + timedelta(days=day, hours=hour)
        database.insert(
            "events",
            "number, calendar, title, description, location, starts_at, ends_at, status, recurrence",
            [(
                number, calendar, title, "", location,
                timestamp(start), timestamp(start + timedelta(minutes=minutes)),
                "confirmed", json.dumps(rule) if rule else None,
            )],
        )  # fmt: skip
        database.insert(
            "attendees",
            "event, email, name, optional, response, comment",
            [
                (number, f"{who}@example.com", names[who], False, "accepted" if place else "no answer", "")
                for place, who in enumerate(invited.split())
            ],
        )
