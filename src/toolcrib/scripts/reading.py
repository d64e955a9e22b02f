"""Reading what is on record of runs: listed, one as a whole, what its calls came to."""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
import anyio.to_thread

from toolcrib.catalog import JsonObject
from toolcrib.errors import UsageError, shown
from toolcrib.scripts.record import RUN_STATES, Run, RunHead, call_of_row, run_of_row
from toolcrib.store import Store, live_instances


@dataclass(frozen=True, slots=True)
class RunPage:
    """Some runs, newest first.

    Attributes:
        runs: The runs.
        following: Where the next page begins, as `RunReader.page` takes it; empty where there is none.
    """

    runs: list[RunHead]
    following: str = ""


class RunReader:
    """The runs of a state directory, of all instances that share it.

    Args:
        opened: Gives the store.
        exists: Whether there is a store at all; none is made for the sake of reading.
        flush: Writes what this instance still holds back.
    """

    def __init__(
        self,
        opened: Callable[[], Awaitable[Store]],
        exists: Callable[[], Awaitable[bool]],
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self._opened = opened
        self._exists = exists
        self._flush = flush
        self._ready: Store | None = None

    async def page(
        self,
        *,
        principal: str = "",
        status: str = "",
        script: str = "",
        parent: str = "",
        retry_of: str = "",
        before: str = "",
        limit: int = 50,
    ) -> RunPage:
        """A page of runs, newest first; what is empty asks for all.

        Args:
            principal: Those of one principal.
            status: How they stand.
            script: Those of a saved script.
            parent: Those that are parts of a run.
            retry_of: Those that repeat a run.
            before: Where it begins: `following` of the page before.
            limit: How many at most.

        Raises:
            UsageError: There is no such status, or no page begins there.
            StoreError: The store can't be read.
        """
        if status and status not in RUN_STATES:
            raise UsageError(f"No run is {shown(status)}.", hint=f"One of: {', '.join(RUN_STATES)}.")
        place = _place(before) if before else None
        given = {"principal": principal, "status": status, "script": script, "parent": parent, "retry_of": retry_of}
        store = await self._store()
        if store is None:
            return RunPage([])
        from toolcrib.scripts import tables

        equal = {name: value for name, value in given.items() if value}
        found = [RunHead(**row) for row in await store.read(tables.page, equal, place, limit + 1)]
        if len(found) <= limit:
            return RunPage(found)
        last = found[limit - 1]
        return RunPage(found[:limit], f"{last.started_at!r}-{last.id}")

    async def find(self, run: str, *, principal: str = "") -> Run:
        """One run as a whole.

        Args:
            run: Its id.
            principal: Whose it has to be; another principal's is as unknown as one that never was. Empty for any.

        Raises:
            UsageError: There is none.
            StoreError: The store can't be read.
        """
        from toolcrib.scripts import tables

        store = await self._store()
        row = None if store is None else await store.read(tables.whole, run)
        if row is None or (principal and row["principal"] != principal):
            raise UsageError(f"There is no run {shown(run)}.", hint="Runs are kept as long as the journal's calls.")
        return run_of_row(row)

    async def result(self, run: str, call_id: str) -> JsonObject | None:
        """What a call with effects of a run came to; None where that is not kept, or not any more.

        Raises:
            StoreError: The store can't be read.
        """
        from toolcrib.scripts import tables

        store = await self._store()
        if store is None:
            return None
        row = await store.read(tables.result, run, call_id, store.clock())
        return None if row is None else call_of_row(row).result

    async def _store(self) -> Store | None:
        """The store with the tables of runs, in which no run counts as running whose process is gone."""
        await self._flush()
        if not await self._exists():
            return None
        store = await self._opened()
        from toolcrib.scripts import tables

        if store is not self._ready:
            await anyio.to_thread.run_sync(store.ensure, "scripts", tables.VERSION, tables.METADATA)
            self._ready = store
        dead = [each.id for each in await live_instances(store) if each.is_dead]
        if await store.read(tables.is_something_lost, store.clock(), dead):
            await store.write(tables.settle, store.clock(), dead)
        return store


def _place(text: str) -> tuple[float, str]:
    began, _, run = text.partition("-")
    try:
        moment = float(began)
        if not math.isfinite(moment) or not run:
            raise ValueError(text)
    except ValueError:
        raise UsageError(f"No page begins at {shown(text, 60)}.", hint="Begin with the newest runs.") from None
    return moment, run
