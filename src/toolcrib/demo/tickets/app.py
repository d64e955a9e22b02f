"""The ticket tracker as a server: its tools, its resources and its prompts."""

import json

from mcp_types import (
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from toolcrib.demo.app import DemoApp, DemoPrompt, Resources
from toolcrib.demo.faults import DemoError
from toolcrib.demo.tickets.reading import tools as reading
from toolcrib.demo.tickets.store import TicketStore, open_store
from toolcrib.demo.tickets.writing import tools as writing
from toolcrib.demo.toolbox import Toolbox

_PROJECTS = "tickets://projects"
_TICKET = "tickets://ticket/"


def _every(store: TicketStore) -> list[Resource]:
    return [
        Resource(
            uri=_PROJECTS,
            name="projects",
            title="Projects",
            description="All projects with their lead and number of open tickets.",
            mime_type="application/json",
        )
    ]


def _read(store: TicketStore, uri: str) -> TextResourceContents | None:
    if uri == _PROJECTS:
        return _json(uri, {"projects": store.projects()})
    if uri.startswith(_TICKET):
        ticket = uri.removeprefix(_TICKET)
        try:
            return _json(uri, {**store.ticket(ticket), "comments": store.comments(ticket)})
        except DemoError:
            return None
    return None


def _json(uri: str, value: object) -> TextResourceContents:
    return TextResourceContents(
        uri=uri, mime_type="application/json", text=json.dumps(value, ensure_ascii=False, indent=2)
    )


def _triage(store: TicketStore, given: dict[str, str]) -> list[PromptMessage]:
    ticket = store.ticket(given["ticket"])
    team = ", ".join(f"{person['name']} ({person['role']})" for person in store.people())
    text = (
        f"Triage ticket {ticket['id']}: {ticket['title']}\n\n{ticket['description']}\n\n"
        f"Today it is {ticket['type']}, {ticket['priority']}, {ticket['status']}.\n"
        f"The team: {team}.\n\n"
        "Look for duplicates first. Then set type and priority, add fitting labels, and propose an assignee "
        "with a reason. Ask before you change anything."
    )
    return [PromptMessage(role="user", content=TextContent(text=text))]


def _report(store: TicketStore, given: dict[str, str]) -> list[PromptMessage]:
    groups = store.counts("status", given["project"])
    lines = "\n".join(f"- {row['value']}: {row['open'] + row['closed']}" for row in groups)
    text = (
        f"Write the weekly report of project {given['project']} for people who don't use the tracker. "
        f"Tickets by status:\n{lines}\n\nName what was finished, what is late and what is blocked by what."
    )
    return [PromptMessage(role="user", content=TextContent(text=text))]


def _complete(store: TicketStore, name: str, beginning: str) -> list[str]:
    if name == "ticket":
        return store.ids(beginning)
    keys = [row["key"] for row in store.projects()]
    return [key for key in keys if key.startswith(beginning.upper())] if name == "project" else []


APP = DemoApp(
    name="tickets",
    title="Ticket tracker",
    instructions=(
        "A ticket tracker with the projects WEB, APP and OPS. It is a demonstration: its clock stands at "
        "Monday 16 March 2026, 09:00 UTC, and moves by a minute with each change."
    ),
    tools=Toolbox(reading, writing),
    open_store=open_store,
    resources=Resources(
        every=_every,
        templates=(
            ResourceTemplate(
                uri_template=_TICKET + "{ticket}",
                name="ticket",
                title="Ticket",
                description="One ticket in full, with its comments.",
                mime_type="application/json",
            ),
        ),
        read=_read,
    ),
    prompts=(
        DemoPrompt(
            Prompt(
                name="triage",
                title="Triage a ticket",
                description="Judge a new ticket: duplicates, type, priority, labels and who should take it.",
                arguments=[PromptArgument(name="ticket", description="Ticket id (WEB-5).", required=True)],
            ),
            _triage,
        ),
        DemoPrompt(
            Prompt(
                name="weekly_report",
                title="Weekly report",
                description="Report the state of a project to people who don't use the tracker.",
                arguments=[PromptArgument(name="project", description="Project key (WEB).", required=True)],
            ),
            _report,
        ),
    ),
    complete=_complete,
)
