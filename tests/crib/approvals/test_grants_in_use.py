"""Grants: how far each one goes."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from wiping import WIPE, Disk, Opening, in_each_database, redefine, waiting, wipe

from toolcrib import Crib
from toolcrib.broker import Caller, Grant, Principal, Question
from toolcrib.config import ArgumentTest
from toolcrib.errors import DeniedError

pytestmark = pytest.mark.anyio


SCRIPT = Caller(origin="script", run="r1")


def _granting(scope: Any, **more: Any) -> Callable[[list[str]], Callable[[Question], Awaitable[Grant]]]:
    def make(asked: list[str]) -> Callable[[Question], Awaitable[Grant]]:
        async def approver(question: Question) -> Grant:
            asked.append(question.call.target)
            return Grant(scope, **more)

        return approver

    return make


async def test_a_grant_for_a_tool_in_a_run_covers_neither_other_tools_nor_other_runs(
    opened: Opening, disk: Disk
) -> None:
    asked: list[str] = []
    async with opened(_granting("tool")(asked)) as crib:
        await wipe(crib, caller=SCRIPT)
        await wipe(crib, "/b", caller=SCRIPT)
        assert asked == [WIPE]
        await crib.call("local.format", {"path": "/"}, caller=SCRIPT)
        assert asked == [WIPE, "local.format"]
        await wipe(crib, caller=replace(SCRIPT, run="r2"))
        assert asked == [WIPE, "local.format", WIPE]
        await wipe(crib, caller=Caller())  # and not the conversation that the run belongs to
        assert len(asked) == 4


async def test_a_grant_for_a_call_covers_that_call_once(opened: Opening) -> None:
    asked: list[str] = []
    async with opened(_granting("call")(asked)) as crib:
        await wipe(crib)
        await wipe(crib)
    assert len(asked) == 2


async def test_a_grant_for_a_caller_covers_its_runs_and_no_other_conversation(opened: Opening) -> None:
    asked: list[str] = []
    async with opened(_granting("caller")(asked)) as crib:
        await wipe(crib, caller=SCRIPT)
        await wipe(crib, caller=replace(SCRIPT, run="r2"))
        await wipe(crib)
        assert len(asked) == 1
        await wipe(crib, caller=Caller(conversation="other"))
        await wipe(crib, caller=Caller(Principal("eve")))
        assert len(asked) == 3


async def test_a_grant_holds_within_its_bounds_only(opened: Opening) -> None:
    asked: list[str] = []
    bounds = (ArgumentTest(at="/path", pattern="^/tmp/"),)
    async with opened(_granting("tool", bounds=bounds)(asked)) as crib:
        await wipe(crib, "/tmp/a")
        await wipe(crib, "/tmp/b")
        assert len(asked) == 1
        await wipe(crib, "/home")
        assert len(asked) == 2


@in_each_database
async def test_a_grant_ends_with_its_time_and_with_its_run(opened: Opening) -> None:
    asked: list[str] = []
    async with opened(_granting("tool")(asked)) as crib:
        await wipe(crib, caller=SCRIPT)
        await crib.approvals.end_run(SCRIPT)
        await wipe(crib, caller=SCRIPT)
        assert len(asked) == 2
    async with opened(_granting("tool", seconds=1e-9)(asked)) as crib:
        await wipe(crib)
        await wipe(crib)
        assert len(asked) == 4


async def test_a_grant_does_not_outlive_the_definition_it_was_given_for(opened: Opening) -> None:
    asked: list[str] = []
    async with opened(_granting("tool")(asked)) as crib:
        await wipe(crib)
        redefine(crib)
        await wipe(crib)
    assert len(asked) == 2


async def test_a_grant_is_for_the_rule_that_asked(disk: Disk, tmp_path: Path) -> None:
    asked: list[str] = []
    rules = [
        {"name": "careful", "arguments": [{"at": "/path", "equals": "/"}], "then": "ask"},
        {"name": "all", "then": "ask"},
    ]
    config = {"mcpServers": {}, "toolcrib": {"policy": {"rules": rules}}}
    crib = Crib.open(config, approver=_granting("tool")(asked), state_dir=tmp_path)
    crib.add_functions(disk.wipe)
    async with crib:
        await wipe(crib, "/a")
        await wipe(crib, "/b")
        assert len(asked) == 1
        await wipe(crib, "/")
        assert len(asked) == 2


@in_each_database
async def test_a_grant_from_the_inbox_holds_in_all_instances_until_it_is_revoked(opened: Opening) -> None:
    async with opened() as one, opened() as other:
        error = await waiting(one)
        await one.approvals.decide(error.approval, True, grant=Grant("tool"), by="ann")
        assert await wipe(other, "/b") == "wiped /b"
        [granted] = await other.approvals.grants()
        assert (granted.tool, granted.by, granted.approval) == (WIPE, "ann", error.approval)
        assert await one.approvals.revoke(granted.id)
        assert not await one.approvals.revoke(granted.id)
        await waiting(other, "/c")


@in_each_database
async def test_what_was_asked_and_granted_stands_in_the_journal(opened: Opening) -> None:
    async with opened() as crib:
        error = await waiting(crib)
        await crib.approvals.decide(error.approval, True, by="inbox ann")
        await wipe(crib)
        denied = await waiting(crib, "/b")
        await crib.approvals.decide(denied.approval, False, by="inbox ann")
        with pytest.raises(DeniedError):
            await wipe(crib, "/b")
        entries = await crib.journal.entries()
    told = [(each.state, each.verdict, each.approval, each.approved_by) for each in entries]
    assert sorted(told) == [
        ("denied", "deny", denied.approval, "inbox ann"),
        ("done", "allow", error.approval, "inbox ann"),
    ]
