"""Approvals by the inbox: what waits, and who answers."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from wiping import LIMIT, WIPE, Disk, Opening, asked_once, in_each_database, waiting, wipe

from toolcrib.broker import Caller, Principal
from toolcrib.errors import DeniedError, StoreError, ToolcribError, UsageError
from toolcrib.events import ApprovalChanged

pytestmark = pytest.mark.anyio


async def test_a_call_that_nobody_approves_at_once_says_that_it_waits_and_how_to_allow_it(opened: Opening) -> None:
    async with opened() as crib:
        error = await waiting(crib)
        assert error.code == "approval_waiting"
        assert f"waiting for approval {error.approval}" in str(error)
        assert f"toolcrib approve {error.approval}" in str(error)
        assert [each.id for each in await crib.approvals.list()] == [error.approval]


async def test_the_same_call_comes_back_to_the_same_question(opened: Opening) -> None:
    async with opened() as crib:
        assert (await waiting(crib)).approval == (await waiting(crib)).approval
        assert (await waiting(crib, "/b")).approval != (await waiting(crib)).approval
        assert len(await crib.approvals.list()) == 2


async def test_an_approved_call_is_sent_once_when_it_comes_back(opened: Opening, disk: Disk) -> None:
    async with opened() as crib:
        error = await waiting(crib)
        before = time.time()
        assert (await crib.approvals.find(error.approval)).decided_at is None
        decided = await crib.approvals.decide(error.approval, True, by="ann")
        assert decided.decided_at is not None
        assert before - 1 <= decided.decided_at <= time.time() + 1
        assert decided.principal == "local"
        assert disk.wiped == []  # nobody is there to take the outcome, so nothing is sent yet
        assert await wipe(crib) == "wiped /a"
        assert (await waiting(crib)).approval != error.approval  # the next one is another call
    assert disk.wiped == ["/a"]


@in_each_database
async def test_a_call_that_waits_goes_on_when_it_is_approved(opened: Opening, disk: Disk) -> None:
    async with opened(patience=LIMIT) as crib, anyio.create_task_group() as tasks:
        got: list[str] = []

        async def call() -> None:
            got.append(await wipe(crib))

        tasks.start_soon(call)
        await crib.approvals.decide(await asked_once(crib), True)
        await disk.entered.wait()
    assert got == ["wiped /a"]


async def test_a_denied_call_is_not_sent_and_says_who_denied_it(opened: Opening, disk: Disk) -> None:
    async with opened() as crib:
        error = await waiting(crib)
        await crib.approvals.decide(error.approval, False)
        with pytest.raises(DeniedError, match="was not approved"):
            await wipe(crib)
        assert (await waiting(crib)).approval != error.approval  # who asks again, asks anew
    assert disk.wiped == []


@in_each_database
async def test_a_question_that_nobody_answers_in_time_is_a_no(opened: Opening, disk: Disk) -> None:
    async with opened(timeout=0.05, patience=LIMIT) as crib:
        with pytest.raises(DeniedError, match="nobody answered within"):
            await wipe(crib)
        assert await crib.approvals.list() == []
        [expired] = await crib.approvals.list(everything=True)
        with pytest.raises(UsageError, match="has expired already"):
            await crib.approvals.decide(expired.id, True)
    assert disk.wiped == []


@in_each_database
async def test_a_second_answer_is_refused_and_changes_nothing(opened: Opening, disk: Disk) -> None:
    async with opened() as crib:
        error = await waiting(crib)
        await crib.approvals.decide(error.approval, False, by="ann")
        with pytest.raises(UsageError, match="was denied by ann already"):
            await crib.approvals.decide(error.approval, True)
        with pytest.raises(DeniedError):
            await wipe(crib)


async def test_nothing_has_an_unknown_id(opened: Opening) -> None:
    async with opened() as crib:
        with pytest.raises(UsageError, match="no approval"):
            await crib.approvals.decide("ffffff", True)


async def test_without_an_inbox_the_call_is_denied_with_the_rule_that_would_allow_it(opened: Opening) -> None:
    async with opened(inbox=False) as crib:
        with pytest.raises(DeniedError) as caught:
            await wipe(crib)
    assert "there is nobody to ask" in str(caught.value)
    assert '{"tools": ["local.wipe"], "then": "allow"}' in str(caught.value)


async def test_a_store_that_cannot_be_used_denies(opened: Opening, tmp_path: Path, disk: Disk) -> None:
    (tmp_path / "toolcrib.db").write_text("no database at all, but long enough to be read as one" * 100)
    async with opened() as crib:
        with pytest.raises(DeniedError, match=r"the inbox can't take it: The database .* is damaged"):
            await wipe(crib)
    assert disk.wiped == []


@in_each_database
async def test_no_more_than_a_bound_of_questions_of_one_principal_wait(
    opened: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcrib.broker.approvals.inbox.MOST_WAITING", 2)
    async with opened() as crib:
        await waiting(crib, "/a")
        await waiting(crib, "/b")
        with pytest.raises(DeniedError, match="2 approvals are waiting already"):
            await wipe(crib, "/c")
        await waiting(crib, "/c", Caller(Principal("ann")))


async def test_a_store_that_breaks_while_a_call_waits_ends_nothing(
    opened: Opening, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened() as crib:
        error = await waiting(crib)
        store = await crib._shared.opened()
        with monkeypatch.context() as broken:
            broken.setattr(store, "_run", _no_space)
            assert (await waiting(crib)).approval == error.approval
        await crib.approvals.decide(error.approval, True)
        assert await wipe(crib) == "wiped /a"
    assert disk.wiped == ["/a"]


def _no_space(*_: Any) -> None:
    raise StoreError("The database is on a full disk.")


async def test_questions_and_answers_are_among_the_events(opened: Opening) -> None:
    async with opened() as crib:
        with crib.events.subscribe() as events:
            error = await waiting(crib)
            await crib.approvals.decide(error.approval, True, by="ann")
            await wipe(crib)
            seen = [each async for each in _first(events, 2) if isinstance(each, ApprovalChanged)]
    assert [(each.tool, each.status, each.by) for each in seen] == [(WIPE, "waiting", ""), (WIPE, "approved", "ann")]


async def test_an_answer_is_among_the_events_once_whether_its_caller_comes_back_or_not(opened: Opening) -> None:
    async with opened() as crib, opened() as other:
        mine, theirs = await waiting(crib), await waiting(other, "/b")
        with crib.events.subscribe() as events:
            for each in (mine, theirs):
                await crib.approvals.decide(each.approval, False, by="ann")
            for path in ("/a", "/c"):
                with pytest.raises(ToolcribError):
                    await wipe(crib, path)
            seen = [each async for each in _first(events, 3)]
    assert [(each.approval, each.status) for each in seen[:2]] == [
        (mine.approval, "denied"),
        (theirs.approval, "denied"),
    ]
    assert seen[2].status == "waiting"


async def _first(events: AsyncIterator[Any], count: int) -> AsyncIterator[Any]:
    while count:
        event = await anext(events)
        if isinstance(event, ApprovalChanged):
            count -= 1
            yield event
