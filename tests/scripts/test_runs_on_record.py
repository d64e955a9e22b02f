"""When a run is on record: before anything with effects, and without a script's waiting for anything else."""

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from toolcrib import Crib
from toolcrib.errors import StoreError
from toolcrib.scripts.behind import Behind
from toolcrib.store import Store, open_store

pytestmark = pytest.mark.anyio

SEEN: list[Any] = []
FOLDER: list[Path] = []

LOOKING = "await search_tools('write')"
"""A script without effects."""


def runs_in(folder: Path) -> list[tuple[str, str]]:
    """What another process would see of runs: language and status."""
    with closing(sqlite3.connect(f"file:{folder / 'toolcrib.db'}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT language, status FROM runs").fetchall()


async def write(title: str) -> dict[str, str]:
    """Write something, and look at what is on record meanwhile."""
    SEEN.append(runs_in(FOLDER[0]))
    return {"title": title}


@pytest.fixture
async def crib(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Crib]:
    SEEN.clear()
    FOLDER[:] = [tmp_path]
    async with Crib.from_clients({}, state_dir=tmp_path) as opened:
        opened.add_functions(write, server="box")
        yield opened


async def test_a_run_is_on_record_before_its_first_call_with_effects_leaves(crib: Crib) -> None:
    outcome = await crib.run_code("await box.write(title='one')")
    assert outcome.ok
    assert SEEN == [[("python", "running")]]


async def test_how_a_run_ended_is_on_record_when_the_crib_is_closed(tmp_path: Path) -> None:
    SEEN.clear()
    FOLDER[:] = [tmp_path]
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        crib.add_functions(write, server="box")
        await crib.run_code(LOOKING)
        await crib.run_code("await box.write(title='two')\nraise ValueError('no')")
    assert sorted(status for _, status in runs_in(tmp_path)) == ["failed", "ok"]
    with closing(sqlite3.connect(tmp_path / "toolcrib.db")) as connection:
        kept = [json.loads(each) for (each,) in connection.execute("SELECT result FROM run_results")]
    assert [each["structuredContent"] for each in kept] == [{"title": "two"}]


async def test_nothing_with_effects_is_made_by_a_run_that_can_not_be_recorded(crib: Crib, tmp_path: Path) -> None:
    await crib.run_code(LOOKING)
    await crib.script_runner()._runs.written()  # type: ignore[union-attr]
    SEEN.clear()
    with closing(sqlite3.connect(tmp_path / "toolcrib.db", isolation_level=None)) as connection:
        connection.execute("ALTER TABLE runs RENAME TO elsewhere")
        with pytest.raises(StoreError):
            await crib.run_code("try:\n    await box.write(title='x')\nexcept Exception:\n    pass")
        connection.execute("ALTER TABLE elsewhere RENAME TO runs")
    assert SEEN == []
    assert (await crib.run_code("await box.write(title='after')")).ok


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = open_store(tmp_path / "notes.db")
    with opened.transaction(write=True) as connection:
        connection.execute(text("CREATE TABLE notes (id INTEGER PRIMARY KEY)"))
    return opened


def adding(number: int) -> Any:
    return lambda connection: connection.execute(text("INSERT INTO notes VALUES (:n)"), {"n": number})


async def test_what_is_put_is_written_in_order_and_in_few_transactions(store: Store) -> None:
    opened = 0

    async def opening() -> Store:
        nonlocal opened
        opened += 1
        return store

    behind = Behind(opening)
    for number in range(100):
        behind.put(adding(number))
    await behind.written()
    with store.transaction(write=False) as connection:
        assert [row[0] for row in connection.execute(text("SELECT id FROM notes"))] == list(range(100))
    assert opened == 1
    store.close()


async def test_what_can_not_be_written_is_told_to_whom_it_concerns_and_keeps_nothing_else_from_it(store: Store) -> None:
    async def opening() -> Store:
        return store

    behind = Behind(opening)
    behind.put(adding(1), "first")
    behind.put(adding(1), "second")  # the id is taken
    behind.put(adding(2))
    await behind.on_record("first")
    with pytest.raises(StoreError):
        await behind.on_record("second")
    behind.forget("second")
    await behind.on_record("second")
    await behind.written()
    with suppress(StoreError), store.transaction(write=False) as connection:
        assert [row[0] for row in connection.execute(text("SELECT id FROM notes"))] == [1, 2]
    store.close()
