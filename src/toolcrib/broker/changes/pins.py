"""All pins: their digests in memory, themselves in the store that instances share."""

import logging
import time
from collections.abc import Awaitable, Callable, Iterable

import anyio
import anyio.to_thread

from toolcrib.broker.changes.pin import Pin, PinKey
from toolcrib.errors import StoreError
from toolcrib.store import Store

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 30.0
"""After a store could not be read: how long nobody waits for it again."""


class Pins:
    """Pins, read once and written behind.

    Args:
        opened: Gives the shared store.
        exists: Whether there is a store; while there is none, nothing is pinned in it.
        clock: The time in seconds since 1970.
    """

    def __init__(
        self,
        opened: Callable[[], Awaitable[Store]],
        exists: Callable[[], Awaitable[bool]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._opened = opened
        self._exists = exists
        self.clock = clock
        self.loaded = False
        self._digests: dict[PinKey, str] = {}
        self._here: dict[PinKey, Pin] = {}
        self._to_write: dict[PinKey, Pin] = {}
        self._anew: set[PinKey] = set()
        self._wake = anyio.Event()
        self._lock = anyio.Lock()
        self._failed: tuple[float, StoreError] | None = None

    def digest(self, key: PinKey) -> str | None:
        """The digest of a pin that is known here, or None."""
        return self._digests.get(key)

    @property
    def keys(self) -> list[PinKey]:
        """All that is known to be pinned."""
        return list(self._digests)

    async def load(self) -> None:
        """Read what is pinned, once.

        Raises:
            StoreError: It can't be read; for some time the next one who asks gets the same answer at once.
        """
        if self.loaded:
            return
        async with self._lock:
            if self.loaded:
                return
            if self._failed is not None and time.monotonic() - self._failed[0] < _RETRY_SECONDS:
                raise self._failed[1]
            try:
                if await self._exists():
                    from toolcrib.broker.changes import queries

                    stored = await (await self._store()).read(queries.digests)
                    self._digests |= stored
            except StoreError as error:
                self._failed = (time.monotonic(), error)
                raise
            self._failed = None
            self.loaded = True

    async def pin(self, key: PinKey) -> Pin | None:
        """A pin as it is stored now: another instance may have accepted a change meanwhile.

        Raises:
            StoreError: It can't be read.
        """
        here = self._here.get(key)
        if here is not None:
            return here
        from toolcrib.broker.changes import queries

        found = await (await self._store()).read(queries.pin, key)
        if found is not None:
            self._digests[key] = found.digest
        return found

    def put(self, pin: Pin, *, stored: bool = True, anew: bool = False) -> None:
        """Pin a tool; it is written behind.

        Args:
            pin: The pin.
            stored: Whether it outlives this process.
            anew: Whether it takes the place of what is stored; else what another instance has pinned meanwhile
                counts.
        """
        self._digests[pin.key] = pin.digest
        self._here[pin.key] = pin
        if stored:
            self._to_write[pin.key] = pin
            if anew:
                self._anew.add(pin.key)
            self._wake.set()

    async def accept(self, pins: Iterable[Pin], *, stored: bool = True) -> None:
        """Pin tools as they are now, in place of what was pinned.

        Raises:
            StoreError: It can't be written; nothing was accepted.
        """
        accepted = list(pins)
        if stored:
            from toolcrib.broker.changes import queries

            keys = frozenset(pin.key for pin in accepted)
            await (await self._store()).write(queries.put, accepted, keys)
        for pin in accepted:
            self._to_write.pop(pin.key, None)
            self._anew.discard(pin.key)
            self._here.pop(pin.key, None)
            self._digests[pin.key] = pin.digest
            if not stored:
                self._here[pin.key] = pin

    async def keep(self) -> None:
        """Write what was pinned, until cancelled."""
        told = ""
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            try:
                await self.flush()
            except StoreError as error:
                if str(error) != told:
                    told = str(error)
                    logger.warning("What tools are can't be remembered beyond this run: %s", error)

    async def flush(self) -> None:
        """Write what was pinned and is not written yet.

        Raises:
            StoreError: It can't be written; what was pinned holds in this process.
        """
        if not self._to_write:
            return
        from toolcrib.broker.changes import queries

        writing, anew = list(self._to_write.values()), frozenset(self._anew)
        holding = await (await self._store()).write(queries.put, writing, anew)
        for pin in writing:
            if self._to_write.get(pin.key) is pin:
                del self._to_write[pin.key]
                self._anew.discard(pin.key)
                self._here.pop(pin.key, None)
                self._digests[pin.key] = holding[pin.key]  # another instance may have been first

    async def _store(self) -> Store:
        store = await self._opened()
        await anyio.to_thread.run_sync(_prepare, store)
        return store


def _prepare(store: Store) -> None:
    from toolcrib.broker.changes import queries

    store.ensure("pins", queries.VERSION, queries.METADATA)
