"""The words and shapes that the calendar tools share."""

from toolcrib.demo.calendar.schedule import WEEKDAYS
from toolcrib.demo.shapes import Schema, arguments, choice, flag, integer, many, nullable, record, text

RESPONSES = ("accepted", "declined", "tentative")

CALENDAR = text("Id of the calendar, as list_calendars shows it.", pattern="^[a-z-]+$", examples=["team"])
EVENT = text("Id of the event.", pattern="^evt-[0-9]{1,9}$", examples=["evt-3"])
FROM = text("Beginning of the stretch of time to look at.", format="date-time")
TO = text("End of it; at most 366 days later.", format="date-time")
WHEN = text(format="date-time")
TITLE = text("What it is about.", minLength=1, maxLength=200)
STARTS = text("When it begins, with offset from UTC.", format="date-time", examples=["2026-03-17T14:00:00+01:00"])
ENDS = text("When it ends, at most 14 days later.", format="date-time")

ATTENDEES = many(
    arguments(
        {
            "email": text("Address to invite.", format="email"),
            "name": text("Name to show.", maxLength=100),
            "optional": flag("Whether the event can do without them.", default=False),
        },
        required=["email"],
    ),
    "Whom to invite.",
    minItems=1,
    maxItems=50,
)

RECURRENCE = arguments(
    {
        "frequency": choice(("daily", "weekly", "monthly"), "Monthly keeps the day of the month."),
        "interval": integer("Every how many days, weeks or months.", minimum=1, maximum=52, default=1),
        "weekdays": many(choice(WEEKDAYS), "For weekly: the days.", minItems=1, uniqueItems=True),
        "count": integer("How often in all.", minimum=1, maximum=500),
        "until": text("Last day on which it may take place.", format="date"),
    },
    required=["frequency"],
) | {"description": "How it repeats; without count and until it has no end."}

OCCURRENCE = record(
    {
        "event": text(),
        "calendar": text(),
        "title": text(),
        "starts_at": WHEN,
        "ends_at": WHEN,
        "location": text(),
        "recurring": flag(),
    }
)

EVENT_FIELDS: dict[str, Schema] = {
    "id": text(),
    "calendar": text(),
    "title": text(),
    "description": text(),
    "location": text(),
    "starts_at": WHEN,
    "ends_at": WHEN,
    "status": choice(("confirmed", "cancelled")),
    "recurrence": nullable({"type": "object"}),
    "attendees": many(
        record({"email": text(), "name": text(), "optional": flag(), "response": text(), "comment": text()})
    ),
}
