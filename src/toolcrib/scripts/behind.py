"""What is written of runs behind them: in order, many at once, and waited for where it has to be there."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from toolcrib.errors import StoreError
from toolcrib.store import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection

LINGER = 0.02
"""Seconds that something may wait for company: a script makes hundreds of calls in a second, and each transaction
holds up the journal's."""

Work = Callable[["Connection"], None]


class Behind:
    """Writes beside whoever asks for it.

    Args:
        opened: Gives the store.
    """

    def __init__(self, opened: Callable[[], Awaitable[Store]]) -> None:
        self._opened = opened
        self._waiting: list[tuple[str, Work]] = []
        self._writing: asyncio.Task[None] | None = None
        self._due: dict[str, asyncio.Future[None]] = {}
        self._hurry = asyncio.Event()

    def put(self, work: Work, due: str = "") -> None:
        """Write something, after all that was put before it.

        Args:
            work: Writes it.
            due: A name by which `on_record` waits for it, for which it is written at once; without one it waits a
                little for company, and is lost where it can't be written.
        """
        if due:
            self._hurry.set()
            self._due[due] = asyncio.get_running_loop().create_future()
        self._waiting.append((due, work))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())

    async def on_record(self, due: str) -> None:
        """Wait until what was put under a name is written.

        Raises:
            StoreError: It could not be written.
        """
        future = self._due.get(due)
        if future is not None:
            await asyncio.shield(future)

    def forget(self, due: str) -> None:
        """Nobody waits for a name any more."""
        future = self._due.pop(due, None)
        if future is not None and future.done() and not future.cancelled():
            future.exception()  # it is known, whoever waited for it

    async def written(self) -> None:
        """Wait until all that was put by now is written, or lost."""
        while self._writing is not None and not self._writing.done():
            self._hurry.set()
            await asyncio.shield(self._writing)

    async def _write_all(self) -> None:
        while self._waiting:
            with anyio.move_on_after(LINGER):
                await self._hurry.wait()
            self._hurry.clear()
            some, self._waiting = self._waiting, []
            try:
                store = await self._opened()
                await store.write(_each, [work for _, work in some])
            except StoreError as error:
                if len(some) == 1:
                    self._settle(some[0][0], error)
                    continue
                for due, work in some:  # each by itself: what fails of one run is no other's fault
                    self._settle(due, await self._failure(work))
            else:
                for due, _ in some:
                    self._settle(due, None)

    async def _failure(self, work: Work) -> StoreError | None:
        try:
            await (await self._opened()).write(work)
        except StoreError as error:
            return error
        return None

    def _settle(self, due: str, error: StoreError | None) -> None:
        future = self._due.get(due)
        if future is None or future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


def _each(connection: "Connection", works: Sequence[Any]) -> None:
    for work in works:
        work(connection)
