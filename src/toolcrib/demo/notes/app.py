"""The notebook as a server: its tools, its resources and its prompt."""

from mcp_types import (
    EmbeddedResource,
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
from toolcrib.demo.notes.reading import tools as reading
from toolcrib.demo.notes.shapes import as_markdown
from toolcrib.demo.notes.store import NoteStore, open_store
from toolcrib.demo.notes.writing import tools as writing
from toolcrib.demo.toolbox import Toolbox

_NOTE = "notes://note/"


def _every(store: NoteStore) -> list[Resource]:
    return [
        Resource(
            uri=f"{_NOTE}{note['id']}",
            name=f"note-{note['id']}",
            title=note["title"],
            mime_type="text/markdown",
            size=len(as_markdown(note).encode()),
        )
        for note in map(store.note, store.numbers())
    ]


def _read(store: NoteStore, uri: str) -> TextResourceContents | None:
    number = uri.removeprefix(_NOTE)
    # `isdecimal` alone would let digits of other scripts through.
    if not uri.startswith(_NOTE) or not (number.isascii() and number.isdecimal()) or len(number) > 15:
        return None
    try:
        return _contents(store, int(number))
    except DemoError:
        return None


def _contents(store: NoteStore, number: int) -> TextResourceContents:
    return TextResourceContents(uri=f"{_NOTE}{number}", mime_type="text/markdown", text=as_markdown(store.note(number)))


def _summarize(store: NoteStore, given: dict[str, str]) -> list[PromptMessage]:
    _, notes = store.notes(given["tag"], None, "updated", 20)
    if not notes:
        raise DemoError(f"No note has the tag {given['tag']}.")
    readers = given.get("readers", "the team")
    task = (
        f"Summarize what these {len(notes)} notes say about {given['tag']}, for {readers}. Start with what "
        "was decided, then what is open, and name the notes that you rely on by their number."
    )
    return [
        PromptMessage(role="user", content=TextContent(text=task)),
        *(
            PromptMessage(role="user", content=EmbeddedResource(resource=_contents(store, note["id"])))
            for note in notes
        ),
    ]


def _complete(store: NoteStore, name: str, beginning: str) -> list[str]:
    known = {
        "tag": [row["tag"] for row in store.tags()],
        "note": [str(number) for number in store.numbers()],
        "readers": ["customers", "management", "the team"],
    }
    return [value for value in known.get(name, ()) if value.startswith(beginning)]


APP = DemoApp(
    name="notes",
    title="Notebook",
    instructions=(
        "A notebook of Markdown notes. It is a demonstration: its clock stands at Monday 16 March 2026, "
        "09:00 UTC, and moves by a minute with each change."
    ),
    tools=Toolbox(reading, writing),
    open_store=open_store,
    resources=Resources(
        every=_every,
        templates=(
            ResourceTemplate(
                uri_template=_NOTE + "{note}",
                name="note",
                title="Note",
                description="One note as a Markdown document.",
                mime_type="text/markdown",
            ),
        ),
        read=_read,
    ),
    prompts=(
        DemoPrompt(
            Prompt(
                name="summarize_topic",
                title="Summarize a topic",
                description="Summarize all notes that carry a tag.",
                arguments=[
                    PromptArgument(name="tag", description="The tag.", required=True),
                    PromptArgument(name="readers", description="For whom; the team if left out."),
                ],
            ),
            _summarize,
        ),
    ),
    complete=_complete,
)
