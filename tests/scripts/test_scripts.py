"""Code mode through the library: names, calls through the broker, accounts, runs repeated and taken up again."""

import json
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from toolcrib import Caller, Crib, Principal
from toolcrib.broker import LOCAL, ServerLists
from toolcrib.config import config_from_mapping
from toolcrib.errors import ServerClosedError, UnknownOutcomeError, UsageError
from toolcrib.metatools import MetaTools
from toolcrib.scripts import run_result

pytestmark = pytest.mark.anyio

CALLS: list[tuple[str, Any]] = []
BROKEN = {"flaky": True}


async def add(a: int, b: int) -> dict[str, int]:
    """Add."""
    CALLS.append(("add", (a, b)))
    return {"sum": a + b}


async def write(title: str, kind: Literal["note", "task"] = "note", from_: str = "") -> dict[str, Any]:
    """Write something."""
    CALLS.append(("write", title))
    return {"id": len(CALLS), "title": title}


async def flaky(key: str) -> str:
    """Fail while it is broken."""
    CALLS.append(("flaky", key))
    if BROKEN["flaky"]:
        raise ValueError("not now")
    return f"ok {key}"


async def draw() -> Any:
    """Draw an image."""
    return {"content": [{"type": "image", "mimeType": "image/png", "data": "AAAA"}]}


in_each_database = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
async def crib(anyio_backend: str, tmp_path: Path, database: str) -> AsyncIterator[Crib]:
    """Functions whose effects are unknown, beside one that only reads."""
    CALLS.clear()
    BROKEN["flaky"] = True
    config = {"mcpServers": {}, "toolcrib": {"store": database}}
    async with Crib.open(config, state_dir=tmp_path) as opened:
        opened.add_functions(add, write, flaky, draw, server="box")
        yield opened


async def test_a_script_calls_tools_and_only_what_it_says_comes_back(crib: Crib) -> None:
    outcome = await crib.run_code(
        "total = 0\nfor n in range(3):\n    total = (await box.add(a=total, b=n))['sum']\nprint('sum', total)\ntotal"
    )
    assert (outcome.status, outcome.value, outcome.output) == ("ok", 3, "sum 3\n")
    assert CALLS == [("add", (0, 0)), ("add", (0, 1)), ("add", (1, 2))]
    assert [(call.name, call.line, call.state) for call in outcome.calls] == [("box.add", 3, "done")] * 3


@pytest.mark.parametrize(
    "call",
    [
        "box.add(a=1, b=2)",
        "box_add(a=1, b=2)",
        "box_add({'a': 1, 'b': 2})",
        "call_tool('box.add', {'a': 1, 'b': 2})",
        "call_tool('box.add', {'a': '1', 'b': 2})",
    ],
)
async def test_the_ways_to_write_a_call(crib: Crib, call: str) -> None:
    outcome = await crib.run_code(f"x = await {call}\nx['sum']")
    assert (outcome.status, outcome.value) == ("ok", 3), outcome


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("box.add(a='1', b=2)", "int"),
        ("box.add(a=1)", "b"),
        ("box.add(a=1, b=2, c=3)", "c"),
        ("box.add(1, 2)", "positional"),
        ("box.write(title='x', kind='poem')", "poem"),
    ],
)
async def test_wrong_types_are_told_before_anything_is_called(crib: Crib, call: str, told: str) -> None:
    outcome = await crib.run_code(f"await box.write(title='before')\nawait {call}")
    assert (outcome.status, CALLS) == ("rejected", [])
    assert {finding.line for finding in outcome.findings} == {2}
    assert told in " ".join(finding.message for finding in outcome.findings)


async def test_calls_side_by_side(crib: Crib) -> None:
    code = "import asyncio\nxs = await asyncio.gather(*[box.add(a=n, b=1) for n in range(5)])\n[x['sum'] for x in xs]"
    assert (await crib.run_code(code)).value == [1, 2, 3, 4, 5]


async def test_what_is_wrong_is_told_before_anything_is_called(crib: Crib) -> None:
    outcome = await crib.run_code("await box.write(title='x')\nawait box.ad(a=1, b=2)\nbox.write(title='y')")
    assert (outcome.status, outcome.run, CALLS) == ("rejected", "", [])
    assert [(finding.line, finding.rule) for finding in outcome.findings] == [(2, "unknown-tool"), (3, "not-awaited")]
    assert "box.add" in outcome.findings[0].message + outcome.findings[0].hint


async def test_what_may_well_work_is_no_mistake(crib: Crib) -> None:
    code = "names = {'a': 1}\nkey = 'a' if len(names) else None\nx = await box.add(a=names.get(key, 0), b=1)\nx['sum']"
    outcome = await crib.run_code(code)
    assert (outcome.status, outcome.value) == ("ok", 2), outcome


async def test_a_tool_s_failure_is_an_exception_that_tells_which_tool(crib: Crib) -> None:
    code = "try:\n    await box.flaky(key='k')\nexcept ToolError as e:\n    print(e.tool, '|', e.message)\n'went on'"
    outcome = await crib.run_code(code)
    assert (outcome.value, outcome.output) == ("went on", "box.flaky | ValueError: not now\n")


