"""Instances: every running Toolcrib holds a lease, and says under it how its servers are.

Several instances share one database. What an instance left behind is touched by others only when its lease
has ended.
"""

import os
import socket
from dataclasses import dataclass
from typing import NoReturn
from uuid import uuid4

import anyio

from toolcrib.errors import StoreError
from toolcrib.store.database import Store

LEASE_SECONDS = 30.0
"""How long an instance counts as running after it last said so."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One running Toolcrib process, or one that ended without saying so.

    Attributes:
        id: The instance's id.
        pid: Its process id on its host.
        host: The host's name.
        started_at: When it acquired its lease, in seconds since 1970.
        expires_at: When its lease ends unless it is renewed.
    """

    id: str
    pid: int
    host: str
    started_at: float
    expires_at: float

    @property
    def is_dead(self) -> bool:
        """Whether its process has certainly ended, though its lease may still hold: it was one of this machine, and
        there is no such process any more."""
        if os.name != "posix" or self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False


@dataclass(frozen=True, slots=True)
class ServerState:
    """How one server of one instance is.

    Attributes:
        instance: The id of the instance that owns the server.
        server: The server's id.
        state: The state.
        reason: Why, in words, without secrets; empty when there is nothing to say.
        since: When the state began, in seconds since 1970.
        era: The protocol era that was agreed on; empty when there is none yet.
        pid: The server's process id; None when there is no process.
    """

    instance: str
    server: str
    state: str
    reason: str
    since: float
    era: str
    pid: int | None


class Lease:
    """The right of one instance to count as running. Acquire one with `Lease.acquire`.

    Attributes:
        instance: The instance's id.
    """

    def __init__(self, store: Store, instance: Instance, ttl: float) -> None:
        self._store = store
        self._ttl = ttl
        self._expires_at = instance.expires_at
        self.instance = instance.id

    @classmethod
    async def acquire(cls, store: Store, instance: str | None = None, *, ttl: float = LEASE_SECONDS) -> "Lease":
        """Register this process as a new instance.

        Args:
            store: The database.
            instance: The instance's id, never used before; None makes one up.
            ttl: Seconds that the lease holds after each renewal.

        Raises:
            StoreError: The database failed.
        """
        from toolcrib.store import queries

        now = store.clock()
        row = Instance(instance or uuid4().hex, os.getpid(), socket.gethostname(), now, now + ttl)
        await store.write(queries.add_instance, row)
        return cls(store, row, ttl)

    async def renew(self) -> bool:
        """Move the lease's end to `ttl` seconds from now.

        Returns:
            False when the lease had ended and another instance has taken over what it left.

        Raises:
            StoreError: The database failed.
        """
        from toolcrib.store import queries

        expires_at = self._store.clock() + self._ttl
        if not await self._store.write(queries.extend_lease, self.instance, expires_at):
            return False
        self._expires_at = expires_at
        return True

    async def keep(self) -> NoReturn:
        """Renew the lease three times in its duration, until cancelled.

        A database that fails for a while is borne as long as the lease still holds.

        Raises:
            StoreError: The lease is lost: it could not be renewed in time, or another instance took over.
        """
        while True:
            await anyio.sleep(self._ttl / 3)
            try:
                renewed = await self.renew()
            except StoreError:
                if self._store.clock() >= self._expires_at:
                    raise
            else:
                if not renewed:
                    raise self._lost()

    async def release(self) -> None:
        """Remove the instance and its servers' states, also while being cancelled.

        Raises:
            StoreError: The database failed; the lease ends by itself.
        """
        from toolcrib.store import queries

        with anyio.CancelScope(shield=True):
            await self._store.write(queries.remove_instance, self.instance)

    async def record_state(
        self, server: str, state: str, *, reason: str = "", era: str = "", pid: int | None = None
    ) -> None:
        """Say how one of this instance's servers is.

        Args:
            server: The server's id.
            state: The state; its `since` moves only when it differs from the recorded one.
            reason: Why, in words, without secrets.
            era: The protocol era that was agreed on.
            pid: The server's process id.

        Raises:
            StoreError: The lease is lost, or the database failed.
        """
        from toolcrib.store import queries

        row = ServerState(self.instance, server, state, reason, self._store.clock(), era, pid)
        if not await self._store.write(queries.put_state, row):
            raise self._lost()

    def _lost(self) -> StoreError:
        return StoreError(
            "This instance's lease ended, and another instance took over what it left.",
            hint="Was the computer asleep? Start Toolcrib again.",
        )


async def live_instances(store: Store) -> list[Instance]:
    """The instances whose lease holds, oldest first.

    Raises:
        StoreError: The database failed.
    """
    from toolcrib.store import queries

    return await store.read(queries.instances, store.clock(), True)


async def expired_instances(store: Store) -> list[Instance]:
    """The instances whose lease has ended and that nobody reclaimed yet, oldest first.

    Raises:
        StoreError: The database failed.
    """
    from toolcrib.store import queries

    return await store.read(queries.instances, store.clock(), False)


async def reclaim_instance(store: Store, instance: str) -> list[ServerState] | None:
    """Take over what an instance with an ended lease left, and remove it.

    Args:
        store: The database.
        instance: The instance's id.

    Returns:
        Its servers' last states, to exactly one of those who ask; None to the others, and while the lease
        holds.

    Raises:
        StoreError: The database failed.
    """
    from toolcrib.store import queries

    return await store.write(queries.reclaim, instance, store.clock())


async def live_states(store: Store) -> list[ServerState]:
    """The server states of all instances whose lease holds, by server; not of one that has certainly ended.

    Raises:
        StoreError: The database failed.
    """
    from toolcrib.store import queries

    states = await store.read(queries.live_states, store.clock())
    dead = {each.id for each in await live_instances(store) if each.is_dead} if states else set[str]()
    return [each for each in states if each.instance not in dead]
