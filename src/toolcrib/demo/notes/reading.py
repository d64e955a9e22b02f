"""The note tools that look and change nothing."""

import csv
import io
import json
from typing import Any

from mcp_types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

from toolcrib.demo.faults import DemoError
from toolcrib.demo.notes.shapes import NOTE_NUMBER, TAG, as_markdown
from toolcrib.demo.notes.store import NoteStore
from toolcrib.demo.shapes import arguments, choice, flag, integer, many, record, text
from toolcrib.demo.toolbox import READS, Arguments, Toolbox

tools = Toolbox[NoteStore]()

_SHORT = record(
    {
        "id": integer(),
        "title": text(),
        "pinned": flag(),
        "tags": many(text()),
        "updated_at": text(format="date-time"),
    }
)


@tools.tool(
    "List notes",
    READS,
    takes=arguments(
        {
            "tag": {**TAG, "description": "Only notes with this tag."},
            "pinned": flag("Only pinned notes, or only those that aren't."),
            "sort": choice(("updated", "created", "title"), "Newest first, or by title.", default="updated"),
            "limit": integer("The most notes to answer.", minimum=1, maximum=200, default=50),
        }
    ),
    gives=record({"total": integer("Notes that fit, shown or not."), "notes": many(_SHORT)}),
)
def list_notes(store: NoteStore, given: Arguments) -> dict[str, Any]:
    """List the notes of the notebook with title, tags and date, without their text.

    To look for words in the text, use search_notes.
    """
    total, notes = store.notes(
        given.get("tag"), given.get("pinned"), given.get("sort", "updated"), given.get("limit", 50)
    )
    return {"total": total, "notes": notes}


@tools.tool(
    "Search notes",
    READS,
    takes=arguments(
        {
            "query": text('Words or "quoted phrases"; endings and accents don\'t matter.', minLength=1, maxLength=300),
            "match": choice(("all", "any"), "Whether all words must occur, or any.", default="all"),
            "tags": many(TAG, "Only notes that carry all of these tags.", uniqueItems=True),
            "limit": integer("The most notes to answer.", minimum=1, maximum=50, default=10),
        },
        required=["query"],
    ),
    gives=record(
        {
            "notes": many(
                record(
                    {
                        "id": integer(),
                        "title": text(),
                        "updated_at": text(format="date-time"),
                        "excerpt": text("Where the words stand, marked **so**."),
                        "tags": many(text()),
                    }
                )
            )
        }
    ),
)
def search_notes(store: NoteStore, given: Arguments) -> dict[str, Any]:
    """Search titles and text of all notes with full-text search and answer the best matches with excerpts.

    Words are stemmed, so "payment" finds "payments" too; titles weigh more than text.
    """
    return {
        "notes": store.search(given["query"], given.get("match", "all"), given.get("tags", ()), given.get("limit", 10))
    }


@tools.tool(
    "Get note",
    READS,
    takes=arguments({"note": NOTE_NUMBER}, required=["note"]),
    gives=record(
        {
            "id": integer(),
            "title": text(),
            "body": text("Markdown."),
            "pinned": flag(),
            "tags": many(text()),
            "created_at": text(format="date-time"),
            "updated_at": text(format="date-time"),
        }
    ),
)
def get_note(store: NoteStore, given: Arguments) -> dict[str, Any]:
    """Read one note in full: its Markdown text, tags and dates."""
    return store.note(given["note"])


@tools.tool(
    "List tags",
    READS,
    gives=record({"tags": many(record({"tag": text(), "notes": integer("How many notes carry it.")}))}),
)
def list_tags(store: NoteStore, given: Arguments) -> dict[str, Any]:
    """List all tags of the notebook and how many notes carry each, most used first."""
    return {"tags": store.tags()}


@tools.tool(
    "Get linked notes",
    READS,
    takes=arguments({"note": NOTE_NUMBER}, required=["note"]),
    gives=record(
        {
            "links": many(_SHORT, "Notes that this one points to."),
            "backlinks": many(_SHORT, "Notes that point to this one."),
        }
    ),
)
def get_linked_notes(store: NoteStore, given: Arguments) -> dict[str, Any]:
    """Show which notes a note points to and which point to it (backlinks)."""
    links, backlinks = store.linked(given["note"])
    return {"links": links, "backlinks": backlinks}


@tools.tool(
    "Export notes",
    READS,
    takes=arguments(
        {
            "format": choice(("markdown", "json", "csv"), "csv leaves out the text of the notes."),
            "notes": many(NOTE_NUMBER, "The notes, in this order.", minItems=1, maxItems=100, uniqueItems=True),
            "tag": {**TAG, "description": "All notes with this tag; instead of notes."},
        },
        required=["format"],
    ),
)
def export_notes(store: NoteStore, given: Arguments) -> CallToolResult:
    """Export notes as one document: Markdown to read, JSON to process, or a CSV table of contents.

    Exports the notes listed, or those with a tag, or the whole notebook when neither is given. The document
    comes as an embedded resource.
    """
    if "notes" in given and "tag" in given:
        raise DemoError("Both notes and tag were given.", hint="Give one of them, or neither for all notes.")
    numbers = given.get("notes")
    if numbers is None:
        numbers = [row["id"] for row in store.notes(given.get("tag"), None, "created", 100_000)[1]]
    notes = [store.note(number) for number in numbers]
    kind, write = _FORMATS[given["format"]]
    contents = TextResourceContents(uri=f"notes://export/{given['format']}", mime_type=kind, text=write(notes))
    return CallToolResult(
        content=[TextContent(text=f"{len(notes)} notes exported."), EmbeddedResource(resource=contents)]
    )


def _markdown(notes: list[dict[str, Any]]) -> str:
    return "\n---\n\n".join(as_markdown(note) for note in notes)


def _json(notes: list[dict[str, Any]]) -> str:
    return json.dumps(notes, ensure_ascii=False, indent=2)


def _csv(notes: list[dict[str, Any]]) -> str:
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["id", "title", "tags", "updated_at"])
    writer.writerows([note["id"], note["title"], " ".join(note["tags"]), note["updated_at"]] for note in notes)
    return table.getvalue()


_FORMATS = {
    "markdown": ("text/markdown", _markdown),
    "json": ("application/json", _json),
    "csv": ("text/csv", _csv),
}
