"""Calls that wait under a token, and what may change meanwhile."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from wiping import WIPE, Disk, Opening, redefine, waiting, wipe

from toolcrib import Crib
from toolcrib.broker import ApprovalWaitingError, Call, Caller, Decision, Principal, Question, UnknownTokenError
from toolcrib.errors import ToolcribError

pytestmark = pytest.mark.anyio


async def test_a_token_leads_back_to_the_call(opened: Opening, disk: Disk) -> None:
    async with opened() as crib:
        error = await waiting(crib)
        await crib.approvals.decide(error.approval, True)
        assert await wipe(crib, token=error.token) == "wiped /a"
        assert await wipe(crib, token=error.token) == "wiped /a"  # the outcome stays for who comes back
    assert disk.wiped == ["/a"]


async def test_two_who_come_back_at_once_get_one_dispatch_and_one_outcome(opened: Opening, disk: Disk) -> None:
    disk.gate = anyio.Event()
    got: list[str] = []
    async with opened() as crib:
        error = await waiting(crib)
        await crib.approvals.decide(error.approval, True)

        async def come_back(**options: Any) -> None:
            got.append(await wipe(crib, **options))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: come_back(token=error.token))
            tasks.start_soon(lambda: come_back(token=error.token))
            tasks.start_soon(come_back)
            await disk.entered.wait()
            disk.gate.set()
    assert got == ["wiped /a"] * 3
    assert disk.wiped == ["/a"]


async def test_a_connection_that_breaks_loses_nothing(opened: Opening, disk: Disk) -> None:
    disk.gate = anyio.Event()
    async with opened() as crib:
        error = await waiting(crib)
        await crib.approvals.decide(error.approval, True)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wipe, crib)
            await disk.entered.wait()
            tasks.cancel_scope.cancel()
        disk.gate.set()
        assert await wipe(crib) == "wiped /a"
    assert disk.wiped == ["/a"]


async def test_forged_altered_and_foreign_tokens_are_refused_alike(opened: Opening, disk: Disk, tmp_path: Path) -> None:
    async with opened() as crib:
        error = await waiting(crib)
        await crib.approvals.decide(error.approval, True)
        lot, _, seal = error.token.partition(".")
        forged = [f"{lot}.{seal[::-1]}", f"{lot}.", lot, "", "x.y", f"{lot}.é\ud800", f"{'0' * 16}.{seal}"]
        said: set[str] = set()
        for token in forged:
            with pytest.raises(UnknownTokenError) as caught:
                await wipe(crib, token=token)
            said.add(str(caught.value))
        with pytest.raises(UnknownTokenError) as caught:  # another principal's
            await wipe(crib, caller=Caller(Principal("eve")), token=error.token)
        said.add(str(caught.value))
        with pytest.raises(UnknownTokenError) as caught:  # for another call
            await wipe(crib, "/b", token=error.token)
        said.add(str(caught.value))
        async with opened() as other:  # another instance's
            with pytest.raises(UnknownTokenError) as caught:
                await wipe(other, token=error.token)
        said.add(str(caught.value))
        assert len(said) == 1
        assert disk.wiped == []


@pytest.mark.parametrize("by_token", [True, False])
async def test_a_definition_that_changed_after_the_approval_is_asked_about_again(
    opened: Opening, disk: Disk, by_token: bool
) -> None:
    async with opened() as crib:
        error = await waiting(crib)
        await crib.approvals.decide(error.approval, True)
        redefine(crib)
        with pytest.raises(ApprovalWaitingError) as caught:
            await wipe(crib, token=error.token if by_token else None)
        assert caught.value.approval != error.approval
    assert disk.wiped == []


async def test_a_definition_that_changes_while_the_approver_thinks_is_asked_about_again(
    opened: Opening, disk: Disk
) -> None:
    cribs: list[Crib] = []
    shown: list[str] = []

    async def approver(question: Question) -> bool:
        assert question.call.tool is not None
        shown.append(question.call.tool.description)
        if len(shown) == 1:
            redefine(cribs[0])
        return True

    async with opened(approver) as crib:
        cribs.append(crib)
        await wipe(crib)
    assert shown == ["Wipe a path.", "Send a path to the moon."]
    assert disk.wiped == ["/a"]


async def test_what_is_sent_is_what_was_asked_about_whatever_becomes_of_the_callers_own_objects(
    opened: Opening, disk: Disk
) -> None:
    arguments = {"path": "/a"}

    async def approver(question: Question) -> bool:
        arguments["path"] = "/"
        return question.call.arguments == {"path": "/a"}

    async with opened(approver) as crib:
        await crib.call(WIPE, arguments)
    assert disk.wiped == ["/a"]


async def test_arguments_that_are_no_json_are_not_asked_about(opened: Opening, disk: Disk) -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    async with opened() as crib:
        crib.registry.cache_from_maps([{"name": "wipe", "inputSchema": {"type": 1}}], server="local")
        for unwritable in (deep, {1, 2}, object()):
            with pytest.raises(ToolcribError):
                await crib.call(WIPE, {"path": unwritable})
        assert await crib.approvals.list() == []
    assert disk.wiped == []


async def test_another_rule_asks_another_question(disk: Disk, tmp_path: Path) -> None:
    class Growing:
        rule = "mild"

        def hides(self, principal: Principal, server: str, tool: Any) -> bool:
            return False

        def decide(self, call: Call) -> Decision:
            return Decision("ask", "because", self.rule)

    config = {"mcpServers": {}, "toolcrib": {"approvals": {"patience": 0.01}}}
    crib = Crib.open(config, policy=Growing(), state_dir=tmp_path)
    crib.add_functions(disk.wipe)
    async with crib:
        mild = await waiting(crib)
        await crib.approvals.decide(mild.approval, True)
        Growing.rule = "grave"
        assert (await waiting(crib)).approval != mild.approval
    assert disk.wiped == []
