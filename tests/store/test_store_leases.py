"""Leases of instances, and the states of their servers, over SQLite and, where there is one, PostgreSQL."""

import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import anyio
import pytest
from sqlalchemy import Column, Integer, MetaData, Table, func, insert, select, text

from toolcrib.errors import StoreError
from toolcrib.store import (
    Instance,
    Lease,
    ServerState,
    Store,
    expired_instances,
    live_instances,
    live_states,
    open_store,
    queries,
    reclaim_instance,
)

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "toolcrib.db")
    found: str = request.getfixturevalue("postgresql")
    return found


@pytest.fixture
def store(target: str, clock: Clock) -> Iterator[Store]:
    with closing(open_store(target, clock=clock)) as opened:
        yield opened


@pytest.fixture
def other(target: str, clock: Clock, store: Store) -> Iterator[Store]:
    """What another process sees."""
    with closing(open_store(target, clock=clock)) as opened:
        yield opened


P = ParamSpec("P")


def timely(test: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
    """Fail rather than hang."""

    @wraps(test)
    async def limited(*args: P.args, **kwargs: P.kwargs) -> None:
        with anyio.fail_after(20):
            await test(*args, **kwargs)

    return limited


@timely
async def test_an_instance_with_a_lease_is_live_for_all(store: Store, other: Store) -> None:
    lease = await Lease.acquire(store, ttl=30)
    assert await live_instances(other) == [Instance(lease.instance, os.getpid(), socket.gethostname(), 1000, 1030)]
    assert await expired_instances(other) == []


@timely
async def test_a_lease_that_is_not_renewed_ends(store: Store, other: Store, clock: Clock) -> None:
    lease = await Lease.acquire(store, ttl=30)
    clock.now += 29.9
    assert [each.id for each in await live_instances(other)] == [lease.instance]
    clock.now += 0.1
    assert await live_instances(other) == []
    assert [each.id for each in await expired_instances(other)] == [lease.instance]


@timely
async def test_a_renewed_lease_holds_on(store: Store, other: Store, clock: Clock) -> None:
    lease = await Lease.acquire(store, ttl=30)
    clock.now += 20
    assert await lease.renew()
    clock.now += 20
    assert [each.expires_at for each in await live_instances(other)] == [1050]


@timely
async def test_a_late_renewal_counts_as_long_as_nobody_took_over(store: Store, clock: Clock) -> None:
    lease = await Lease.acquire(store, ttl=30)
    clock.now += 100
    assert await lease.renew()
    assert len(await live_instances(store)) == 1


@timely
async def test_a_released_instance_is_gone_with_its_states(store: Store, other: Store) -> None:
    lease = await Lease.acquire(store)
    await lease.record_state("a", "ready")
    await lease.release()
    await lease.release()
    assert await live_instances(other) == []
    assert await expired_instances(other) == []
    assert await live_states(other) == []
    assert not await lease.renew()


@timely
async def test_a_lease_is_released_while_being_cancelled(store: Store) -> None:
    with anyio.CancelScope() as scope:
        lease = await Lease.acquire(store)
        scope.cancel()
        await lease.release()
    assert await live_instances(store) == []


@timely
async def test_what_an_ended_instance_left_goes_to_exactly_one(store: Store, other: Store, clock: Clock) -> None:
    lease = await Lease.acquire(store, ttl=30)
    await lease.record_state("a", "ready", era="2026-07-28", pid=4711)
    assert await reclaim_instance(other, lease.instance) is None  # it still runs
    clock.now += 31
    taken: list[list[ServerState] | None] = []

    async def reclaim(by: Store) -> None:
        taken.append(await reclaim_instance(by, lease.instance))

    async with anyio.create_task_group() as tasks:
        for by in (store, other) * 4:
            tasks.start_soon(reclaim, by)
    left = [ServerState(lease.instance, "a", "ready", "", 1000, "2026-07-28", 4711)]
    assert [each for each in taken if each is not None] == [left]
    assert len(taken) == 8
    assert await expired_instances(store) == []


@timely
async def test_who_was_taken_over_is_told(store: Store, other: Store, clock: Clock) -> None:
    lease = await Lease.acquire(store, ttl=30)
    clock.now += 31
    await reclaim_instance(other, lease.instance)
    assert not await lease.renew()
    with pytest.raises(StoreError, match="another instance took over"):
        await lease.record_state("a", "ready")
    assert await live_states(other) == []


@timely
async def test_states_of_live_instances_are_seen_by_all(store: Store, other: Store, clock: Clock) -> None:
    short, long = await Lease.acquire(store, ttl=10), await Lease.acquire(other, ttl=60)
    await short.record_state("b", "ready", era="2025-11-25", pid=1)
    await long.record_state("a", "failed", reason="it exited with 1")
    assert await live_states(store) == [
        ServerState(long.instance, "a", "failed", "it exited with 1", 1000, "", None),
        ServerState(short.instance, "b", "ready", "", 1000, "2025-11-25", 1),
    ]
    clock.now += 11
    assert [state.server for state in await live_states(store)] == ["a"]


@pytest.mark.skipif(os.name != "posix", reason="processes are looked up by signal 0")
@timely
async def test_states_of_an_instance_whose_process_has_ended_are_not_seen(store: Store, clock: Clock) -> None:
    process = await anyio.run_process([sys.executable, "-S", "-c", "import os; print(os.getpid())"])
    ended = Instance("ended", int(process.stdout), socket.gethostname(), clock.now, clock.now + 60)
    await store.write(queries.add_instance, ended)
    await store.write(queries.put_state, ServerState("ended", "a", "ready", "", clock.now, "", None))
    assert [each.id for each in await live_instances(store)] == ["ended"]  # its lease has not
    assert await live_states(store) == []


@timely
async def test_since_is_when_the_state_itself_began(store: Store, clock: Clock) -> None:
    lease = await Lease.acquire(store, ttl=100)
    await lease.record_state("a", "starting", pid=1)
    clock.now = 1005
    await lease.record_state("a", "starting", pid=2, reason="second try")
    assert await live_states(store) == [ServerState(lease.instance, "a", "starting", "second try", 1000, "", 2)]
    clock.now = 1009
    await lease.record_state("a", "ready", pid=2)
    assert await live_states(store) == [ServerState(lease.instance, "a", "ready", "", 1009, "", 2)]


@timely
async def test_keep_renews_until_it_is_cancelled(target: str, store: Store) -> None:
    renewed = anyio.Event()
    readings = iter(range(1_000_000))

    # The clock is read before the work goes to its thread, so that the event is set by the loop's own thread.
    def reading() -> float:
        value = next(readings)
        if value == 3:  # 0 is the acquisition, each further one a renewal
            renewed.set()
        return 1000.0 + value

    with closing(open_store(target, clock=reading)) as kept:
        lease = await Lease.acquire(kept, ttl=0.03)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lease.keep)
            await renewed.wait()
            tasks.cancel_scope.cancel()
    with store.transaction(write=False) as connection:
        assert connection.execute(text("SELECT expires_at FROM instances")).scalar_one() >= 1002.03


