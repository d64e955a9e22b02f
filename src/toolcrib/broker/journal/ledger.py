"""The journal in the database: opened, its tables made, and what earlier instances left under way settled."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from secrets import token_bytes

import anyio
import anyio.to_thread

from toolcrib.errors import StoreError
from toolcrib.files import held, write_whole
from toolcrib.store import Store

KEY_FILE = "journal.key"
"""The name of the file inside the state directory that holds what digests are keyed with."""

_KEY_BYTES = 32


class Ledger:
    """The journal's part of the store that instances share.

    Args:
        opened: Gives the store, with a lease of this instance that holds.
        state_dir: Where the key of digests is kept.
    """

    def __init__(self, opened: Callable[[], Awaitable[Store]], state_dir: Path) -> None:
        self._opened = opened
        self._key_file = state_dir / KEY_FILE
        self._ready: Store | None = None
        self._key = b""
        self._lock = anyio.Lock()

    async def store(self) -> Store:
        """The store, with the journal's tables in it.

        Raises:
            StoreError: It can't be opened or written.
        """
        store = await self._opened()
        if store is not self._ready:
            async with self._lock:
                if store is not self._ready:
                    await anyio.to_thread.run_sync(self._prepare, store)
                    self._ready = store
        return store

    async def settled(self) -> Store:
        """The same store, with nothing left under way that an instance which is gone has begun.

        Raises:
            StoreError: See `store`.
        """
        store = await self.store()
        await anyio.to_thread.run_sync(settle, store)
        return store

    @property
    def key(self) -> bytes:
        """What digests are keyed with; there once the store was opened."""
        return self._key

    def _prepare(self, store: Store) -> None:
        from toolcrib.broker.journal import tables

        self._key = _key(self._key_file)
        store.ensure("journal", tables.VERSION, tables.METADATA)
        store.ensure("journal results", tables.BEGINNINGS_VERSION, tables.OF_BEGINNINGS)
        settle(store)


def settle(store: Store) -> None:
    """Settle what instances left under way that are gone. Blocks.

    Raises:
        StoreError: The database failed.
    """
    from toolcrib.broker.journal import queries
    from toolcrib.store.queries import instances

    now = store.clock()
    with store.transaction(write=False) as connection:
        dead = [each.id for each in instances(connection, now, True) if each.is_dead]
        if not queries.is_something_left(connection, now, dead):
            return
    with store.transaction(write=True) as connection:
        queries.recover(connection, now, dead)


def _key(path: Path) -> bytes:
    """The key that the file holds, made where there is none; of several who make one, the first does."""
    try:
        key = _kept(path)
        if len(key) != _KEY_BYTES:
            with held(path.with_suffix(".lock")):
                if len(_kept(path)) != _KEY_BYTES:
                    write_whole(path, [token_bytes(_KEY_BYTES)])
                key = _kept(path)
        return key
    except OSError as error:
        raise StoreError(
            f"The state folder {path.parent} can't be written: {error.strerror}.",
            hint="Set TOOLCRIB_STATE_DIR to a folder that you may write to.",
        ) from None


def _kept(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
