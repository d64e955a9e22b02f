"""The calendars, kept in SQLite."""

import json
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from toolcrib.demo.calendar.schedule import WEEKDAYS, Span, occurrences
from toolcrib.demo.calendar.seed import fill
from toolcrib.demo.database import Database, Row
from toolcrib.demo.faults import DemoError
from toolcrib.demo.moments import moment, timestamp

_SCHEMA = (
    "CREATE TABLE calendars (id TEXT PRIMARY KEY, name TEXT, description TEXT)",
    "CREATE TABLE events (number INTEGER PRIMARY KEY AUTOINCREMENT, calendar TEXT, title TEXT, "
    "description TEXT, location TEXT, starts_at TEXT, ends_at TEXT, status TEXT, recurrence TEXT)",
    "CREATE TABLE attendees (event INTEGER, email TEXT COLLATE NOCASE, name TEXT, optional INTEGER, "
    "response TEXT, comment TEXT, PRIMARY KEY (event, email))",
    "CREATE TABLE skipped (event INTEGER, starts_at TEXT, PRIMARY KEY (event, starts_at))",
    "CREATE TABLE outbox (sent_at TEXT, email TEXT, subject TEXT)",
)

_LONGEST_EVENT = timedelta(days=14)
_LONGEST_WINDOW = timedelta(days=366)


@contextmanager
def open_store(directory: Path | None) -> "Generator[CalendarStore]":
    """The calendars in a directory, or new ones in memory."""
    with closing(Database(directory and directory / "calendar.db", _SCHEMA, fill)) as database:
        yield CalendarStore(database)