@timely
async def test_keep_ends_when_another_instance_took_over(store: Store, clock: Clock) -> None:
    lease = await Lease.acquire(store, ttl=0.03)
    clock.now += 1
    assert await reclaim_instance(store, lease.instance) == []
    with pytest.raises(StoreError, match="another instance took over"):
        await lease.keep()


@timely
async def test_keep_bears_a_failing_database_until_the_lease_ends(target: str, store: Store) -> None:
    readings: list[float] = []

    def ticking() -> float:
        readings.append(1000 + 0.01 * len(readings))
        return readings[-1]

    with closing(open_store(target, clock=ticking)) as failing:
        lease = await Lease.acquire(failing, ttl=0.06)
        with store.transaction(write=True) as connection:
            connection.execute(text("DROP TABLE server_states"))
            connection.execute(text("DROP TABLE instances"))
        with pytest.raises(StoreError, match="failed"):
            await lease.keep()
    # Every failure reads the clock twice, for the renewal and for the end at 1000.06.
    assert readings[-1] == pytest.approx(1000.06)


def test_what_is_read_together_is_of_one_moment(store: Store) -> None:
    notes = Table("moments", MetaData(), Column("id", Integer, primary_key=True))
    with store.transaction(write=True) as connection:
        notes.create(connection)
    counted = select(func.count()).select_from(notes)
    with store.transaction(write=False) as reading:
        before = reading.execute(counted).scalar_one()
        with store.transaction(write=True) as writing:
            writing.execute(insert(notes).values(id=1))
        assert reading.execute(counted).scalar_one() == before == 0
    with store.transaction(write=False) as reading:
        assert reading.execute(counted).scalar_one() == 1
