"""The files, kept in SQLite."""

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from toolcrib.demo.database import Database, Row
from toolcrib.demo.faults import DemoError
from toolcrib.demo.files.seed import fill

_SCHEMA = (
    "CREATE TABLE files (path TEXT PRIMARY KEY, content BLOB, modified_at TEXT)",
    "CREATE TABLE word_counts (word TEXT PRIMARY KEY, count INTEGER)",
    "CREATE TABLE index_facts (files INTEGER, words INTEGER, built_at TEXT)",
)

_TYPES = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".png": "image/png",
    ".txt": "text/plain",
}

JobState = Literal["none", "running", "complete", "cancelled"]


@contextmanager
def open_store(directory: Path | None) -> "Generator[FileStore]":
    """The library in a directory, or a new one in memory."""
    with closing(Database(directory and directory / "files.db", _SCHEMA, fill)) as database:
        yield FileStore(database)


def media_type(path: str) -> str:
    """The media type of a file, by its name."""
    return _TYPES.get(PurePosixPath(path).suffix, "application/octet-stream")


def is_text(path: str) -> bool:
    """Whether a file is to be read as text."""
    return media_type(path).startswith("text/") or media_type(path) == "application/json"


class FileStore:
    """Files by path, and a word index over them.

    Attributes:
        job: How the last indexing job of this process ended, or that it runs; "complete" too when an
            earlier process left an index.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self.job: JobState = "complete" if self.index_facts() else "none"

    def files(self, folder: str = "") -> list[Row]:
        """Path, media type, size and time of the files in a folder and below, by path."""
        rows = self._db.rows("SELECT path, length(content) AS bytes, modified_at FROM files ORDER BY path")
        return [
            {**row, "media_type": media_type(row["path"])}
            for row in rows
            if not folder or row["path"].startswith(f"{folder}/")
        ]

    def content(self, path: str) -> bytes:
        """The bytes of one file."""
        row = self._db.first("SELECT content FROM files WHERE path = ?", path)
        if row is None:
            raise DemoError(f"There is no file {path}.", hint="list_files shows the files of the library.")
        return row["content"]

    def text(self, path: str) -> str:
        """The text of one file."""
        content = self.content(path)
        if not is_text(path):
            raise DemoError(f"{path} is not text but {media_type(path)}.", hint="link_file gives its address.")
        return content.decode()

    def has(self, path: str) -> bool:
        """Whether there is a file of that path."""
        return self._db.first("SELECT 1 AS found FROM files WHERE path = ?", path) is not None

    def write(self, path: str, content: bytes) -> None:
        """Create or replace a file."""
        self._check_place(path)
        with self._db.writing():
            now = self._db.tick()
            self._db.run("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", path, content, now)

    def move(self, source: str, target: str) -> None:
        """Give a file another path, in place of what is there."""
        self.content(source)
        self._check_place(target)
        if source != target:
            with self._db.writing():
                self._db.run("DELETE FROM files WHERE path = ?", target)
                self._db.run("UPDATE files SET path = ? WHERE path = ?", target, source)

    def delete(self, path: str) -> None:
        """Remove a file."""
        self.content(path)
        with self._db.writing():
            self._db.run("DELETE FROM files WHERE path = ?", path)

    def save_index(self, files: int, counts: dict[str, int]) -> None:
        """Replace the word index."""
        with self._db.writing():
            now = self._db.tick()
            for table in ("word_counts", "index_facts"):
                self._db.run(f"DELETE FROM {table}")
            self._db.insert("word_counts", "word, count", counts.items())
            self._db.run("INSERT INTO index_facts VALUES (?, ?, ?)", files, len(counts), now)

    def index_facts(self) -> dict[str, Any] | None:
        """How many files and words the index covers and when it was built; None when there is none."""
        return self._db.first("SELECT files, words, built_at FROM index_facts")

    def top_words(self, limit: int) -> list[Row]:
        """The most frequent words of the index."""
        return self._db.rows("SELECT word, count FROM word_counts ORDER BY count DESC, word LIMIT ?", limit)

    def _check_place(self, path: str) -> None:
        for row in self._db.rows("SELECT path FROM files"):
            if row["path"].startswith(f"{path}/"):
                raise DemoError(f"{path} is a folder.", hint="Choose another name.")
            if path.startswith(f"{row['path']}/"):
                raise DemoError(f"{row['path']} is a file and can't hold {path}.", hint="Choose another folder.")
