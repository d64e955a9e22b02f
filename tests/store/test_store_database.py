"""Opening the database: what is made, what is refused, and several processes at once."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import anyio
import pytest
from sqlalchemy import Column, Integer, MetaData, Table, func, insert, select, text

from toolcrib.errors import StoreError
from toolcrib.store import Store, open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "toolcrib.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(open_store(path)) as opened:
        yield opened


def refusal(target: str | Path) -> StoreError:
    with pytest.raises(StoreError) as caught:
        open_store(target)
    assert caught.value.hint
    return caught.value


def notes(metadata: MetaData) -> Table:
    return Table("notes", metadata, Column("id", Integer, primary_key=True))


@pytest.mark.skipif(os.name == "nt", reason="file modes are POSIX's")
def test_the_file_and_its_folder_are_private(path: Path, store: Store) -> None:
    with store.transaction(write=True) as connection:
        connection.execute(text("CREATE TABLE t (x)"))
    files = sorted(path.parent.iterdir())
    assert [file.name for file in files] == ["toolcrib.db", "toolcrib.db-shm", "toolcrib.db-wal"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_database_is_set_up_for_several_processes(store: Store) -> None:
    with store.transaction(write=False) as connection:
        values = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "busy_timeout", "foreign_keys", "synchronous")
        }
    # https://sqlite.org/pragma.html: synchronous 1 is NORMAL
    assert values == {"journal_mode": "wal", "busy_timeout": 5000, "foreign_keys": 1, "synchronous": 1}


def test_opening_again_finds_what_was_written(path: Path) -> None:
    for _ in range(2):
        with closing(open_store(path)) as store, store.transaction(write=True) as connection:
            connection.execute(text("CREATE TABLE IF NOT EXISTS t (x)"))
            connection.execute(text("INSERT INTO t VALUES (1)"))
    with closing(open_store(f"sqlite:///{path}")) as store, store.transaction(write=False) as connection:
        assert connection.execute(text("SELECT count(*) FROM t")).scalar_one() == 2


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    with suppress(KeyError), store.transaction(write=True) as connection:
        connection.execute(text("CREATE TABLE t (x)"))
        raise KeyError
    with store.transaction(write=False) as connection:
        assert connection.execute(text("SELECT count(*) FROM sqlite_master WHERE name = 't'")).scalar_one() == 0


def test_a_failing_statement_is_an_error_that_shows_no_value(store: Store) -> None:
    with pytest.raises(StoreError) as caught, store.transaction(write=True) as connection:
        connection.execute(text("INSERT INTO missing VALUES (:x)"), {"x": "s3cr3t"})
    assert "no such table: missing" in caught.value.message
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.anyio
async def test_work_runs_in_a_worker_thread(store: Store) -> None:
    def thread(connection: object, number: int) -> tuple[int, int]:
        return threading.get_ident(), number

    with anyio.fail_after(10):
        ident, number = await store.read(thread, 7)
        assert ident != threading.get_ident()
        assert number == 7
        assert (await store.write(thread, 8))[1] == 8


@pytest.mark.anyio
async def test_writers_that_read_first_do_not_lose_updates(store: Store) -> None:
    counter = notes(MetaData())
    store.ensure("notes", 1, counter.metadata)

    def add_one(connection: object) -> None:
        assert hasattr(connection, "execute")
        highest = connection.execute(select(func.coalesce(func.max(counter.c.id), 0))).scalar_one()
        connection.execute(insert(counter).values(id=highest + 1))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(store.write, add_one)
    with store.transaction(write=False) as connection:
        assert connection.execute(select(func.max(counter.c.id))).scalar_one() == 50


def test_a_components_tables_are_made_once(store: Store) -> None:
    table = notes(MetaData())
    store.ensure("notes", 1, table.metadata)
    with store.transaction(write=True) as connection:
        connection.execute(insert(table).values(id=1))
    store.ensure("notes", 1, table.metadata)
    with store.transaction(write=False) as connection:
        assert connection.execute(select(func.count()).select_from(table)).scalar_one() == 1


def test_tables_of_another_version_are_refused(store: Store) -> None:
    store.ensure("notes", 2, MetaData())
    with pytest.raises(StoreError, match=r"a newer Toolcrib \(notes 2, this one knows 1\)\. Update Toolcrib"):
        store.ensure("notes", 1, MetaData())
    with pytest.raises(StoreError, match=r"an older Toolcrib \(notes 2, this one knows 3\)\. Move it away"):
        store.ensure("notes", 3, MetaData())


def test_a_database_of_a_newer_version_is_refused(path: Path) -> None:
    open_store(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE schema_versions SET version = 99 WHERE component = 'store'")
    assert "was written by a newer Toolcrib (store 99, this one knows 1)" in refusal(path).message


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("these are my notes, not a database at all, please keep them\n" * 20)
    before = path.read_bytes()
    assert "is damaged or no database" in refusal(path).message
    assert path.read_bytes() == before


def test_a_folder_in_the_files_place_is_refused(path: Path) -> None:
    path.mkdir(parents=True)
    assert str(path) in refusal(path).message


def test_a_state_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    error = refusal(tmp_path / "file" / "state" / "toolcrib.db")
    assert "can't be written" in error.message
    assert "TOOLCRIB_STATE_DIR" in error.hint


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "toolcrib.db"
    open_store(path).close()
    path.chmod(0o400)
    assert "can't be written: Permission denied" in refusal(path).message
    path.unlink()
    tmp_path.chmod(0o500)
    assert "can't be written: Permission denied" in refusal(path).message


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://me:s3cr3t@db.example/x", "is of a kind that is not supported"),
        ("nosuch+driver://me:s3cr3t@db.example/x", "is of a kind that is not supported"),
        ("sqlite://", "is of a kind that is not supported"),
        ("sqlite:///:memory:", "is of a kind that is not supported"),
        ("postgresql+nosuchdriver://me:s3cr3t@db.example/x?password=s3cr3t", "needs a driver that is not installed"),
        ("://", "can't be understood"),
        ("postgresql://me:s3cr3t@host:port/x", "can't be understood"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str, message: str) -> None:
    error = refusal(url)
    assert message in error.message
    assert "s3cr3t" not in str(error)


def test_a_database_that_another_program_holds_is_an_error_of_its_own(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcrib.store.database.BUSY_TIMEOUT", 0.01)
    with closing(open_store(path)) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is locked by another program"), store.transaction(write=True):
            pass
        with store.transaction(write=False) as connection:  # readers don't wait for a writer
            connection.execute(text("SELECT 1"))


OPENER = """
import sys
from toolcrib.store import open_store
import toolcrib.store.queries
print("ready", flush=True)
sys.stdin.readline()
store = open_store(sys.argv[1])
with store.transaction(write=True) as connection:
    from sqlalchemy import text
    connection.execute(text("CREATE TABLE IF NOT EXISTS seen (pid)"))
    connection.execute(text("INSERT INTO seen VALUES (:pid)"), {"pid": sys.argv[2]})
store.close()
"""


def test_processes_that_open_it_at_once_all_succeed(path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, str(path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    try:
        for process in processes:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        outcomes = [process.communicate(timeout=30) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [(process.returncode, error) for process, (_, error) in zip(processes, outcomes, strict=True)] == [
        (0, "")
    ] * 4
    with closing(sqlite3.connect(path)) as connection:
        assert sorted(connection.execute("SELECT pid FROM seen")) == [("0",), ("1",), ("2",), ("3",)]


@pytest.mark.parametrize("attempt", range(5))
def test_threads_that_open_it_at_once_all_succeed(path: Path, attempt: int) -> None:
    barrier = threading.Barrier(8)
    failures: list[Exception] = []

    def open_it() -> None:
        barrier.wait(timeout=30)
        try:
            open_store(path).close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert failures == []


def test_importing_the_store_loads_no_database_library() -> None:
    program = "import sys, toolcrib.store; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "False\n"
