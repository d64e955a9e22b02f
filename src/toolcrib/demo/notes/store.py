"""The notes, kept in SQLite with its full-text index."""

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from toolcrib.demo.database import Database, Row
from toolcrib.demo.faults import DemoError
from toolcrib.demo.notes.seed import fill

_SCHEMA = (
    # AUTOINCREMENT: the number of a deleted note is never given out again.
    "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT, body TEXT, pinned INTEGER, "
    "created_at TEXT, updated_at TEXT)",
    "CREATE TABLE tags (note INTEGER, tag TEXT, PRIMARY KEY (note, tag))",
    "CREATE TABLE links (source INTEGER, target INTEGER, PRIMARY KEY (source, target))",
    "CREATE VIRTUAL TABLE words USING fts5 (title, body, tokenize = 'porter unicode61 remove_diacritics 2')",
)

_ORDERS = {"updated": "updated_at DESC, id", "created": "created_at DESC, id", "title": "title, id"}


@contextmanager
def open_store(directory: Path | None) -> "Generator[NoteStore]":
    """The notes in a directory, or new ones in memory."""
    with closing(Database(directory and directory / "notes.db", _SCHEMA, fill)) as database:
        yield NoteStore(database)


class NoteStore:
    """Notes with tags and links."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def note(self, note: int) -> Row:
        """One note in full."""
        row = self._db.first("SELECT * FROM notes WHERE id = ?", note)
        if row is None:
            raise DemoError(f"There is no note {note}.", hint="search_notes and list_notes show the numbers.")
        return {**row, "pinned": bool(row["pinned"]), "tags": self._tags(note)}

    def notes(self, tag: str | None, pinned: bool | None, order: str, limit: int) -> tuple[int, list[Row]]:
        """How many notes there are, with a tag or pinned if wanted, and the first of them in short."""
        where, values = "1", list[object]()
        if tag is not None:
            where, values = where + " AND id IN (SELECT note FROM tags WHERE tag = ?)", [tag]
        if pinned is not None:
            where, values = where + " AND pinned = ?", [*values, pinned]
        total = self._db.one(f"SELECT count(*) AS n FROM notes WHERE {where}", *values)["n"]
        rows = self._db.rows(
            "SELECT id, title, pinned, updated_at FROM notes "
            f"WHERE {where} ORDER BY {_ORDERS[order]} LIMIT ?",
            *values, limit,
        )  # fmt: skip
        return total, [self._short(row) for row in rows]

    def search(self, words: str, mode: Literal["all", "any"], tags: Sequence[str], limit: int) -> list[Row]:
        """The notes that hold the words, best first, each with the place where they stand.

        Args:
            words: Words or "quoted phrases".
            mode: Whether all of them must occur, or any.
            tags: Tags that a note must carry, all of them.
            limit: The most notes to answer.
        """
        tagged = " AND id IN (SELECT note FROM tags WHERE tag = ?)" * len(tags)
        rows = self._db.rows(
            "SELECT id, notes.title, updated_at, snippet(words, 1, '**', '**', '…', 16) AS excerpt "
            f"FROM words JOIN notes ON id = words.rowid WHERE words MATCH ?{tagged} "
            # A word in the title counts as much as five in the body.
            "ORDER BY bm25(words, 5.0, 1.0), id LIMIT ?",
            _fts_query(words, mode), *tags, limit,
        )  # fmt: skip
        return [{**row, "tags": self._tags(row["id"])} for row in rows]

    def create(self, title: str, body: str, tags: Sequence[str], pinned: bool) -> Row:
        """A new note."""
        with self._db.writing():
            now = self._db.tick()
            note: int = self._db.one(
                "INSERT INTO notes (title, body, pinned, created_at, updated_at) VALUES (?, ?, ?, ?, ?) "
                "RETURNING id",
                title, body, pinned, now, now,
            )["id"]  # fmt: skip
            self._db.insert("words", "rowid, title, body", [(note, title, body)])
            self._db.insert("tags", "note, tag", [(note, tag) for tag in dict.fromkeys(tags)])
        return self.note(note)

    def update(self, note: int, fields: dict[str, Any]) -> Row:
        """Set title, body or pinned; answers the note."""
        before = self.note(note)
        merged = {**before, **fields}
        if merged == before:
            return before
        with self._db.writing():
            self._db.run(
                "UPDATE notes SET title = ?, body = ?, pinned = ?, updated_at = ? WHERE id = ?",
                merged["title"], merged["body"], merged["pinned"], self._db.tick(), note,
            )  # fmt: skip
            self._db.run("UPDATE words SET title = ?, body = ? WHERE rowid = ?", merged["title"], merged["body"], note)
        return self.note(note)

    def delete(self, note: int) -> str:
        """Remove a note; answers its title."""
        title: str = self.note(note)["title"]
        with self._db.writing():
            self._db.run("DELETE FROM notes WHERE id = ?", note)
            self._db.run("DELETE FROM words WHERE rowid = ?", note)
            self._db.run("DELETE FROM tags WHERE note = ?", note)
            self._db.run("DELETE FROM links WHERE ? IN (source, target)", note)
        return title

    def tag(self, notes: Sequence[int], add: Sequence[str], remove: Sequence[str]) -> list[Row]:
        """Add and remove tags on all of the notes or on none; answers the tags that they have then."""
        for note in notes:
            self.note(note)
        with self._db.writing():
            for note in notes:
                for tag in add:
                    self._db.run("INSERT OR IGNORE INTO tags VALUES (?, ?)", note, tag)
                for tag in remove:
                    self._db.run("DELETE FROM tags WHERE note = ? AND tag = ?", note, tag)
        return [{"id": note, "tags": self._tags(note)} for note in notes]

    def tags(self) -> list[Row]:
        """All tags with the number of their notes, most used first."""
        return self._db.rows("SELECT tag, count(*) AS notes FROM tags GROUP BY tag ORDER BY notes DESC, tag")

    def link(self, source: int, target: int) -> None:
        """Link one note to another; linking them again changes nothing."""
        self.note(source)
        self.note(target)
        if source == target:
            raise DemoError(f"Note {source} can't be linked to itself.")
        with self._db.writing():
            self._db.run("INSERT OR IGNORE INTO links VALUES (?, ?)", source, target)

    def linked(self, note: int) -> tuple[list[Row], list[Row]]:
        """The notes that a note points to, and those that point to it, in short."""
        self.note(note)
        columns = "SELECT id, title, pinned, updated_at FROM notes JOIN links ON id ="
        outward = self._db.rows(f"{columns} target WHERE source = ? ORDER BY id", note)
        inward = self._db.rows(f"{columns} source WHERE target = ? ORDER BY id", note)
        return [self._short(row) for row in outward], [self._short(row) for row in inward]

    def numbers(self) -> list[int]:
        """The numbers of all notes."""
        return [row["id"] for row in self._db.rows("SELECT id FROM notes ORDER BY id")]

    def _tags(self, note: int) -> list[str]:
        return [row["tag"] for row in self._db.rows("SELECT tag FROM tags WHERE note = ? ORDER BY tag", note)]

    def _short(self, row: Row) -> Row:
        return {**row, "pinned": bool(row["pinned"]), "tags": self._tags(row["id"])}


def _fts_query(words: str, mode: Literal["all", "any"]) -> str:
    """Words and "quoted phrases" as an FTS5 expression, in which every one is a string, never an operator."""
    terms = [term.strip() for position, part in enumerate(words.replace("\0", " ").split('"'))
             for term in ([part] if position % 2 else part.split()) if term.strip()]  # fmt: skip
    if not terms:
        raise DemoError("The query holds no word.", hint="Give at least one word to look for.")
    return (" AND " if mode == "all" else " OR ").join(f'"{term}"' for term in terms)
