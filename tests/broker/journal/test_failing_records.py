"""A journal that cannot be written, wholly or in one record: effects stop with a clear error, reads go on."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import text

from toolcrib.errors import StoreError

pytestmark = pytest.mark.anyio

MUCH = dict.fromkeys("abcdefgh", "x" * 1900)
RESULT = {"content": [{"type": "text", "text": "ok"}]}


class TestUnusableDatabase:
    """Effects stop with a clear error; reads go on, and are recorded once the database can be written again."""

    @pytest.fixture
    def target(self, tmp_path: Path) -> str:
        return str(tmp_path / "toolcrib.db")

    async def refused(self, book: Any, message: str) -> None:
        with pytest.raises(StoreError, match=message) as caught:
            await book.begin("s.remove", "destructive", arguments=MUCH)
        assert "s.remove was not called" in caught.value.message
        assert caught.value.hint
        call = await book.begin("s.read", "read")
        await book.journal.ended(call, "done")

    async def test_locked(self, open_book: Callable[..., Any], target: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("toolcrib.store.database.BUSY_TIMEOUT", 0.05)
        async with open_book() as book:
            effect = await book.begin()
            with closing(sqlite3.connect(target, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                await self.refused(book, "is locked by another program")
                await book.journal.ended(effect, "done", result=RESULT)  # no error of the call
                with pytest.raises(StoreError):
                    await book.journal.flush()
                other.execute("ROLLBACK")
            await book.journal.flush()
            assert await book.states() == ["done", "done"]

    async def test_locked_for_many_at_once(
        self, open_book: Callable[..., Any], target: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with open_book() as book:
            await book.begin()
        monkeypatch.setattr("toolcrib.store.database.BUSY_TIMEOUT", 0.5)
        refused: list[str] = []
        async with open_book("two") as book:
            await book.begin()  # connects
            with closing(sqlite3.connect(target, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")

                async def one() -> None:
                    with pytest.raises(StoreError) as caught:
                        await book.begin()
                    refused.append(caught.value.message)

                # One after the other they would wait for 50 seconds.
                with anyio.fail_after(20):
                    async with anyio.create_task_group() as tasks:
                        for _ in range(100):
                            tasks.start_soon(one)
        assert len(refused) == 100

    async def test_full(self, open_book: Callable[..., Any], target: str) -> None:
        from sqlalchemy import Engine, event

        async with open_book() as book:
            await book.begin()

        def limit(connection: Any, _: Any) -> None:
            connection.execute("PRAGMA max_page_count = 1")  # as many as there are already

        event.listen(Engine, "connect", limit)
        try:
            async with open_book("two") as book:
                with suppress(StoreError):
                    while True:  # until no page that was begun has room for it
                        await book.begin(arguments=MUCH)
                await self.refused(book, "disk is full")
        finally:
            event.remove(Engine, "connect", limit)

    async def test_damaged(self, open_book: Callable[..., Any], target: str) -> None:
        async with open_book() as book:
            effects = [await book.begin(arguments={"text": "x" * 1000}) for _ in range(50)]
            assert len(effects) == 50
        whole = Path(target).read_bytes()
        assert len(whole) > 5 * 4096
        Path(target).write_bytes(whole[:4096] + b"\x07" * (len(whole) - 4096))
        from toolcrib.store import open_store

        with pytest.raises(StoreError, match="is damaged or no database"):
            open_store(target)


async def test_one_record_that_cannot_be_written_costs_no_other(open_book: Callable[..., Any]) -> None:
    async with open_book() as book:
        await book.begin()

        def fails(connection: Any) -> None:
            connection.execute(text("SELECT * FROM no_such_table"))

        writer = book.journal._writer
        failures: list[Exception] = []

        async def failing() -> None:
            try:
                await writer.write(fails)
            except StoreError as error:
                failures.append(error)

        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(failing)
                tasks.start_soon(book.begin)
        assert len(failures) == 10
        assert await book.states() == ["started"] * 11


async def test_a_record_that_cannot_be_made_costs_no_other(
    open_book: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    class Unprintable:
        def __str__(self) -> str:
            raise RuntimeError

    async with open_book() as book:
        for value in ("one", Unprintable(), "two"):
            call = await book.begin("s.read", "read", arguments={"value": value})
            await book.journal.ended(call, "done")
        await book.journal.flush()
        assert await book.states() == ["done", "done"]
    assert "could not be made" in caplog.text
