"""The ticket tools that look and change nothing."""

from typing import Any

from toolcrib.demo.moments import moment, timestamp
from toolcrib.demo.shapes import arguments, choice, flag, integer, many, nullable, record, text
from toolcrib.demo.tickets.shapes import (
    CHANGE,
    COMMENT,
    LABEL,
    PRIORITIES,
    PROJECT_KEY,
    STATUSES,
    SUMMARY,
    TICKET_FIELDS,
    TICKET_ID,
    TYPES,
)
from toolcrib.demo.tickets.store import TicketStore
from toolcrib.demo.toolbox import READS, Arguments, Toolbox

tools = Toolbox[TicketStore]()


@tools.tool(
    "List projects",
    READS,
    gives=record(
        {
            "projects": many(
                record(
                    {
                        "key": text(),
                        "name": text(),
                        "description": text(),
                        "lead": text("Username."),
                        "open_tickets": integer(),
                    }
                )
            )
        }
    ),
)
def list_projects(store: TicketStore, given: Arguments) -> dict[str, Any]:
    """List all projects of the tracker with their key, lead and number of open tickets.

    The key is what the other tools take as `project`.
    """
    return {"projects": store.projects()}


@tools.tool(
    "List people",
    READS,
    gives=record(
        {"people": many(record({"username": text(), "name": text(), "role": text(), "open_tickets": integer()}))}
    ),
)
def list_people(store: TicketStore, given: Arguments) -> dict[str, Any]:
    """List the team members to whom tickets can be assigned, with their role and current workload.

    Use it to turn a person's name into the username that other tools need.
    """
    return {"people": store.people()}


@tools.tool(
    "Search tickets",
    READS,
    takes=arguments(
        {
            "query": text("Words that must all occur in title, description, labels or comments.", maxLength=200),
            "project": PROJECT_KEY,
            "status": many(choice(STATUSES), "Only tickets in these statuses.", uniqueItems=True),
            "priority": many(choice(PRIORITIES), "Only tickets of these priorities.", uniqueItems=True),
            "type": many(choice(TYPES), "Only tickets of these types.", uniqueItems=True),
            "assignee": text("Username, or 'none' for tickets that nobody has.", pattern="^[a-z]+$"),
            "labels": many(LABEL, "Only tickets that carry all of these labels."),
            "due_before": text("Only tickets due before this day.", format="date"),
            "updated_since": text("Only tickets changed at or after this moment.", format="date-time"),
            "sort": choice(
                ("updated", "created", "due", "priority"),
                "Newest first for updated and created, earliest for due, most urgent for priority.",
                default="updated",
            ),
            "limit": integer("Size of a page.", minimum=1, maximum=50, default=20),
            "offset": integer(
                "Tickets to skip; next_offset of the page before.", minimum=0, maximum=100_000, default=0
            ),
        }
    ),
    gives=record(
        {
            "total": integer("Tickets that fit, over all pages."),
            "tickets": many(SUMMARY),
            "next_offset": nullable(integer("Where the next page begins; null on the last.")),
        }
    ),
)
def search_tickets(store: TicketStore, given: Arguments) -> dict[str, Any]:
    """Find tickets by words, project, status, priority, type, assignee, labels or dates.

    All filters are optional and must all hold; without any, every ticket is found. Answers summaries a page
    at a time; get_ticket shows one in full. Use this before creating a ticket, to see whether it exists.
    """
    names = {"status": "statuses", "priority": "priorities", "type": "types"}
    wanted = {names.get(name, name): value for name, value in given.items()}
    if "updated_since" in wanted:
        wanted["updated_since"] = timestamp(moment(wanted["updated_since"]))
    limit, offset = given.get("limit", 20), given.get("offset", 0)
    total, tickets = store.search(wanted, given.get("sort", "updated"), limit, offset)
    following = offset + len(tickets)
    return {
        "total": total,
        "tickets": tickets,
        "next_offset": following if tickets and following < total else None,
    }


@tools.tool(
    "Get ticket",
    READS,
    takes=arguments(
        {
            "ticket": TICKET_ID,
            "include_comments": flag("Whether to add the discussion.", default=True),
            "include_history": flag("Whether to add the record of changed fields.", default=False),
        },
        required=["ticket"],
    ),
    gives=arguments(
        {**TICKET_FIELDS, "comments": many(COMMENT), "history": many(CHANGE)}, required=list(TICKET_FIELDS)
    ),
)
def get_ticket(store: TicketStore, given: Arguments) -> dict[str, Any]:
    """Show one ticket in full: description, people, dates, labels, links to other tickets and comments.

    The history of its fields is added on request.
    """
    found = store.ticket(given["ticket"])
    if given.get("include_comments", True):
        found["comments"] = store.comments(given["ticket"])
    if given.get("include_history", False):
        found["history"] = store.changes(given["ticket"])
    return found


@tools.tool(
    "Ticket statistics",
    READS,
    takes=arguments(
        {
            "group_by": choice(("status", "priority", "type", "assignee", "project", "label"), "What to count by."),
            "project": PROJECT_KEY,
        },
        required=["group_by"],
    ),
    gives=record(
        {
            "group_by": text(),
            "groups": many(
                record(
                    {
                        "value": text("'none' stands for tickets without a value."),
                        "open": integer(),
                        "overdue": integer("Open tickets whose due date has passed."),
                        "closed": integer("Tickets that are done or won't be done."),
                        "open_hours": integer("Sum of the estimates of open tickets, in hours."),
                    }
                )
            ),
        }
    ),
)
def get_statistics(store: TicketStore, given: Arguments) -> dict[str, Any]:
    """Count open, overdue and closed tickets and sum up the estimated hours that are left.

    Groups by status, priority, type, assignee, project or label, over one project or all of them. Good for
    workload, backlog and sprint reports without fetching any ticket.
    """
    return {
        "group_by": given["group_by"],
        "groups": store.counts(given["group_by"], given.get("project")),
    }
