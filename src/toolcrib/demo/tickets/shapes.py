"""The words and shapes that the ticket tools share."""

from toolcrib.demo.shapes import Schema, integer, many, nullable, record, text

STATUSES = ("backlog", "todo", "in_progress", "in_review", "blocked", "done", "wont_do")
PRIORITIES = ("urgent", "high", "medium", "low")
TYPES = ("bug", "feature", "task", "incident")
LINK_KINDS = ("blocks", "duplicates", "relates_to")

TRANSITIONS: dict[str, tuple[str, ...]] = {
    "backlog": ("todo", "wont_do"),
    "todo": ("in_progress", "backlog", "wont_do"),
    "in_progress": ("in_review", "blocked", "todo"),
    "in_review": ("done", "in_progress"),
    "blocked": ("in_progress", "wont_do"),
    "done": ("todo",),
    "wont_do": ("backlog",),
}
"""From each status, the statuses that the workflow lets follow."""

CLOSED = ("done", "wont_do")

TICKET_ID = text("Ticket id: project key, hyphen, number.", pattern="^[A-Z]{2,6}-[0-9]+$", examples=["WEB-7"])
PROJECT_KEY = text("Key of the project, as list_projects shows it.", pattern="^[A-Z]{2,6}$", examples=["WEB"])
USERNAME = text("Username of a team member, as list_people shows it.", pattern="^[a-z]+$", examples=["noor"])
LABEL = text(pattern="^[a-z0-9][a-z0-9-]{0,31}$")
WHEN = text(format="date-time")
DAY = text(format="date")

SUMMARY_FIELDS: dict[str, Schema] = {
    "id": text(),
    "title": text(),
    "type": text(),
    "status": text(),
    "priority": text(),
    "assignee": nullable(text()),
    "labels": many(text()),
    "due_date": nullable(DAY),
    "updated_at": WHEN,
}

SUMMARY = record(SUMMARY_FIELDS)

TICKET_FIELDS: dict[str, Schema] = {
    **SUMMARY_FIELDS,
    "description": text(),
    "reporter": text(),
    "estimate_hours": nullable(integer()),
    "created_at": WHEN,
    "links": many(record({"kind": text("As seen from this ticket, e.g. blocked_by."), "ticket": text()})),
}

COMMENT = record({"id": integer(), "author": text(), "body": text(), "created_at": WHEN})

CHANGE = record({"at": WHEN, "field": text(), "old": nullable(text()), "new": nullable(text())})
