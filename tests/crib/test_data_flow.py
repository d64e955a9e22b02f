"""What a crib remembers of what was read, by its configuration, and what becomes of kept results."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Caller, Crib, Principal
from toolcrib.broker import ALLOW, Call, Decision, Excerpt, ListedTool, Options, Outcome, UnknownHandleError
from toolcrib.errors import DeniedError, ProtocolError, UsageError

pytestmark = pytest.mark.anyio

LARGE = Path(__file__).resolve().parent.parent / "stubs" / "large.py"
ANN = Caller(Principal("ann"), "one")
LABELS = {"labels": ["private"], "tool_labels": {"r*": ["staff"], "send": ["external"]}}


def config(options: Mapping[str, Any] = LABELS, **settings: Any) -> dict[str, Any]:
    entry = {"command": sys.executable, "args": ["-S", str(LARGE)], "toolcrib": {"protocol": "legacy", **options}}
    return {"mcpServers": {"large": entry}, "toolcrib": settings}


async def kept(crib: Crib, caller: Caller = ANN) -> Outcome:
    outcome = await crib.request("tools/call", "large.rows", {}, caller, Options(budget=2_000))
    assert outcome.handle is not None
    return outcome


class Hiding:
    """A policy that allows everything, and hides the tool of a name."""

    hidden = ""

    def hides(self, principal: Principal, server: str, tool: ListedTool | None) -> bool:
        return tool is not None and tool.name == self.hidden

    def decide(self, call: Call) -> Decision:
        return ALLOW


def denying(**conditions: Any) -> dict[str, Any]:
    """A policy that denies sending under a condition."""
    return {
        "rules": [{"name": "leak", "tools": ["large.send"], **conditions, "then": "deny", "reason": "it could leak"}]
    }


async def is_denied(crib: Crib, arguments: dict[str, Any] | None = None, caller: Caller = ANN) -> bool:
    try:
        await crib.call("large.send", arguments, caller=caller)
    except DeniedError as error:
        return "it could leak" in str(error)
    return False


async def test_a_program_gets_results_whole(tmp_path: Path) -> None:
    async with Crib.open(config(), state_dir=tmp_path) as crib:
        outcome = await crib.call("large.rows")
        assert outcome.handle is None
        assert len(outcome.result["structuredContent"]["rows"]) == 5_000
        assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(("label", "after"), [("private", [True, True]), ("staff", [False, True])])
async def test_labels_of_server_and_tool_are_collected(tmp_path: Path, label: str, after: list[bool]) -> None:
    settings = config(policy=denying(labels=[label], arguments=[{"at": "/to", "exists": True}]))
    async with Crib.open(settings, state_dir=tmp_path) as crib:
        denied = [await is_denied(crib, {"to": "x"})]
        for tool in ("send", "rows"):
            await crib.call(f"large.{tool}", caller=ANN)
            denied.append(await is_denied(crib, {"to": "x"}))
        assert denied == [False, *after]
        assert not await is_denied(crib, {"to": "x"}, Caller(Principal("ann"), "two"))


async def test_what_a_script_reads_its_caller_has_read(tmp_path: Path) -> None:
    run = Caller(ANN.principal, ANN.conversation, origin="script", run="r1")
    async with Crib.open(config(policy=denying(labels=["staff"])), state_dir=tmp_path) as crib:
        await crib.call("large.rows", caller=run)
        assert await is_denied(crib, caller=ANN)


async def test_a_value_from_a_result_may_not_go_where_a_rule_forbids_it(tmp_path: Path) -> None:
    async with Crib.open(config(policy=denying(**{"from": ["large.rows"]})), state_dir=tmp_path) as crib:
        told = {"text": "Row 4700007, as you asked", "cc": []}
        assert not await is_denied(crib, told)
        await crib.call("large.rows", caller=ANN)
        assert await is_denied(crib, told)
        assert not await is_denied(crib, {"text": "Row 4699999, as you asked"})
        assert not await is_denied(crib, told, Caller(Principal("ann"), "two"))


@pytest.mark.parametrize("condition", [{"labels": ["staff"]}, {"from": ["large.refuse"]}])
async def test_what_a_server_says_in_an_error_was_read_too(tmp_path: Path, condition: dict[str, Any]) -> None:
    async with Crib.open(config(policy=denying(**condition)), state_dir=tmp_path) as crib:
        with pytest.raises(ProtocolError):
            await crib.call("large.refuse", caller=ANN)
        assert await is_denied(crib, {"text": "Who locked 4700007?"})


@pytest.mark.parametrize("condition", [{"labels": ["staff"]}, {"from": ["large.rows"]}])
async def test_a_part_of_a_kept_result_counts_like_the_whole(tmp_path: Path, condition: dict[str, Any]) -> None:
    other = Caller(Principal("ann"), "two")
    async with Crib.open(config(), state_dir=tmp_path) as crib:
        handle = (await kept(crib)).handle
        assert handle is not None
    # Another process, in whose configuration the server has no labels.
    async with Crib.open(config({}, policy=denying(**condition)), state_dir=tmp_path) as crib:
        told = {"text": "Row 4700007, as you asked"}
        assert not await is_denied(crib, told, other)
        page = await crib.read_result(handle, Excerpt(select="[0].rows[7].id"), caller=other)
        assert page.values == ("4700007",)
        assert await is_denied(crib, told, other)


async def test_another_principal_s_handle_is_unknown_whatever_is_asked_of_it(tmp_path: Path) -> None:
    async with Crib.open(config(), state_dir=tmp_path) as crib:
        handle = (await kept(crib)).handle
        assert handle is not None
        for wanted in (Excerpt(), Excerpt(select="["), Excerpt(offset=10**9)):
            with pytest.raises(UnknownHandleError):
                await crib.read_result(handle, wanted, caller=Caller(Principal("ben"), "one"))
        with pytest.raises(UsageError):
            await crib.read_result(handle, Excerpt(select="["), caller=ANN)


async def test_the_handle_of_a_tool_that_is_denied_since_is_unknown(tmp_path: Path) -> None:
    policy = Hiding()
    async with Crib.open(config(), policy=policy, state_dir=tmp_path) as crib:
        handle = (await kept(crib)).handle
        assert handle is not None
        assert (await crib.read_result(handle, caller=ANN)).total == 2
        policy.hidden = "rows"
        for wanted in (Excerpt(), Excerpt(select="[")):
            with pytest.raises(UnknownHandleError):
                await crib.read_result(handle, wanted, caller=ANN)


async def test_a_handle_of_a_tool_that_only_its_definition_hides_is_unknown_in_another_process(tmp_path: Path) -> None:
    async with Crib.open(config(), state_dir=tmp_path) as crib:
        handle = (await kept(crib)).handle
        assert handle is not None
    async with Crib.open(config(policy={"read_only": True}), state_dir=tmp_path) as crib:
        with pytest.raises(UnknownHandleError):
            await crib.read_result(handle, caller=ANN)


async def test_the_configuration_says_how_large_a_kept_result_may_be(tmp_path: Path) -> None:
    settings = {"results": {"max_mb": 1, "max_result_mb": 1}}
    async with Crib.open(config(**settings), state_dir=tmp_path) as crib:
        outcome = await crib.request("tools/call", "large.picture", {}, ANN, Options(budget=2_000))
        assert outcome.handle is None
        assert "toolcrib/not_kept" in outcome.result["_meta"]
        assert len(outcome.result["content"][0]["data"]) == 4_000_000


async def test_a_state_folder_that_can_t_be_written_loses_no_result(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("in the way")
    async with Crib.open(config(), state_dir=tmp_path) as crib:
        outcome = await crib.request("tools/call", "large.rows", {}, ANN, Options(budget=2_000))
        assert outcome.handle is None
        assert len(outcome.result["structuredContent"]["rows"]) == 5_000
        assert outcome.result["_meta"]["toolcrib/not_kept"]
