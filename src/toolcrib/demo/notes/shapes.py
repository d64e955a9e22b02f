"""The shapes that the note tools share, and a note as Markdown."""

from typing import Any

from toolcrib.demo.shapes import integer, text

NOTE_NUMBER = integer("Number of the note.", minimum=1, maximum=2**53 - 1)
TAG = text(pattern="^[a-z0-9][a-z0-9-]{0,31}$", examples=["shop"])


def as_markdown(note: dict[str, Any]) -> str:
    """A whole note as a Markdown document with a front matter."""
    return (
        f"---\nid: {note['id']}\ntags: [{', '.join(note['tags'])}]\nupdated: {note['updated_at']}\n---\n"
        f"# {note['title']}\n\n{note['body']}"
    )
