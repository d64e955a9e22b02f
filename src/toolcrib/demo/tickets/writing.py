"""The ticket tools that change something."""

from typing import Any

from toolcrib.demo.faults import DemoError
from toolcrib.demo.shapes import arguments, choice, flag, integer, many, nullable, record, text
from toolcrib.demo.tickets.shapes import (
    COMMENT,
    LABEL,
    LINK_KINDS,
    PRIORITIES,
    PROJECT_KEY,
    STATUSES,
    SUMMARY,
    TICKET_ID,
    TRANSITIONS,
    TYPES,
    USERNAME,
)
from toolcrib.demo.tickets.store import TicketStore
from toolcrib.demo.toolbox import ADDS, ADDS_ONCE, OVERWRITES, Arguments, Toolbox

tools = Toolbox[TicketStore]()

_TITLE = text("What is wrong or wanted, in one line.", minLength=3, maxLength=120)
_ESTIMATE = integer("Expected work in hours.", minimum=1, maximum=400)
_LABELS = many(LABEL, "Lower-case words, hyphens allowed.", minItems=1, maxItems=10, uniqueItems=True)
_LABELLED = record({"ticket": text(), "labels": many(text(), "All labels that the ticket has now.")})


@tools.tool(
    "Create ticket",
    ADDS,
    takes=arguments(
        {
            "project": PROJECT_KEY,
            "title": _TITLE,
            "description": text("Details, in Markdown: steps, expectation, observation.", maxLength=10_000),
            "type": choice(TYPES, "Kind of work.", default="task"),
            "priority": choice(PRIORITIES, "How soon it is needed.", default="medium"),
            "reporter": USERNAME,
            "assignee": {**USERNAME, "description": "Who shall do it; leave out to assign it later."},
            "labels": {**_LABELS, "minItems": 0},
            "due_date": text("Day by which it must be finished.", format="date"),
            "estimate_hours": _ESTIMATE,
        },
        required=["project", "title", "reporter"],
    ),
    gives=record({"id": text(), "status": text(), "created_at": text(format="date-time")}),
)
def create_ticket(store: TicketStore, given: Arguments) -> dict[str, Any]:
    """Open a new ticket (bug report, feature request, task or incident) in a project.

    It starts in the backlog; transition_ticket moves it on. Answers the new id. Calling this twice makes two
    tickets.
    """
    fields = {
        "project": given["project"],
        "title": given["title"],
        "description": given.get("description", ""),
        "type": given.get("type", "task"),
        "status": "backlog",
        "priority": given.get("priority", "medium"),
        "assignee": given.get("assignee"),
        "reporter": given["reporter"],
        "due_date": given.get("due_date"),
        "estimate_hours": given.get("estimate_hours"),
    }
    created = store.ticket(store.create(fields, given.get("labels", ())))
    return {name: created[name] for name in ("id", "status", "created_at")}


@tools.tool(
    "Update ticket",
    OVERWRITES,
    takes=arguments(
        {
            "ticket": TICKET_ID,
            "fields": arguments(
                {
                    "title": _TITLE,
                    "description": text("Replaces the whole description.", maxLength=10_000),
                    "type": choice(TYPES),
                    "priority": choice(PRIORITIES),
                    "due_date": nullable(text("null removes it.", format="date")),
                    "estimate_hours": nullable(_ESTIMATE),
                }
            )
            | {"description": "Only the fields to change.", "minProperties": 1},
        },
        required=["ticket", "fields"],
    ),
    gives=record({"changed": many(text(), "Names of the fields that have a new value."), "ticket": SUMMARY}),
)
def update_ticket(store: TicketStore, given: Arguments) -> dict[str, Any]:
    """Change title, description, type, priority, due date or estimate of a ticket.

    Fields that are left out stay as they are; old values are kept in the ticket's history. Status, assignee
    and labels have tools of their own.
    """
    changed = store.update(given["ticket"], given["fields"])
    return {"changed": changed, "ticket": store.summary(given["ticket"])}