async def test_wrong_arguments_are_an_exception_and_nothing_is_sent(crib: Crib) -> None:
    code = "try:\n    await call_tool('box.add', {'a': 'many'})\nexcept ToolError as e:\n    print(e.message)"
    outcome = await crib.run_code(code)
    assert "/a" in outcome.output
    assert CALLS == []


async def test_tools_are_searched_and_looked_at_inside_a_script(crib: Crib) -> None:
    code = """found = await search_tools('add numbers')
details = await get_tool_details(found[0]['id'])
[found[0]['id'], details['definition']['name']]"""
    assert (await crib.run_code(code)).value == ["box.add", "add"]


async def test_blocks_are_shown_as_they_are(crib: Crib) -> None:
    outcome = await crib.run_code("await show({'type': 'image', 'mimeType': 'image/png', 'data': 'AAAA'})\n1")
    blocks = run_result(outcome)["content"]
    assert {"type": "image", "mimeType": "image/png", "data": "AAAA"} in blocks


@in_each_database
async def test_after_a_failure_it_is_told_what_was_done_and_the_rest_is_done_once(crib: Crib) -> None:
    first = """a = await box.write(title='one')
b = await box.write(title='two')
await box.flaky(key='k')
[a['id'], b['id']]"""
    failed = await crib.run_code(first)
    assert failed.status == "script_error"
    text = str(run_result(failed)["content"][-1]["text"])
    assert "failed at line 3: ToolError" in text
    assert re.findall(r"- (box\.\w+) \(line (\d)\): (\w+)", text) == [
        ("box.write", "1", "done"),
        ("box.write", "2", "done"),
        ("box.flaky", "3", "failed"),
    ]
    assert f'retry_of="{failed.run}"' in text
    BROKEN["flaky"] = False
    again = await crib.run_code(first, retry_of=failed.run)
    assert again.value == [1, 2]
    assert [call.state for call in again.calls] == ["repeated", "repeated", "done"]
    assert [name for name, _ in CALLS] == ["write", "write", "flaky", "flaky"]


@in_each_database
async def test_each_recorded_call_answers_once_and_a_repeated_run_can_be_repeated(crib: Crib) -> None:
    code = "await box.write(title='same')\nawait box.flaky(key='k')"
    first = await crib.run_code(code)
    twice = "await box.write(title='same')\nawait box.write(title='same')\nawait box.flaky(key='k')"
    second = await crib.run_code(twice, retry_of=first.run)
    assert [call.state for call in second.calls] == ["repeated", "done", "failed"]
    BROKEN["flaky"] = False
    third = await crib.run_code(twice, retry_of=second.run)
    assert [call.state for call in third.calls] == ["repeated", "repeated", "done"]
    assert [title for name, title in CALLS if name == "write"] == ["same", "same"]


async def test_another_principal_s_run_is_as_unknown_as_none(crib: Crib) -> None:
    run = (await crib.run_code("await box.flaky(key='k')")).run
    texts: list[str] = []
    for name, caller in ((run, Caller(Principal("other"))), ("run_000000000000", LOCAL)):
        with pytest.raises(UsageError) as caught:
            await crib.run_code("1", retry_of=name, caller=caller)
        texts.append(str(caught.value).replace(name, "R"))
    assert texts[0] == texts[1]


async def test_a_call_whose_outcome_nobody_knows_stops_a_run_that_would_repeat_it(tmp_path: Path) -> None:
    class Lost:
        """A source whose answers never come."""

        id, description = "lost", ""
        sent = 0

        async def ensure(self, context: Any = None) -> None:
            pass

        async def list(self, method: str, context: Any = None) -> list[dict[str, Any]]:
            return [{"name": "pay", "inputSchema": {"type": "object"}}]

        async def request(self, method: str, params: Any, context: Any = None) -> dict[str, Any]:
            self.sent += 1
            raise UnknownOutcomeError("lost", "lost ended before it answered.")

    source = Lost()
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        await crib.add_source(source)  # type: ignore[arg-type]
        first = await crib.run_code("await lost.pay()")
        assert [call.state for call in first.calls] == ["unknown"]
        sent = source.sent
        again = await crib.run_code(
            "try:\n    await lost.pay()\nexcept Exception:\n    print('went on')", retry_of=first.run
        )
    assert (again.status, again.output) == ("stopped", "")
    assert again.fault is not None
    assert "nobody knows" in again.fault.message
    assert source.sent == sent


async def test_a_denial_ends_the_script_whatever_it_catches(tmp_path: Path) -> None:
    config = {
        "mcpServers": {},
        "toolcrib": {
            "policy": {
                "rules": [
                    {
                        "tools": ["box.write"],
                        "arguments": [{"at": "/title", "equals": "no"}],
                        "then": "deny",
                        "reason": "not that",
                    }
                ]
            }
        },
    }
    CALLS.clear()
    async with Crib.open(config_from_mapping(config), state_dir=tmp_path) as crib:
        crib.add_functions(write, server="box")
        code = """await box.write(title='yes')
try:
    await box.write(title='no')
except BaseException:
    print('caught')
await box.write(title='after')"""
        outcome = await crib.run_code(code)
    assert (outcome.status, outcome.output) == ("stopped", "")
    assert CALLS == [("write", "yes")]
    assert [(call.state, call.line) for call in outcome.calls] == [("done", 1), ("denied", 3)]


