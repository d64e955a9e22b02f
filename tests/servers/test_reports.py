"""What a server reports while a request is under way: its order, and what is left of a flood."""

import anyio
import pytest

from toolcrib.servers.progress import MOST_AT_ONCE, Kind, Reports

pytestmark = pytest.mark.anyio


async def test_the_answer_waits_for_a_report_that_is_being_handed_on() -> None:
    handed: list[int] = []
    begun, free = anyio.Event(), anyio.Event()

    async def slow(report: dict[str, int]) -> None:
        begun.set()
        await free.wait()
        handed.append(report["n"])

    async def quick(report: dict[str, int]) -> None:
        handed.append(report["n"])

    reports = Reports(lambda: None)
    slowly, quickly = Kind(reports, slow), Kind(reports, quick)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            assert slowly.take({"n": 1})
            tasks.start_soon(reports.hand_on)
            await begun.wait()
            assert not quickly.take({"n": 2})
            tasks.start_soon(reports.finish)
            await anyio.wait_all_tasks_blocked()
            assert handed == []
            free.set()

    assert handed == [1, 2]


async def test_a_flood_of_one_kind_costs_the_other_nothing() -> None:
    handed: list[object] = []

    async def hand(report: dict[str, object]) -> None:
        handed.append(report["n"])

    reports = Reports(lambda: None)
    progress, logs = Kind(reports, hand), Kind(reports, hand)
    logs.take({"n": "before"})
    for number in range(MOST_AT_ONCE * 3):
        progress.take({"n": number})
    logs.take({"n": "after"})
    await reports.finish()

    assert handed == ["before", *range(MOST_AT_ONCE * 2, MOST_AT_ONCE * 3), "after"]
    assert not progress.take({"n": 0})  # what comes after the answer is dropped
