"""The note tools that change something."""

from typing import Any

from toolcrib.demo.notes.shapes import NOTE_NUMBER, TAG
from toolcrib.demo.notes.store import NoteStore
from toolcrib.demo.shapes import arguments, flag, integer, many, record, text
from toolcrib.demo.toolbox import ADDS, ADDS_ONCE, OVERWRITES, Arguments, Toolbox

tools = Toolbox[NoteStore]()

_TITLE = text("One line.", minLength=1, maxLength=200)
_BODY = text("Text in Markdown.", maxLength=100_000)
_SAVED = record(
    {
        "id": integer(),
        "title": text(),
        "characters": integer("Length of the text."),
        "updated_at": text(format="date-time"),
    }
)


def _saved(note: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": note["id"],
        "title": note["title"],
        "characters": len(note["body"]),
        "updated_at": note["updated_at"],
    }


@tools.tool(
    "Create note",
    ADDS,
    takes=arguments(
        {
            "title": _TITLE,
            "body": _BODY,
            "tags": many(TAG, "Lower-case words, hyphens allowed.", maxItems=20, uniqueItems=True),
            "pinned": flag("Whether it stays on top.", default=False),
        },
        required=["title", "body"],
    ),
    gives=_SAVED,
)
def create_note(store: NoteStore, given: Arguments) -> dict[str, Any]:
    """Write a new note into the notebook and answer its number.

    Titles need not be unique. To add to a note that exists, use append_to_note.
    """
    return _saved(store.create(given["title"], given["body"], given.get("tags", ()), given.get("pinned", False)))


@tools.tool(
    "Update note",
    OVERWRITES,
    takes=arguments(
        {
            "note": NOTE_NUMBER,
            "title": _TITLE,
            "body": {**_BODY, "description": "Replaces the whole text."},
            "pinned": flag("Whether it stays on top."),
        },
        required=["note"],
    )
    | {"minProperties": 2},
    gives=_SAVED,
)
def update_note(store: NoteStore, given: Arguments) -> dict[str, Any]:
    """Replace the title or text of a note, or pin and unpin it. The previous text is not kept."""
    fields = {name: value for name, value in given.items() if name != "note"}
    return _saved(store.update(given["note"], fields))


@tools.tool(
    "Append to note",
    ADDS,
    takes=arguments(
        {
            "note": NOTE_NUMBER,
            "text": text("Markdown to add as a paragraph of its own.", minLength=1, maxLength=20_000),
            "heading": text("A heading to put above it.", minLength=1, maxLength=200),
        },
        required=["note", "text"],
    ),
    gives=_SAVED,
)
def append_to_note(store: NoteStore, given: Arguments) -> dict[str, Any]:
    """Add text to the end of a note, under a heading if wanted; nothing that is there is changed.

    Suits running logs and meeting minutes.
    """
    body = store.note(given["note"])["body"].rstrip("\n")
    heading = f"## {given['heading']}\n\n" if "heading" in given else ""
    return _saved(store.update(given["note"], {"body": f"{body}\n\n{heading}{given['text']}\n".lstrip("\n")}))


@tools.tool(
    "Delete note",
    OVERWRITES,
    takes=arguments({"note": NOTE_NUMBER}, required=["note"]),
)
def delete_note(store: NoteStore, given: Arguments) -> str:
    """Delete a note for good, with its tags and the links to and from it. This can't be undone."""
    return f'Note {given["note"]}, "{store.delete(given["note"])}", is deleted.'


@tools.tool(
    "Tag notes",
    OVERWRITES,
    takes=arguments(
        {
            "notes": many(NOTE_NUMBER, minItems=1, maxItems=100, uniqueItems=True),
            "add": many(TAG, "Tags to put on every one of them.", uniqueItems=True),
            "remove": many(TAG, "Tags to take off; done after adding.", uniqueItems=True),
        },
        required=["notes"],
    )
    | {"minProperties": 2},
    gives=record({"notes": many(record({"id": integer(), "tags": many(text())}))}),
)
def tag_notes(store: NoteStore, given: Arguments) -> dict[str, Any]:
    """Add tags to several notes and take others off, in one step.

    Either all notes are changed or, when one of them doesn't exist, none. Answers the tags that each has now.
    """
    return {"notes": store.tag(given["notes"], given.get("add", ()), given.get("remove", ()))}


@tools.tool(
    "Link notes",
    ADDS_ONCE,
    takes=arguments({"source": NOTE_NUMBER, "target": NOTE_NUMBER}, required=["source", "target"]),
)
def link_notes(store: NoteStore, given: Arguments) -> str:
    """Make one note point to another. The link shows as a backlink on the target."""
    store.link(given["source"], given["target"])
    return f"Note {given['source']} points to note {given['target']}."