@tools.tool(
    "Change status",
    ADDS,
    takes=arguments(
        {
            "ticket": TICKET_ID,
            "status": choice(STATUSES, "The status to move to."),
            "comment": arguments({"author": USERNAME, "body": text(minLength=1)}, required=["author", "body"])
            | {"description": "A remark to leave with the move."},
        },
        required=["ticket", "status"],
    ),
    gives=record(
        {
            "ticket": text(),
            "from": text(),
            "to": text(),
            "next": many(text(), "The statuses that may follow now."),
        }
    ),
)
def transition_ticket(store: TicketStore, given: Arguments) -> dict[str, Any]:
    """Move a ticket to another status along the workflow, for instance to start, block, finish or reopen it.

    backlog, todo, in_progress, in_review and done follow one another; a step that the workflow doesn't know
    is refused with the list of those that it does.
    """
    ticket, status = given["ticket"], given["status"]
    before = store.transition(ticket, status, given.get("comment"))
    return {"ticket": ticket, "from": before, "to": status, "next": list(TRANSITIONS[status])}


@tools.tool(
    "Assign ticket",
    ADDS_ONCE,
    takes=arguments(
        {
            "ticket": TICKET_ID,
            "assignee": nullable({**USERNAME, "description": "The new assignee's username; null for nobody."}),
        },
        required=["ticket", "assignee"],
    ),
    gives=record({"ticket": text(), "assignee": nullable(text()), "previous": nullable(text())}),
)
def assign_ticket(store: TicketStore, given: Arguments) -> dict[str, Any]:
    """Give a ticket to a team member, or take it from whoever has it.

    Answers the previous assignee too, so that the change can be undone.
    """
    previous = store.ticket(given["ticket"])["assignee"]
    store.update(given["ticket"], {"assignee": given["assignee"]})
    return {"ticket": given["ticket"], "assignee": given["assignee"], "previous": previous}


@tools.tool(
    "Add comment",
    ADDS,
    takes=arguments(
        {
            "ticket": TICKET_ID,
            "author": USERNAME,
            "body": text("The comment, in Markdown.", minLength=1, maxLength=5_000),
        },
        required=["ticket", "author", "body"],
    ),
    gives=COMMENT,
)
def add_comment(store: TicketStore, given: Arguments) -> dict[str, Any]:
    """Add a comment to the discussion of a ticket, in the name of a team member.

    Comments can't be edited or removed afterwards.
    """
    return store.comment(given["ticket"], given["author"], given["body"])


@tools.tool(
    "Add labels",
    ADDS_ONCE,
    takes=arguments({"ticket": TICKET_ID, "labels": _LABELS}, required=["ticket", "labels"]),
    gives=_LABELLED,
)
def add_labels(store: TicketStore, given: Arguments) -> dict[str, Any]:
    """Put labels (tags) on a ticket. Labels that it has already are kept; unknown ones are created."""
    return {"ticket": given["ticket"], "labels": store.label(given["ticket"], add=given["labels"])}


@tools.tool(
    "Remove labels",
    OVERWRITES,
    takes=arguments({"ticket": TICKET_ID, "labels": _LABELS}, required=["ticket", "labels"]),
    gives=_LABELLED,
)
def remove_labels(store: TicketStore, given: Arguments) -> dict[str, Any]:
    """Take labels (tags) off a ticket. Labels that it doesn't have are ignored."""
    return {"ticket": given["ticket"], "labels": store.label(given["ticket"], remove=given["labels"])}


@tools.tool(
    "Link tickets",
    ADDS_ONCE,
    takes=arguments(
        {
            "source": TICKET_ID,
            "kind": choice(LINK_KINDS, "How source relates to target: source blocks target, and so on."),
            "target": TICKET_ID,
        },
        required=["source", "kind", "target"],
    ),
)
def link_tickets(store: TicketStore, given: Arguments) -> str:
    """Record that one ticket blocks, duplicates or relates to another.

    The link shows on both tickets, on the target in its inverse form (blocked_by, duplicated_by).
    """
    store.link(given["source"], given["kind"], given["target"])
    return f"{given['source']} {given['kind'].replace('_', ' ')} {given['target']}."


@tools.tool(
    "Delete ticket",
    OVERWRITES,
    takes=arguments(
        {
            "ticket": TICKET_ID,
            "confirm": flag("Must be true: deletion can't be undone."),
        },
        required=["ticket", "confirm"],
    ),
)
def delete_ticket(store: TicketStore, given: Arguments) -> str:
    """Delete a ticket for good, with its comments, links and history.

    To keep a record of work that won't be done, move the ticket to wont_do instead.
    """
    if not given["confirm"]:
        raise DemoError(f"{given['ticket']} was not deleted.", hint="Set confirm to true to delete it.")
    store.delete(given["ticket"])
    return f"{given['ticket']} is deleted."
