"""The thread that writes the journal: one connection, and one commit for all that wait at the moment."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from toolcrib.errors import StoreError
from toolcrib.store import Held, Store

if TYPE_CHECKING:
    from sqlalchemy import Connection

_IDLE_SECONDS = 1.0
"""Without work, until the thread looks for something to tidy up."""

_TIDY_EVERY = 60.0
"""Seconds between two looks."""


class _Job:
    """Something to write, and who waits for it."""

    def __init__(self, work: "Callable[[Connection], Any]") -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        """Tell whoever waits; in the event loop."""
        if self.future.cancelled():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Writer:
    """Writes in a thread of its own.

    Args:
        store: The database.
        power_safe: Whether what is committed survives the loss of power.
        tidy: Deletes some of what is too old, in a transaction of its own, and says whether there may be more.
    """

    def __init__(self, store: Store, *, power_safe: bool, tidy: "Callable[[Connection], bool]") -> None:
        self.store = store
        self._power_safe = power_safe
        self._tidy = tidy
        self._tidied = -_TIDY_EVERY
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="toolcrib-journal", daemon=True)
        self._thread.start()

    async def write(self, work: "Callable[[Connection], Any]") -> Any:
        """Run `work(connection)` in a transaction, which it may share with others, and return what it returns.

        Once handed over it is done, also where the waiting is cancelled.

        Raises:
            StoreError: It could not be written; nothing of it was.
        """
        job = _Job(work)
        self._jobs.put(job)
        return await job.future

    async def close(self) -> None:
        """Write what was handed over, and end the thread."""
        self._jobs.put(None)
        await anyio.to_thread.run_sync(self._thread.join)

    def _run(self) -> None:
        """Write until told to end; a connection on which something failed is given up for a new one."""
        going = True
        while going:
            with ExitStack() as stack:
                held: Held | None = None
                sound = True
                while going and sound:
                    jobs, going = self._take()
                    try:
                        if held is None and (jobs or self._is_tidying_due()):
                            held = stack.enter_context(self.store.held(power_safe=self._power_safe))
                        if held is not None:
                            sound = _write(held, jobs) and self._tidy_up(held, idle=not jobs)
                    except Exception as error:  # no connection to be had: whoever waits is told so
                        sound = False
                        for job in jobs:
                            job.error = error
                    _settle(jobs)

    def _take(self) -> tuple[list[_Job], bool]:
        """What waits now, or nothing after a while without anything; and whether to go on."""
        jobs: list[_Job] = []
        try:
            job = self._jobs.get(timeout=_IDLE_SECONDS)
            while job is not None:
                jobs.append(job)
                job = self._jobs.get_nowait()
        except Empty:
            return jobs, True
        return jobs, False

    def _is_tidying_due(self) -> bool:
        return time.monotonic() - self._tidied >= _TIDY_EVERY

    def _tidy_up(self, held: Held, *, idle: bool) -> bool:
        """Delete a little of what is too old, when there is nothing else to do; whether the connection is sound."""
        if not idle or not self._is_tidying_due():
            return True
        try:
            with held.transaction() as connection:
                more = self._tidy(connection)
        except StoreError:
            more = False
        if not more:
            self._tidied = time.monotonic()
        return True


def _write(held: Held, jobs: Sequence[_Job]) -> bool:
    """Do all jobs in one transaction; where one of them fails, each in one of its own. Whether nothing failed."""
    if not jobs:
        return True
    begun = False
    try:
        with held.transaction() as connection:
            for job in jobs:
                begun = True
                job.result = job.work(connection)
        return True
    except Exception as error:
        if not begun or len(jobs) == 1:  # nobody's turn comes: waiting once for all is enough
            for job in jobs:
                job.error = error
            return False
    for job in jobs:
        _write(held, [job])
    return False


def _settle(jobs: Sequence[_Job]) -> None:
    for job in jobs:
        if not job.loop.is_closed():
            job.loop.call_soon_threadsafe(job.settle)
