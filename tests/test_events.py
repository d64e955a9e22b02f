"""Change events: nobody waits for a subscriber, and a slow one is told what it missed."""

import anyio
import pytest

from toolcrib.events import CatalogChanged, Event, EventBus, Missed, ServerStateChanged

pytestmark = pytest.mark.anyio


def states(*names: str) -> list[ServerStateChanged]:
    return [ServerStateChanged("s", name) for name in names]


async def take(events: object, count: int) -> list[Event]:
    taken: list[Event] = []
    with anyio.fail_after(20):
        while len(taken) < count:
            taken.append(await anext(events))  # pyright: ignore
    return taken


async def test_every_subscriber_receives_every_event_in_order() -> None:
    bus = EventBus()
    published = [CatalogChanged("a", added=("a.x",)), *states("starting", "ready")]
    with bus.subscribe() as one, bus.subscribe() as two:
        for event in published:
            bus.publish(event)
        assert await take(one, 3) == published
        assert await take(two, 3) == published


async def test_a_waiting_subscriber_is_woken() -> None:
    bus = EventBus()
    received: list[Event] = []
    waiting = anyio.Event()

    async def receive() -> None:
        with bus.subscribe() as events:
            waiting.set()
            async for event in events:
                received.append(event)
                if len(received) == 2:
                    return

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            await waiting.wait()
            await anyio.lowlevel.checkpoint()
            bus.publish(states("one")[0])
            await anyio.lowlevel.checkpoint()
            bus.publish(states("two")[0])
    assert received == states("one", "two")


async def test_only_what_is_published_inside_the_context_is_received() -> None:
    bus = EventBus()
    bus.publish(states("before")[0])
    with bus.subscribe() as events:
        bus.publish(states("inside")[0])
        assert await take(events, 1) == states("inside")
    bus.publish(states("after")[0])
    assert [event async for event in events] == []


async def test_a_slow_subscriber_loses_the_oldest_and_is_told_how_many() -> None:
    bus = EventBus(bound=2)
    with bus.subscribe() as slow, bus.subscribe() as quick:
        bus.publish(states("1")[0])
        assert await take(quick, 1) == states("1")
        for event in states("2", "3", "4"):
            bus.publish(event)
        assert await take(slow, 3) == [Missed(2), *states("3", "4")]
        assert await take(quick, 3) == [Missed(1), *states("3", "4")]
        bus.publish(states("5")[0])
        assert await take(slow, 1) == states("5")


async def test_a_waiting_iteration_ends_with_its_context() -> None:
    bus = EventBus()
    ended = anyio.Event()

    async def drain(events: object) -> None:
        async for _ in events:  # pyright: ignore
            raise AssertionError
        ended.set()

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            with bus.subscribe() as events:
                tasks.start_soon(drain, events)
                await anyio.lowlevel.checkpoint()
            await ended.wait()


async def test_a_cancelled_subscriber_is_forgotten() -> None:
    bus = EventBus(bound=1)
    ready = anyio.Event()

    async def receive() -> None:
        with bus.subscribe() as events:
            ready.set()
            async for _ in events:
                pass

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            await ready.wait()
            tasks.cancel_scope.cancel()
    bus.publish(states("x")[0])
    bus.publish(states("y")[0])
    with bus.subscribe() as events:
        bus.publish(states("z")[0])
        assert await take(events, 1) == states("z")


def test_publishing_without_subscribers_or_an_event_loop_does_nothing() -> None:
    EventBus().publish(CatalogChanged("a"))


def test_a_bound_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        EventBus(bound=0)
