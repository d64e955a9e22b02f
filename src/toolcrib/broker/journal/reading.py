"""Reading the journal: listed, followed, exported."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from itertools import pairwise

import anyio

from toolcrib.broker.journal.entry import ALL, STATES, Discovery, Entry, Filter, JournalPage, Place
from toolcrib.broker.journal.ledger import Ledger
from toolcrib.broker.journal.periods import Period
from toolcrib.errors import UsageError, shown
from toolcrib.store import Store

_PAGE = 500
_POLL_SECONDS = 0.5
_LEAST_OF_AN_ID = 4


class JournalReader:
    """The journal of a state directory: the calls of all instances that share it.

    Args:
        ledger: The database.
        flush: Writes what this instance still holds back.
        exists: Whether there is a store at all; none is made for the sake of reading.
    """

    def __init__(
        self, ledger: Ledger, flush: Callable[[], Awaitable[None]], exists: Callable[[], Awaitable[bool]]
    ) -> None:
        self._ledger = ledger
        self._flush = flush
        self._exists = exists

    async def entries(self, wanted: Filter = ALL, *, limit: int = 50) -> list[Entry]:
        """The newest calls that a filter fits, newest first; however many have to be looked at for that.

        Args:
            wanted: Which.
            limit: How many at most.

        Raises:
            UsageError: The filter names a state or effect that there is not.
            StoreError: The journal can't be read.
        """
        _check(wanted)
        store = await self._store()
        if store is None:
            return []
        from toolcrib.broker.journal import listing

        found: list[Entry] = []
        before: Place | None = None
        bound = listing.BOUND
        while True:
            look = await store.read(listing.newest, wanted, before, limit - len(found), bound)
            found += look.entries
            before = look.reached
            if before is None or len(found) >= limit:
                return found
            bound *= 2

    async def page(self, wanted: Filter = ALL, *, before: str = "", limit: int = 50) -> JournalPage:
        """A page of the calls that a filter fits, newest first; by the time at which they began where the filter is
        about times. It comes quickly in any journal: where few calls fit, the look is broken off, and the next page
        goes on.

        Args:
            wanted: Which.
            before: Where it begins: `following` of the page before; empty for the newest.
            limit: How many at most.

        Raises:
            UsageError: The filter names a state or effect that there is not, or no page begins there.
            StoreError: The journal can't be read.
        """
        _check(wanted)
        try:
            place = Place.read(before) if before else None
        except ValueError:
            raise UsageError(f"No page begins at {shown(before, 60)}.", hint="Begin with the newest calls.") from None
        store = await self._store()
        if store is None:
            return JournalPage([])
        from toolcrib.broker.journal import listing

        look = await store.read(listing.newest, wanted, place, limit + 1, listing.BOUND)
        if len(look.entries) > limit:
            last = look.entries[limit - 1]
            return JournalPage(look.entries[:limit], str(Place(last.seq, last.started_at)))
        if look.reached is None:
            return JournalPage(look.entries)
        return JournalPage(look.entries, str(look.reached), look.reached.started_at)

    async def entry(self, call_id: str) -> Entry:
        """One call, by its id or a beginning of it.

        Raises:
            UsageError: There is none, or several.
            StoreError: The journal can't be read.
        """
        from toolcrib.broker.journal import queries

        found: list[Entry] = []
        store = await self._store() if len(call_id) >= _LEAST_OF_AN_ID else None
        if store is not None:
            found = await store.read(queries.by_ids, [call_id])
        exact = [each for each in found if each.id == call_id] or found
        if len(exact) == 1:
            return exact[0]
        if exact:
            raise UsageError(f"{shown(call_id)} is the beginning of several ids.", hint="Give more of it.")
        raise UsageError(f"The journal has no call {shown(call_id)}.", hint="toolcrib journal lists the newest.")

    async def beginning(self, entry: Entry) -> str:
        """How a call's result begins, without secrets; empty where that is not, or no longer, on record.

        Raises:
            StoreError: The journal can't be read.
        """
        from toolcrib.broker.journal import queries

        store = await self._store()
        return "" if store is None else await store.read(queries.beginning_of, entry.id)

    async def export(self, wanted: Filter = ALL) -> AsyncGenerator[Entry]:
        """All calls that a filter fits, oldest first.

        Raises:
            UsageError: See `entries`.
            StoreError: The journal can't be read.
        """
        _check(wanted)
        store = await self._store()
        if store is None:
            return
        from toolcrib.broker.journal import listing

        reached = 0
        while page := await store.read(listing.oldest, wanted, reached, _PAGE):
            for each in page:
                yield each
            reached = page[-1].seq

    async def position(self) -> int:
        """Where the journal ends now: `Entry.seq` of the newest call, 0 before the first.

        Raises:
            StoreError: The journal can't be read.
        """
        from toolcrib.broker.journal import queries

        store = await self._store()
        return 0 if store is None else await store.read(queries.last_number)

    async def follow(
        self, wanted: Filter = ALL, *, after: int | None = None, poll_seconds: float = _POLL_SECONDS
    ) -> AsyncGenerator[Entry]:
        """Calls as they are recorded, by whatever instance; one that is under way comes again when it has ended. Never
        ends by itself.

        Args:
            wanted: Which.
            after: Those behind this `position`; None those from now on.
            poll_seconds: Between two looks.

        Raises:
            UsageError: See `entries`.
            StoreError: The journal can't be read.
        """
        _check(wanted)
        from toolcrib.broker.journal import listing, queries

        reached = await self.position() if after is None else after
        store = await self._store()
        under_way: dict[str, Entry] = {}
        while True:
            if store is not None:
                changed = [
                    each
                    for each in await store.read(queries.by_ids, list(under_way))
                    if each.state != under_way[each.id].state
                ]
                new = await store.read(listing.oldest, wanted, reached, _PAGE)
                for each in (*changed, *new):
                    yield each
                    if each.state in ("started", "waiting"):
                        under_way[each.id] = each
                    else:
                        under_way.pop(each.id, None)
                    reached = max(reached, each.seq)
            await anyio.sleep(poll_seconds)
            store = await self._store()

    async def discoveries(self, *, limit: int = 50) -> list[Discovery]:
        """What finding tools has cost each conversation, the latest first.

        Raises:
            StoreError: The journal can't be read.
        """
        store = await self._store()
        if store is None:
            return []
        from toolcrib.broker.journal import queries

        return await store.read(queries.discoveries, limit)

    async def periods(self, edges: Sequence[float], *, principal: str = "") -> list[Period]:
        """What the calls and the discovery of stretches of time add up to.

        Args:
            edges: Moments in seconds since 1970, growing: each but the last begins a period, which ends at the next.
            principal: Only what this one did, by name; empty for all.

        Raises:
            StoreError: The journal can't be read.
        """
        store = await self._store()
        if store is None:
            return [Period(start, end) for start, end in pairwise(edges)]
        from toolcrib.broker.journal import counting

        return await store.read(counting.periods, edges, principal)

    async def _store(self) -> Store | None:
        await self._flush()
        return await self._ledger.settled() if await self._exists() else None


def _check(wanted: Filter) -> None:
    for name, value, known in (
        ("state", wanted.state, STATES),
        ("effect", wanted.effect, ("read", "write", "destructive", "unknown")),
    ):
        if value and value not in known:
            raise UsageError(f"There is no {name} {shown(value)}.", hint=f"One of: {', '.join(known)}.")
