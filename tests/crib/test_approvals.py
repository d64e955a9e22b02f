"""Approvals through the library: an approver, the inbox, grants, parked calls and what may go wrong with each."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.lowlevel import Server

from toolcrib import Crib
from toolcrib.broker import (
    ApprovalWaitingError,
    Call,
    Caller,
    Decision,
    Grant,
    Options,
    Principal,
    Question,
    UnknownTokenError,
)
from toolcrib.config import ArgumentTest
from toolcrib.errors import DeniedError, StoreError, ToolcribError, UsageError
from toolcrib.events import ApprovalChanged

pytestmark = pytest.mark.anyio

LIMIT = 20.0
WIPE = "local.wipe"


class Disk:
    """What the tools act on."""

    def __init__(self) -> None:
        self.wiped: list[str] = []
        self.gate = anyio.Event()
        self.gate.set()
        self.entered = anyio.Event()

    async def wipe(self, path: str) -> str:
        """Wipe a path."""
        self.wiped.append(path)
        self.entered.set()
        await self.gate.wait()
        return f"wiped {path}"

    async def format(self, path: str) -> str:
        """Format a path."""
        self.wiped.append(f"format {path}")
        return f"formatted {path}"


Opening = Callable[..., Any]


@pytest.fixture
def disk() -> Disk:
    return Disk()


in_each_database = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def opened(disk: Disk, tmp_path: Path, database: str) -> Opening:
    """Opens a crib over the same state as the others, whose policy asks about everything."""

    @asynccontextmanager
    async def opening(approver: Any = None, **approvals: Any) -> AsyncIterator[Crib]:
        settings = {
            "approvals": {"patience": 0.01, **approvals},
            "policy": {"rules": [{"name": "all", "then": "ask"}]},
            "store": database,
        }
        crib = Crib.open({"mcpServers": {}, "toolcrib": settings}, approver=approver, state_dir=tmp_path)
        crib.add_functions(disk.wipe, disk.format)
        with anyio.fail_after(LIMIT):
            async with crib:
                yield crib

    return opening


async def wipe(crib: Crib, path: str = "/a", caller: Caller | None = None, **options: Any) -> str:
    outcome = await crib.request("tools/call", WIPE, {"path": path}, caller or Caller(), Options(**options))
    return outcome.result["content"][0]["text"]


async def waiting(crib: Crib, path: str = "/a", caller: Caller | None = None) -> ApprovalWaitingError:
    """The error of a call that nobody has approved yet."""
    with pytest.raises(ApprovalWaitingError) as caught:
        await wipe(crib, path, caller)
    return caught.value


async def asked_once(crib: Crib) -> str:
    """The id of the one question that waits, as soon as there is one."""
    while not (found := await crib.approvals.list()):
        await anyio.lowlevel.checkpoint()
    assert len(found) == 1
    return found[0].id


# An approver of the program


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
        with pytest.raises(UsageError):
            await cribs[0].approvals.decide(question.id, not first)
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


# The inbox


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
        await crib.approvals.decide(error.approval, True, by="ann")
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


async def _first(events: AsyncIterator[Any], count: int) -> AsyncIterator[Any]:
    while count:
        event = await anext(events)
        if isinstance(event, ApprovalChanged):
            count -= 1
            yield event


# Parked calls


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
        _redefine(crib)
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
            _redefine(cribs[0])
        return True

    async with opened(approver) as crib:
        cribs.append(crib)
        await wipe(crib)
    assert shown == ["Wipe a path.", "Send a path to the moon."]
    assert disk.wiped == ["/a"]


def _redefine(crib: Crib) -> None:
    definitions = [dict(crib.registry.tool(each).definition) for each in crib.registry.keys("local")]
    for definition in definitions:
        if definition["name"] == "wipe":
            definition["description"] = "Send a path to the moon."
    crib.registry.cache_from_maps(definitions, server="local")


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


# Restarts, several instances and clocks


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


# Grants

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
        _redefine(crib)
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


# What a server asks for before it goes on


@asynccontextmanager
async def booking(**policy: Any) -> AsyncIterator[tuple[Crib, list[dict[str, Any]]]]:
    """A crib over a server that asks for a seat, then for a meal, then books; and what it was sent."""
    calls: list[dict[str, Any]] = []

    async def listing(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="book", input_schema={"type": "object"})])

    async def calling(ctx: Any, params: types.CallToolRequestParams) -> Any:
        calls.append({"state": params.request_state, "answers": params.input_responses})
        wanted = {None: "seat", "1": "meal"}.get(params.request_state)
        if wanted is None:
            return types.CallToolResult(content=[types.TextContent(text="booked")])
        form = types.ElicitRequestFormParams(
            message=f"Which {wanted}?", requested_schema={"type": "object", "properties": {}}
        )
        requests = {wanted: types.ElicitRequest(params=form)}
        return types.InputRequiredResult(input_requests=requests, request_state=str(len(calls)))

    server = Server[Any]("up", version="1", on_list_tools=listing, on_call_tool=calling)
    with anyio.fail_after(LIMIT):
        async with Client(server) as client, Crib.from_clients({"up": client}, **policy) as crib:
            yield crib, calls


async def test_what_a_server_asks_comes_back_with_a_token_for_each_round() -> None:
    async with booking() as (crib, calls):

        async def book(**options: Any) -> Any:
            return await crib.request("tools/call", "up.book", {}, options=Options(**options))

        first = await book()
        assert (first.kind, list(first.result["inputRequests"])) == ("input_required", ["seat"])
        again = await book(token=first.token)  # an answer is missing: asked again, and nothing sent
        assert (again.kind, again.token, len(calls)) == ("input_required", first.token, 1)
        seat, meal = {"seat": {"action": "decline"}}, {"meal": {"action": "cancel"}}
        second = await book(token=first.token, input_responses={**seat, "other": {"action": "cancel"}})
        assert list(second.result["inputRequests"]) == ["meal"]
        third = await book(token=second.token, input_responses=meal)
        assert (third.kind, third.token) == ("result", None)
        late = await book(token=first.token, input_responses=meal)  # the first round is over, and has its outcome
        assert late.token == second.token
    assert [each["state"] for each in calls] == [None, "1", "2"]
    assert list(calls[1]["answers"]) == ["seat"]


async def test_a_call_may_need_an_approval_and_then_an_answer() -> None:
    async def approver(question: Question) -> bool:
        return True

    class Ask:
        def hides(self, principal: Principal, server: str, tool: Any) -> bool:
            return False

        def decide(self, call: Call) -> Decision:
            return Decision("ask")

    async with booking(approver=approver, policy=Ask()) as (crib, _):
        outcome = await crib.call("up.book")
        assert outcome.kind == "input_required"
        assert outcome.token is not None
