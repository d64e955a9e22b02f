"""The database: SQLite in the state folder, or PostgreSQL by URL.

SQLAlchemy is imported when a store is opened, not before: most runs only read snapshots.
"""

import errno
import os
import sqlite3
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from anyio import to_thread

from toolcrib.errors import StoreError
from toolcrib.files import make_folder

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, MetaData

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

STORE_FILE = "toolcrib.db"
"""The name of the SQLite file inside the state directory."""

BUSY_TIMEOUT = 5.0
"""Seconds that a transaction waits for another process to finish its own."""

_WRITES = "toolcrib_writes"


class Store:
    """An open database. A transaction blocks: asynchronous code runs it through `read` and `write`.

    Args:
        engine: The engine.
        name: What errors call the database; without a password.
        clock: The time in seconds since 1970, by which leases expire.
    """

    def __init__(self, engine: "Engine", name: str, clock: Callable[[], float]) -> None:
        self._engine = engine
        self._name = name
        self.clock = clock

    @contextmanager
    def transaction(self, *, write: bool) -> Generator["Connection"]:
        """One transaction in the calling thread: committed at the end, rolled back by an exception.

        Args:
            write: Whether it may write. One that does waits for its turn at the start, so that what it reads
                stays true until it writes.

        Raises:
            StoreError: The database failed.
        """
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._engine.connect() as connection:
                options: dict[str, Any] = {_WRITES: write}
                if not write and self._engine.dialect.name == "postgresql":
                    # As with SQLite, what is read together is of one moment, however many statements read it.
                    options["isolation_level"] = "REPEATABLE READ"
                connection = connection.execution_options(**options)
                with connection.begin():
                    yield connection
        except SQLAlchemyError as error:
            raise _store_error(self._name, error) from None

    @contextmanager
    def held(self, *, power_safe: bool = False) -> Generator["Held"]:
        """A connection of its own for one thread that writes much, kept as long as the block runs.

        Args:
            power_safe: Whether what it commits survives the loss of power too, with SQLite (a PostgreSQL server
                sees to that itself).

        Raises:
            StoreError: There is no connection to be had.
        """
        from sqlalchemy.exc import SQLAlchemyError

        try:
            connection = self._engine.connect().execution_options(**{_WRITES: True})
            if power_safe and connection.dialect.name == "sqlite":
                raw = connection.connection.driver_connection
                assert isinstance(raw, sqlite3.Connection)
                raw.execute("PRAGMA synchronous=FULL")
        except SQLAlchemyError as error:
            raise _store_error(self._name, error) from None
        try:
            yield Held(connection, self._name)
        finally:
            with suppress(SQLAlchemyError):
                connection.invalidate()
                connection.close()

    async def read(self, work: "Callable[[Connection, *Ts], T]", *args: *Ts) -> T:
        """Run `work(connection, *args)` in a reading transaction, in a worker thread.

        Raises:
            StoreError: The database failed.
        """
        return await to_thread.run_sync(self._run, False, work, args)

    async def write(self, work: "Callable[[Connection, *Ts], T]", *args: *Ts) -> T:
        """Run `work(connection, *args)` in a writing transaction, in a worker thread.

        Raises:
            StoreError: The database failed; nothing was written.
        """
        return await to_thread.run_sync(self._run, True, work, args)

    def ensure(self, component: str, version: int, metadata: "MetaData") -> None:
        """Make sure that a component's tables are there, whoever else does so at the same time.

        Args:
            component: The component's name, such as `journal`.
            version: The version of its tables that this program knows.
            metadata: The tables.

        Raises:
            StoreError: The tables are of another version, or the database failed.
        """
        from toolcrib.store import queries

        with self.transaction(write=False) as connection:
            found = queries.component_version(connection, component)
        if found is None:
            with self.transaction(write=True) as connection:
                found = queries.create_component(connection, component, version, metadata)
        if found != version:
            age, advice = ("a newer", "Update Toolcrib") if found > version else ("an older", "Move it away")
            raise StoreError(
                f"{self._name} was written by {age} Toolcrib ({component} {found}, this one knows {version}).",
                hint=f"{advice}, or set TOOLCRIB_STATE_DIR to another folder.",
            )

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __repr__(self) -> str:
        return f"<Store {self._name}>"

    def _run(self, write: bool, work: "Callable[[Connection, *Ts], T]", args: tuple[*Ts]) -> T:
        with self.transaction(write=write) as connection:
            return work(connection, *args)