async def test_tools_outside_the_visible_set_are_not_there(tmp_path: Path) -> None:
    async with Crib.from_clients({}, policy=ServerLists({}, {"box": ["write"]}), state_dir=tmp_path) as crib:
        crib.add_functions(add, write, server="box")
        outcome = await crib.run_code("await box.write(title='x')")
        assert outcome.status == "rejected"
        inner = await crib.run_code("await call_tool('box.write', {'title': 'x'})")
        assert inner.fault is not None
        assert "There is no tool 'box.write'" in inner.fault.message


@in_each_database
async def test_a_run_that_waits_for_an_approval_survives_a_restart(tmp_path: Path, database: str) -> None:
    rule = {"tools": ["box.write"], "arguments": [{"at": "/title", "equals": "ask"}], "then": "ask"}
    settings = {"policy": {"rules": [rule]}, "approvals": {"patience": 0.05}, "store": database}
    config = {"mcpServers": {}, "toolcrib": settings}
    code = """a = await box.write(title='first')
b = await box.write(title='ask')
print('then', a['title'])
[a['id'], b['title']]"""
    CALLS.clear()
    async with Crib.open(config_from_mapping(config), state_dir=tmp_path) as crib:
        crib.add_functions(write, server="box")
        slept = await crib.run_code(code)
        assert slept.status == "suspended"
        assert "waiting for approval" in slept.waiting
        assert CALLS == [("write", "first")]
    async with Crib.open(config_from_mapping(config), state_dir=tmp_path) as crib:
        crib.add_functions(write, server="box")
        (pending,) = await crib.approvals.list()
        await crib.approvals.decide(pending.id, approved=True, by="a test")
        with anyio.fail_after(20):
            done = await crib.run_code(code, retry_of=slept.run)
    assert (done.status, done.value) == ("ok", [1, "ask"])
    assert CALLS == [("write", "first"), ("write", "ask")]
    assert "then first" in done.output


async def test_the_constant_tool_runs_scripts_and_can_be_left_out(crib: Crib, tmp_path: Path) -> None:
    tools = MetaTools(crib)
    assert "run_code" in {each["name"] for each in tools.definitions()}
    result = await tools.call("run_code", {"code": "await box.add(a=1, b=2)"})
    assert [json.loads(str(result["content"][0]["text"])), result["isError"]] == [{"sum": 3}, False]
    wrong = await tools.call("run_code", {"code": "1", "language": "cobol"})
    assert wrong["isError"]
    assert "python" in str(wrong["content"][0]["text"])
    config = config_from_mapping({"mcpServers": {}, "toolcrib": {"scripts": {"enabled": False}}})
    async with Crib.open(config, state_dir=tmp_path / "other") as other:
        assert "run_code" not in {each["name"] for each in MetaTools(other).definitions()}


async def test_progress_is_told_call_by_call(crib: Crib) -> None:
    told: list[tuple[float, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    await crib.run_code("await box.add(a=1, b=2)\nawait box.add(a=1, b=2)", on_progress=on_progress)
    assert told == [(1, "call 1: box.add"), (2, "call 2: box.add")]


async def test_an_empty_script_and_an_unknown_language_are_refused(crib: Crib) -> None:
    with pytest.raises(UsageError, match="empty"):
        await crib.run_code("  \n")
    with pytest.raises(UsageError, match="typescript") as error:
        await crib.run_code("1", language="typescript")
    assert "`scripts.typescript`" in error.value.hint


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="no wall for full Python is known to hold here")
async def test_a_mistake_that_one_back_end_found_is_not_run_by_the_next(tmp_path: Path) -> None:
    CALLS.clear()
    config = {"mcpServers": {}, "toolcrib": {"scripts": {"full_python": True}}}
    async with Crib.open(config, state_dir=tmp_path) as crib:
        crib.add_functions(add, server="box")
        beyond = "class Own(dict): pass\n"  # inheritance, which only full Python has
        outcome = await crib.run_code(beyond + "(await box.add(a=1, b=2))['sum']")
        assert (outcome.sandbox, outcome.value) == ("python-full", 3)
        outcome = await crib.run_code("await box.add(a='one', b=2)")
        assert (outcome.sandbox, outcome.status) == ("python", "rejected")
    assert CALLS == [("add", (1, 2))]


async def test_a_closed_server_is_a_failure_that_the_script_may_catch(tmp_path: Path) -> None:
    async def gone() -> str:
        """Gone."""
        raise ServerClosedError("box", "box is gone.")

    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        crib.add_functions(gone, server="box")
        outcome = await crib.run_code("try:\n    await box.gone()\nexcept ToolError as e:\n    print(e.message)\n7")
    assert outcome.value == 7
    assert "box is gone" in outcome.output
