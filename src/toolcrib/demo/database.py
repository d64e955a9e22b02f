"""The SQLite file (or private memory) behind one demo server, with a clock that only writes move."""

import sqlite3
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from toolcrib.demo.faults import DemoError
from toolcrib.demo.moments import DEMO_NOW, timestamp

Row = dict[str, Any]

_VERSION = 1

_PATIENCE = 5.0
"""Seconds to wait for another process that writes."""


class Database:
    """One demo server's database, created and filled when it is empty.

    Args:
        file: The database file; None keeps everything in private memory.
        schema: The statements that create the tables.
        seed: Fills the new tables.

    Raises:
        DemoError: The file can't be opened, or another version wrote it.
    """

    def __init__(self, file: Path | None, schema: Sequence[str], seed: Callable[["Database"], None]) -> None:
        try:
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
            # isolation_level=None: transactions are the explicit ones of `writing`, nothing implicit.
            self._connection = sqlite3.connect(file or ":memory:", timeout=_PATIENCE, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise DemoError(f"The demo's data {file} can't be opened: {error}.", hint=_HINT) from error
        self._connection.row_factory = _row
        try:
            self._prepare(file, schema, seed)
        except BaseException:
            self.close()
            raise

    def _prepare(self, file: Path | None, schema: Sequence[str], seed: Callable[["Database"], None]) -> None:
        try:
            with self.writing():
                version = self.one("PRAGMA user_version")["user_version"]
                if version == 0:
                    for statement in ("CREATE TABLE clock (minutes INTEGER NOT NULL)", *schema):
                        self._connection.execute(statement)
                    self._connection.execute("INSERT INTO clock VALUES (0)")
                    seed(self)
                    self._connection.execute(f"PRAGMA user_version = {_VERSION}")
        except sqlite3.Error as error:
            raise DemoError(f"The demo's data {file} can't be used: {error}.", hint=_HINT) from error
        if version not in (0, _VERSION):
            raise DemoError(f"The demo's data {file} was written by another version.", hint=_HINT)

    @contextmanager
    def writing(self) -> Generator[None]:
        """One transaction: all of the block is kept, or, when it raises, none of it."""
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def tick(self) -> str:
        """The time of the write under way: a minute after the one before, so runs are repeatable."""
        row = self.one("UPDATE clock SET minutes = minutes + 1 RETURNING minutes")
        return timestamp(DEMO_NOW + timedelta(minutes=row["minutes"]))

    def rows(self, sql: str, *values: object) -> list[Row]:
        """All rows of a statement."""
        return self._execute(sql, values).fetchall()

    def first(self, sql: str, *values: object) -> Row | None:
        """The first row of a statement, if there is one."""
        return self._execute(sql, values).fetchone()

    def one(self, sql: str, *values: object) -> Row:
        """The row of a statement that always yields one."""
        return self.rows(sql, *values)[0]

    def run(self, sql: str, *values: object) -> int:
        """Execute a statement that writes; answers how many rows it touched."""
        return self._execute(sql, values).rowcount

    def insert(self, table: str, columns: str, rows: Iterable[Sequence[object]]) -> None:
        """Insert rows; `columns` names them, separated by commas."""
        marks = ", ".join("?" for _ in columns.split(","))
        self._connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)

    def _execute(self, sql: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(sql, values)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise DemoError("Another process keeps the demo's data locked.", hint="Try again.") from error
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


_HINT = "Point TOOLCRIB_DEMO_DIR at an empty directory that can be written to, or unset it."


def _row(cursor: sqlite3.Cursor, values: tuple[Any, ...]) -> Row:
    return {column[0]: value for column, value in zip(cursor.description, values, strict=True)}