class Held:
    """One connection, for one thread.

    Args:
        connection: The connection.
        name: What errors call the database.
    """

    def __init__(self, connection: "Connection", name: str) -> None:
        self._connection = connection
        self._name = name

    @contextmanager
    def transaction(self) -> Generator["Connection"]:
        """One writing transaction; see `Store.transaction`.

        Raises:
            StoreError: The database failed; nothing was written.
        """
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._connection.begin():
                yield self._connection
        except SQLAlchemyError as error:
            raise _store_error(self._name, error) from None


def open_store(target: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> Store:
    """Open a database, and create it and its tables where they are missing. Blocks.

    Args:
        target: The path of a SQLite file, or a URL starting with `sqlite:///` or `postgresql`.
        clock: The time in seconds since 1970.

    Raises:
        StoreError: It can't be opened or written, is no database, or is of a newer version.
    """
    from toolcrib.store import queries

    text = os.fspath(target)
    engine, name = _from_url(text) if "://" in text else _sqlite(Path(text))
    store = Store(engine, name, clock)
    try:
        store.ensure("store", queries.VERSION, queries.METADATA)
    except BaseException:
        store.close()
        raise
    return store


def _from_url(text: str) -> "tuple[Engine, str]":
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError

    supported = "Use the path of a file, or a URL such as postgresql+psycopg://user@host/database."
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StoreError("The URL of the database can't be understood.", hint=supported) from None
    name = f"The database {url.set(query={}).render_as_string()}"
    backend = url.get_backend_name()
    if backend == "sqlite" and url.database and url.database != ":memory:":
        return _sqlite(Path(url.database))
    if backend != "postgresql":
        raise StoreError(f"{name} is of a kind that is not supported.", hint=supported)
    try:
        return create_engine(url, pool_pre_ping=True), name
    except (ImportError, NoSuchModuleError) as error:
        driver = getattr(error, "name", None) or url.drivername
        raise StoreError(
            f"{name} needs a driver that is not installed ({driver}).",
            hint="pip install 'toolcrib[postgresql]', and write the URL as postgresql+psycopg://...",
        ) from None


def _sqlite(path: Path) -> "tuple[Engine, str]":
    from sqlalchemy import URL, Connection, create_engine, event

    path = path.absolute()
    _prepare_file(path)
    # Python's sqlite3 would begin transactions by itself, and only at the first write.
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": BUSY_TIMEOUT, "isolation_level": None},
    )

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: object) -> None:  # pyright: ignore[reportUnusedFunction]  registered by its decorator
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]  registered by its decorator
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine, f"The database {path}"


def _prepare_file(path: Path) -> None:
    """Create the file for its owner alone, and switch it to write-ahead logging."""
    try:
        make_folder(path.parent)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        for needed in (path, path.parent):
            if not os.access(needed, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise StoreError(
            f"The state folder {path.parent} can't be written: {error.strerror}.",
            hint="Set TOOLCRIB_STATE_DIR to a folder that you may write to.",
        ) from None
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None)) as connection:
            _use_write_ahead_log(connection)
    except sqlite3.Error as error:
        raise _store_error(f"The database {path}", error) from None


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    # Unlike other statements, the switch does not wait for a lock that another process holds at that moment;
    # the mode is kept in the file, so that this is contended only while the file is new.
    deadline = time.monotonic() + BUSY_TIMEOUT
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def _store_error(name: str, error: Exception) -> StoreError:
    """The failure in the driver's words; SQLAlchemy's own text would quote the statement's values."""
    cause = getattr(error, "orig", None) or error
    # Of a PostgreSQL driver's errors, only those about the connection are sure to quote no value.
    telling = isinstance(cause, sqlite3.Error) or type(cause).__name__ == "OperationalError"
    reason = str(cause).strip().partition("\n")[0].rstrip(".") if telling else type(cause).__name__
    if "not a database" in reason or "malformed" in reason:
        return StoreError(f"{name} is damaged or no database.", hint="Move it away; a new one is made.")
    if "locked" in reason:
        return StoreError(f"{name} is locked by another program.", hint="End that program, then try again.")
    return StoreError(f"{name} failed: {reason}.", hint="Check that it is there and may be written.")
