"""Approvals after restarts, of several instances, and under clocks that are set."""

import time
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from wiping import LIMIT, Disk, Opening, asked_once, in_each_database, waiting, wipe

from toolcrib import Crib
from toolcrib.broker import Grant
from toolcrib.errors import DeniedError, UsageError

pytestmark = pytest.mark.anyio


async def test_a_call_finds_its_question_again_after_a_restart(opened: Opening, disk: Disk) -> None:
    async with opened() as crib:
        before = await waiting(crib)
    async with opened() as crib:
        assert (await waiting(crib)).approval == before.approval
        await crib.approvals.decide(before.approval, True)
        assert await wipe(crib) == "wiped /a"
    assert disk.wiped == ["/a"]


async def test_a_restart_gives_a_question_no_more_time(opened: Opening) -> None:
    async with opened(timeout=60.0) as crib:
        before = await waiting(crib)
    async with opened(timeout=600.0) as crib:
        assert (await waiting(crib)).approval == before.approval
        assert crib.approvals._asking.open[before.approval].left <= 60.0


@in_each_database
async def test_what_another_instance_does_with_approvals_can_be_followed(opened: Opening) -> None:
    async with opened() as one, opened() as other:
        state = await one.approvals.state()
        async with aclosing(one.approvals.follow(after=state, poll_seconds=0.01)) as changes:
            error = await waiting(other)
            await anext(changes)
            await other.approvals.decide(error.approval, True, grant=Grant("tool"))
            await anext(changes)
            [grant] = await one.approvals.grants()
            await other.approvals.revoke(grant.id)
            await anext(changes)


@in_each_database
async def test_an_approval_given_between_two_runs_counts_once(opened: Opening, disk: Disk) -> None:
    async with opened() as crib:
        before = await waiting(crib)
    async with opened() as other:
        await other.approvals.decide(before.approval, True)
    async with opened() as crib:
        assert await wipe(crib) == "wiped /a"
    async with opened() as crib:
        assert (await waiting(crib)).approval != before.approval
    assert disk.wiped == ["/a"]


@in_each_database
async def test_two_instances_send_an_approved_call_once(opened: Opening, disk: Disk) -> None:
    async with opened(patience=LIMIT) as one, opened(patience=LIMIT) as other, anyio.create_task_group() as tasks:
        said: list[str] = []

        async def call(crib: Crib) -> None:
            try:
                said.append(await wipe(crib))
            except DeniedError as error:
                said.append(str(error))

        tasks.start_soon(call, one)
        approval = await asked_once(one)
        tasks.start_soon(call, other)
        while len(other.approvals._asking.open) == 0 or not all(
            each.filed for each in other.approvals._asking.open.values()
        ):
            await anyio.lowlevel.checkpoint()
        await one.approvals.decide(approval, True)
    assert disk.wiped == ["/a"]
    assert sorted(each.split(" and ")[-1][:12] for each in said) == ["another proc", "wiped /a"]


@in_each_database
@pytest.mark.parametrize("shown", ["before it is in the inbox", "while it is put there"])
async def test_a_question_is_answered_by_the_id_under_which_it_was_shown(
    opened: Opening, disk: Disk, monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    async with opened(patience=LIMIT) as one, opened() as other, anyio.create_task_group() as tasks:
        inbox, go, filed, known = one.approvals._asking.inbox, anyio.Event(), anyio.Event(), anyio.Event()
        file, write = inbox.file, (await inbox.store()).write

        async def filing_late(*args: Any) -> None:
            await go.wait()
            await file(*args)

        async def writing_and_waiting(*args: Any) -> Any:
            row = await write(*args)
            filed.set()
            await known.wait()
            return row

        monkeypatch.setattr(inbox, "file", filing_late)
        tasks.start_soon(wipe, one)
        before = await asked_once(one)
        if shown == "while it is put there":
            monkeypatch.setattr(await inbox.store(), "write", writing_and_waiting)
            go.set()
            await filed.wait()
            listed = await one.approvals.list()
            monkeypatch.undo()
            known.set()
            assert [each.id for each in listed] == [before]
        else:
            there = (await waiting(other)).approval
            go.set()
            while there not in one.approvals._asking.open:
                await anyio.lowlevel.checkpoint()
            assert (await one.approvals.find(before)).id == there
        await one.approvals.decide(before, True)
    assert disk.wiped == ["/a"]


async def test_a_clock_that_is_set_forward_ends_questions_and_one_set_back_revives_none(
    opened: Opening, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    async with opened() as crib:
        store = await crib._shared.opened()
        error = await waiting(crib)
        monkeypatch.setattr(store, "clock", lambda: now + 7200)
        with pytest.raises(UsageError, match="expired already"):
            await crib.approvals.decide(error.approval, True)
        monkeypatch.setattr(store, "clock", lambda: now - 7200)
        assert await crib.approvals.list() == []
        with pytest.raises(UsageError, match="already"):
            await crib.approvals.decide(error.approval, True)
    assert disk.wiped == []