class CalendarStore:
    """Calendars, events, and who is invited."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def calendars(self) -> list[Row]:
        """Every calendar with the number of its events."""
        return self._db.rows(
            "SELECT id, name, description, (SELECT count(*) FROM events "
            "WHERE calendar = calendars.id AND status = 'confirmed') AS events FROM calendars ORDER BY id"
        )

    def event(self, event: str) -> Row:
        """One event with its attendees."""
        row = self._db.first("SELECT * FROM events WHERE number = ?", _number(event))
        if row is None:
            raise DemoError(f"There is no event {event}.", hint="list_events shows the events of some days.")
        attendees = self._db.rows(
            "SELECT email, name, optional, response, comment FROM attendees WHERE event = ? ORDER BY rowid",
            row["number"],
        )
        return {
            "id": event,
            **{name: value for name, value in row.items() if name != "number"},
            "recurrence": json.loads(row["recurrence"]) if row["recurrence"] else None,
            "attendees": [{**attendee, "optional": bool(attendee["optional"])} for attendee in attendees],
        }

    def between(self, calendars: Sequence[str], window: Span, query: str = "") -> list[Row]:
        """What takes place in some calendars (none named: all of them), in order of time.

        Args:
            calendars: Their ids.
            window: The stretch of time.
            query: Words that must all occur in title, description or location.
        """
        self._check_calendars(calendars)
        words = query.casefold().split()
        found: list[tuple[Span, Row]] = []
        for row in self._db.rows("SELECT * FROM events WHERE status = 'confirmed' ORDER BY number"):
            text = f"{row['title']} {row['description']} {row['location']}".casefold()
            if (not calendars or row["calendar"] in calendars) and all(word in text for word in words):
                found += [(span, row) for span in self._spans(row, window)]
        found.sort(key=lambda pair: (pair[0], pair[1]["number"]))
        return [_occurrence(span, row) for span, row in found]

    def create(self, fields: dict[str, Any], attendees: Sequence[dict[str, Any]]) -> Row:
        """A new event; its attendees are invited."""
        self._check_calendars([fields["calendar"]])
        values = {**fields, "status": "confirmed", **_times(fields)}
        with self._db.writing():
            self._db.insert("events", ", ".join(values), [tuple(values.values())])
            number: int = self._db.one("SELECT last_insert_rowid() AS n")["n"]
            self._invite(number, fields["title"], attendees)
        return self.event(f"evt-{number}")

    def update(self, event: str, fields: dict[str, Any]) -> Row:
        """Set fields of an event; given a new beginning only, it keeps its length."""
        before = self.event(event)
        after = {**before, **fields}
        if "starts_at" in fields and "ends_at" not in fields:
            length = moment(before["ends_at"]) - moment(before["starts_at"])
            after["ends_at"] = timestamp(moment(fields["starts_at"]) + length)
        changed = {**fields, **_times(after)}
        with self._db.writing():
            assignments = ", ".join(f"{name} = ?" for name in changed)
            self._db.run(f"UPDATE events SET {assignments} WHERE number = ?", *changed.values(), _number(event))
        return self.event(event)

    def cancel(self, event: str, occurrence: str | None) -> None:
        """Cancel an event, or one occurrence of a recurring event by its start."""
        found = self.event(event)
        with self._db.writing():
            if occurrence is None:
                self._db.run("UPDATE events SET status = 'cancelled' WHERE number = ?", _number(event))
                return
            start = moment(occurrence)
            first = Span(moment(found["starts_at"]), moment(found["ends_at"]))
            exact = Span(start, start + timedelta(seconds=1))
            if start not in [span.start for span in occurrences(first, found["recurrence"], exact)]:
                raise DemoError(f"{event} doesn't take place at {occurrence}.", hint="list_events shows when it does.")
            self._db.run("INSERT OR IGNORE INTO skipped VALUES (?, ?)", _number(event), timestamp(start))

    def invite(self, event: str, attendees: Sequence[dict[str, Any]]) -> list[str]:
        """Invite people who are not invited yet; answers their addresses."""
        found = self.event(event)
        with self._db.writing():
            return self._invite(_number(event), found["title"], attendees)

    def respond(self, event: str, email: str, response: str, comment: str) -> Row:
        """Record what an invited person answers."""
        self.event(event)
        with self._db.writing():
            touched = self._db.run(
                "UPDATE attendees SET response = ?, comment = ? WHERE event = ? AND email = ?",
                response, comment, _number(event), email,
            )  # fmt: skip
            if not touched:
                raise DemoError(f"{email} is not invited to {event}.", hint="invite_attendees invites people.")
        return self.event(event)

    def _invite(self, number: int, title: str, attendees: Sequence[dict[str, Any]]) -> list[str]:
        invited: list[str] = []
        for attendee in attendees:
            values = (number, attendee["email"], attendee.get("name", ""), attendee.get("optional", False))
            added = self._db.run("INSERT OR IGNORE INTO attendees VALUES (?, ?, ?, ?, 'no answer', '')", *values)
            if added:
                invited.append(attendee["email"])
                now = self._db.tick()
                self._db.run("INSERT INTO outbox VALUES (?, ?, ?)", now, attendee["email"], f"Invitation: {title}")
        return invited

    def _spans(self, row: Row, window: Span) -> list[Span]:
        first = Span(moment(row["starts_at"]), moment(row["ends_at"]))
        rule = json.loads(row["recurrence"]) if row["recurrence"] else None
        rows = self._db.rows("SELECT starts_at FROM skipped WHERE event = ?", row["number"])
        skipped = {each["starts_at"] for each in rows}
        return [span for span in occurrences(first, rule, window) if timestamp(span.start) not in skipped]

    def _check_calendars(self, calendars: Sequence[str]) -> None:
        known = [row["id"] for row in self.calendars()]
        for calendar in calendars:
            if calendar not in known:
                raise DemoError(f"There is no calendar {calendar}.", hint=f"The calendars are {', '.join(known)}.")


def window_of(start: str, end: str) -> Span:
    """The stretch of time between two moments as given in arguments.

    Raises:
        DemoError: It ends before it begins, or is longer than 366 days.
    """
    span = Span(moment(start), moment(end))
    if not timedelta() < span.end - span.start <= _LONGEST_WINDOW:
        raise DemoError(
            f"From {start} to {end} is no stretch of time to look at.",
            hint="The end must come after the beginning, at most 366 days later.",
        )
    return span


def _occurrence(span: Span, row: Row) -> Row:
    return {
        "event": f"evt-{row['number']}",
        "calendar": row["calendar"],
        "title": row["title"],
        "starts_at": timestamp(span.start),
        "ends_at": timestamp(span.end),
        "location": row["location"],
        "recurring": row["recurrence"] is not None,
    }


def _times(event: dict[str, Any]) -> dict[str, str | None]:
    """Beginning, end and recurrence of an event as they are stored, once they make sense together."""
    start, end, rule = event["starts_at"], event["ends_at"], event["recurrence"]
    span = Span(moment(start), moment(end))
    if not timedelta() < span.end - span.start <= _LONGEST_EVENT:
        raise DemoError(
            f"An event can't last from {start} to {end}.",
            hint="The end must come after the beginning, at most 14 days later.",
        )
    if rule is not None:
        _check_rule(rule, WEEKDAYS[span.start.weekday()])
    return {
        "starts_at": timestamp(span.start),
        "ends_at": timestamp(span.end),
        "recurrence": None if rule is None else json.dumps(rule),
    }


def _check_rule(rule: dict[str, Any], weekday: str) -> None:
    if "count" in rule and "until" in rule:
        raise DemoError("Both count and until were given.", hint="Give one of them.")
    if "weekdays" in rule and rule["frequency"] != "weekly":
        raise DemoError(f"A {rule['frequency']} event takes no weekdays.", hint="Use frequency weekly.")
    if weekday not in rule.get("weekdays", [weekday]):
        raise DemoError(
            f"The event begins on {weekday}, which is not among its weekdays (in UTC).",
            hint=f"Add {weekday} to the weekdays or move the beginning.",
        )


def _number(event: str) -> int:
    return int(event.removeprefix("evt-"))
