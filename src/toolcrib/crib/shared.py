"""The store that instances share: opened at the first need, with this instance's lease held in it."""

from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from toolcrib.config import Variables
from toolcrib.config.variables import Expander
from toolcrib.errors import ConfigError, StoreError
from toolcrib.store import STORE_FILE, Lease, Store, open_store


class SharedStore:
    """Opens the store once for all parts of a crib, and keeps the instance's lease while it is open.

    Nothing is written, and no database engine loaded, before a part asks: a crib that only searches leaves no
    trace.

    Args:
        state_dir: The folder that the instances share.
        instance: This instance's id.
        url: The database, where it is another one than the file in the folder; may hold `${...}`.
        variables: What those stand for.
    """

    def __init__(self, state_dir: Path, instance: str, url: str = "", variables: Variables | None = None) -> None:
        self.instance = instance
        self._path = state_dir / STORE_FILE
        self._url = url
        self._variables = variables or Variables()
        self._tasks: TaskGroup | None = None
        self._store: Store | None = None
        self._lease: Lease | None = None
        self._lock = anyio.Lock()
        self._closed = False

    def start(self, tasks: TaskGroup) -> None:
        """Let the lease be kept in these tasks, once there is one."""
        self._tasks = tasks

    async def exists(self) -> bool:
        """Whether there is a store already, as far as that shows without opening it."""
        return bool(self._url) or await anyio.Path(self._path).exists()

    def open_another(self) -> Store:
        """The same database, opened once more without a lease. Blocks.

        Raises:
            StoreError: It can't be opened.
        """
        if not self._url:
            return open_store(self._path)
        try:
            url = Expander(self._variables).expand(self._url, "toolcrib.store")
        except ConfigError as error:
            raise StoreError(error.message, hint=error.hint) from None
        return open_store(url)

    async def opened(self) -> Store:
        """The store, with a lease of this instance that holds.

        Raises:
            StoreError: It can't be opened or written; the next one who asks tries anew.
        """
        if self._store is not None and self._lease is not None:
            return self._store
        await self.lease()
        assert self._store is not None
        return self._store

    async def lease(self) -> Lease:
        """This instance's lease. One that was lost, as by a computer asleep, is acquired anew.

        Raises:
            StoreError: See `opened`.
        """
        async with self._lock:
            if self._closed:
                raise StoreError("The crib is closed.", hint="Open another one.")
            if self._store is None:
                self._store = await anyio.to_thread.run_sync(self.open_another)
            if self._lease is None:
                self._lease = await Lease.acquire(self._store, self.instance)
                if self._tasks is not None:
                    self._tasks.start_soon(self._keep, self._lease)
            return self._lease

    async def close(self) -> None:
        """Give the lease back and close the store, if it was opened."""
        async with self._lock:
            self._closed = True
            if self._lease is not None:
                with suppress(StoreError):
                    await self._lease.release()
            if self._store is not None:
                self._store.close()
            self._lease = self._store = None

    async def _keep(self, lease: Lease) -> None:
        with suppress(StoreError):
            await lease.keep()
        if self._lease is lease:
            self._lease = None
