"""Approvals by an approver of the program."""

from typing import Any

import anyio
import pytest
from wiping import WIPE, Disk, Opening, wipe

from toolcrib import Crib
from toolcrib.broker import Question
from toolcrib.errors import DeniedError, UsageError

pytestmark = pytest.mark.anyio


async def test_the_approver_is_shown_the_whole_call_and_its_yes_lets_it_go_on(opened: Opening, disk: Disk) -> None:
    shown: list[Question] = []

    async def approver(question: Question) -> bool:
        shown.append(question)
        return True

    async with opened(approver) as crib:
        assert await wipe(crib) == "wiped /a"
    assert (shown[0].call.target, shown[0].call.arguments, shown[0].rule) == (WIPE, {"path": "/a"}, "all")
    assert "Allow local.wipe" in shown[0].text
    assert '"path": "/a"' in shown[0].text
    assert disk.wiped == ["/a"]


@pytest.mark.parametrize("answer", [False, None, "no", "yes", 1, []])
async def test_everything_but_true_and_a_grant_is_a_no(opened: Opening, disk: Disk, answer: Any) -> None:
    async def approver(question: Question) -> Any:
        return answer

    async with opened(approver) as crib:
        with pytest.raises(DeniedError, match="was not approved"):
            await wipe(crib)
    assert disk.wiped == []


async def test_an_approver_that_raises_has_not_agreed(opened: Opening, disk: Disk) -> None:
    async def approver(question: Question) -> bool:
        raise RuntimeError("out of paper")

    async with opened(approver) as crib:
        with pytest.raises(DeniedError, match="the approver failed"):
            await wipe(crib)
    assert disk.wiped == []


async def test_an_approver_that_is_no_coroutine_function_has_not_agreed(opened: Opening, disk: Disk) -> None:
    async with opened(lambda _: True) as crib:
        with pytest.raises(DeniedError, match="the approver failed"):
            await wipe(crib)
    assert disk.wiped == []


async def test_an_approver_that_hangs_is_given_up(opened: Opening, disk: Disk) -> None:
    left = anyio.Event()

    async def approver(question: Question) -> bool:
        try:
            await anyio.sleep_forever()
        finally:
            left.set()
        return True

    async with opened(approver, timeout=0.05) as crib:
        with pytest.raises(DeniedError, match="did not answer in time"):
            await wipe(crib)
    assert left.is_set()
    assert disk.wiped == []


@pytest.mark.parametrize("first", [True, False])
async def test_of_two_answers_the_first_counts(opened: Opening, disk: Disk, first: bool) -> None:
    cribs: list[Crib] = []

    async def approver(question: Question) -> bool:
        await cribs[0].approvals.decide(question.id, first)
        how = "approved" if first else "denied"
        with pytest.raises(UsageError, match=f"was {how} by console already"):
            await cribs[0].approvals.decide(question.id, not first)
        assert await cribs[0].approvals.list() == []
        [decided] = await cribs[0].approvals.list(everything=True)
        assert (decided.status, decided.decided_by, decided.principal) == (how, "console", "local")
        assert decided.decided_at is not None
        assert decided.decided_at >= decided.created_at
        return not first

    async with opened(approver) as crib:
        cribs.append(crib)
        if first:
            assert await wipe(crib) == "wiped /a"
        else:
            with pytest.raises(DeniedError):
                await wipe(crib)
    assert disk.wiped == (["/a"] if first else [])


async def test_a_call_that_is_cancelled_while_the_approver_is_asked_is_not_sent(opened: Opening, disk: Disk) -> None:
    asked = anyio.Event()

    async def approver(question: Question) -> bool:
        asked.set()
        await anyio.sleep_forever()
        return True

    async with opened(approver) as crib, anyio.create_task_group() as tasks:
        tasks.start_soon(wipe, crib)
        await asked.wait()
        tasks.cancel_scope.cancel()
    assert disk.wiped == []
