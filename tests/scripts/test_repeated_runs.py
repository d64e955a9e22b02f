"""Runs that repeat others, or go on from where they slept: nothing is done twice, and nothing is forgotten."""

import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import Caller, Crib
from toolcrib.config import config_from_mapping
from toolcrib.errors import UnknownOutcomeError, UsageError

pytestmark = pytest.mark.anyio

WRITTEN: list[str] = []
BROKEN: set[str] = set()


async def write(title: str) -> dict[str, Any]:
    """Write something."""
    WRITTEN.append(title)
    return {"id": len(WRITTEN), "title": title}


async def check(key: str) -> str:
    """Fail while it is broken."""
    if key in BROKEN:
        raise ValueError("not now")
    return f"ok {key}"


@pytest.fixture
async def crib(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Crib]:
    """Functions whose effects are unknown."""
    WRITTEN.clear()
    BROKEN.clear()
    async with Crib.from_clients({}, state_dir=tmp_path) as opened:
        opened.add_functions(write, check, server="box")
        yield opened


THREE_STEPS = """await box.write(title='one')
await box.check(key='early')
await box.write(title='two')
await box.check(key='late')"""


async def test_what_an_earlier_run_did_is_not_done_again_by_a_later_repetition_of_its_repetition(crib: Crib) -> None:
    BROKEN.update(["late", "other"])
    first = await crib.run_code(THREE_STEPS)
    changed = THREE_STEPS.replace("early", "other")
    second = await crib.run_code(changed, retry_of=first.run)
    assert [call.state for call in second.calls] == ["repeated", "failed"]
    BROKEN.clear()
    third = await crib.run_code(changed, retry_of=second.run)
    assert [call.state for call in third.calls] == ["repeated", "done", "repeated", "done"]
    assert WRITTEN == ["one", "two"]


async def test_what_nobody_knows_of_the_first_run_stops_every_repetition(tmp_path: Path) -> None:
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
        run = (await crib.run_code("await lost.pay()")).run
        for _ in range(3):
            again = await crib.run_code("await lost.pay()", retry_of=run)
            assert again.status == "stopped"
            run = again.run
    assert source.sent == 1


async def test_a_run_that_is_under_way_is_not_repeated_beside_itself(crib: Crib) -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    async def hold() -> str:
        """Wait."""
        begun.set()
        await go_on.wait()
        return "held"

    crib.add_functions(hold, server="pause")
    code = "await pause.hold()\nawait box.write(title='once')"
    outcomes: list[Any] = []

    async def first() -> None:
        outcomes.append(await crib.run_code(code))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await begun.wait()
            (run,) = (await crib.runs.page()).runs
            with pytest.raises(UsageError, match="under way"):
                await crib.run_code(code, retry_of=run.id)
            go_on.set()
    assert outcomes[0].ok
    assert WRITTEN == ["once"]


ASKING = {
    "mcpServers": {},
    "toolcrib": {
        "policy": {"rules": [{"tools": ["box.check"], "then": "ask", "name": "checks"}]},
        "approvals": {"patience": 0.05},
    },
}


async def test_of_two_that_repeat_a_run_at_the_same_time_one_does(crib: Crib) -> None:
    BROKEN.add("late")
    code = "await box.check(key='late')\nawait box.write(title='once')"
    first = await crib.run_code(code)
    BROKEN.clear()
    refused: list[str] = []

    async def repeat() -> None:
        try:
            await crib.run_code(code, retry_of=first.run)
        except UsageError as error:
            refused.append(error.message)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(repeat)
            tasks.start_soon(repeat)
    assert (WRITTEN, refused) == (["once"], [f"Run {first.run} is just being repeated."])


async def test_a_repetition_that_slept_still_knows_what_the_first_run_did(tmp_path: Path) -> None:
    WRITTEN.clear()
    BROKEN.clear()
    code = "await box.write(title='one')\nawait box.check(key='k')\nawait box.write(title='two')\nawait boom.now()"
    broken = True

    async def now() -> str:
        """Fail while it is broken."""
        if broken:
            raise ValueError("not now")
        return "now"

    async with Crib.open(config_from_mapping({"mcpServers": {}}), state_dir=tmp_path) as crib:
        crib.add_functions(write, check, server="box")
        crib.add_functions(now, server="boom")
        first = await crib.run_code(code.replace("await box.check(key='k')\n", ""))
        assert WRITTEN == ["one", "two"]
    broken = False
    async with Crib.open(config_from_mapping(ASKING), state_dir=tmp_path) as crib:
        crib.add_functions(write, check, server="box")
        crib.add_functions(now, server="boom")
        slept = await crib.run_code(code, retry_of=first.run)
        assert slept.status == "suspended"
        (pending,) = await crib.approvals.list()
        await crib.approvals.decide(pending.id, approved=True)
        with anyio.fail_after(20):
            done = await crib.run_code(code, retry_of=slept.run)
    assert done.ok, done
    assert WRITTEN == ["one", "two"]


LARGE = Path(__file__).resolve().parent.parent / "stubs" / "large.py"
ONE, TWO = Caller(conversation="one"), Caller(conversation="two")


def private(**approvals: Any) -> dict[str, Any]:
    """Nothing is sent once something private was read; checks are asked about."""
    entry = {
        "command": sys.executable,
        "args": ["-S", str(LARGE)],
        "toolcrib": {"protocol": "legacy", "tool_labels": {"rows": ["private"]}},
    }
    rules: list[dict[str, Any]] = [
        {"tools": ["large.send"], "labels": ["private"], "then": "deny", "reason": "private things stay here"},
        {"tools": ["box.check"], "arguments": [{"at": "/key", "equals": "ask"}], "then": "ask", "name": "checks"},
    ]
    settings = {"policy": {"rules": rules}, "approvals": {"patience": 0.05}}
    return {"mcpServers": {"large": entry}, "toolcrib": settings}


READS_AND_SENDS = """rows = await large.rows()
await box.check(key='KEY')
await large.send()"""


@pytest.mark.parametrize("restarted", [True, False])
async def test_what_a_sleeping_run_has_read_it_has_read_when_it_wakes(tmp_path: Path, restarted: bool) -> None:
    code = READS_AND_SENDS.replace("KEY", "ask")
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(Crib.open(private(), state_dir=tmp_path))
        first.add_functions(check, server="box")
        slept = await first.run_code(code, caller=ONE)
        assert slept.status == "suspended", slept
        second = first
        if restarted:
            await stack.aclose()
            second = await stack.enter_async_context(Crib.open(private(), state_dir=tmp_path))
            second.add_functions(check, server="box")
        with anyio.fail_after(20):
            again = await second.run_code(code, retry_of=slept.run, caller=TWO)
            assert again.status == "suspended"
            waiting = (await second.approvals.list())[-1]
            await second.approvals.decide(waiting.id, approved=True)
            done = await second.run_code(code, retry_of=slept.run, caller=TWO)
    assert done.status == "stopped", done
    assert done.fault is not None
    assert "private things stay here" in done.fault.message


async def test_a_result_of_an_earlier_run_counts_as_read_by_whoever_repeats_it(tmp_path: Path) -> None:
    BROKEN.clear()
    BROKEN.add("k")
    code = READS_AND_SENDS.replace("KEY", "k")
    async with Crib.open(private(), state_dir=tmp_path) as crib:
        crib.add_functions(check, server="box")
        first = await crib.run_code(code, caller=ONE)
        BROKEN.clear()
        again = await crib.run_code(code, retry_of=first.run, caller=TWO)
    assert [call.state for call in again.calls] == ["repeated", "done", "denied"], again
    assert "private things stay here" in again.calls[-1].detail


async def test_what_is_denied_meanwhile_is_not_answered_from_an_earlier_run(tmp_path: Path) -> None:
    WRITTEN.clear()
    BROKEN.add("k")
    code = "print((await box.write(title='one'))['id'])\nawait box.check(key='k')"
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        crib.add_functions(write, check, server="box")
        first = await crib.run_code(code)
    rule = {"tools": ["box.write"], "arguments": [{"at": "/title", "equals": "one"}], "then": "deny"}
    config = {"mcpServers": {}, "toolcrib": {"policy": {"rules": [rule]}}}
    async with Crib.open(config_from_mapping(config), state_dir=tmp_path) as crib:
        crib.add_functions(write, check, server="box")
        again = await crib.run_code(code, retry_of=first.run)
    assert (again.status, again.output) == ("stopped", "")
    assert [call.state for call in again.calls] == ["denied"]


async def test_a_run_that_slept_too_long_is_repeated_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    WRITTEN.clear()
    BROKEN.clear()
    code = "await box.write(title='one')\nawait box.check(key='k')"
    async with Crib.open(config_from_mapping(ASKING), state_dir=tmp_path) as crib:
        crib.add_functions(write, check, server="box")
        slept = await crib.run_code(code)
        assert slept.status == "suspended"
        with sqlite3.connect(tmp_path / "toolcrib.db") as database:  # a day passes
            database.execute("update runs set ended_at = ended_at - 86400")
            database.execute("update run_results set expires_at = expires_at - 86400")
        again = await crib.run_code(code, retry_of=slept.run)
        assert again.status == "stopped"
        assert again.fault is not None
        assert "not kept any more" in again.fault.message
    async with Crib.open(config_from_mapping(ASKING), state_dir=tmp_path) as crib:
        await crib.run_code("1")
        with sqlite3.connect(tmp_path / "toolcrib.db") as database:
            assert database.execute("select count(*) from runs where snapshot is not null").fetchone() == (0,)
            assert database.execute("select count(*) from run_results where result is not null").fetchone() == (0,)
    assert WRITTEN == ["one"]


async def test_no_secret_of_the_configuration_is_put_down_with_a_run(tmp_path: Path) -> None:
    secret = "hunter2-correct-horse"
    entry = {"command": "nothing", "env": {"API_TOKEN": secret}, "disabled": True}
    async with Crib.open(config_from_mapping({"mcpServers": {"off": entry}}), state_dir=tmp_path) as crib:
        crib.add_functions(check, server="box")
        await crib.run_code(f"print('{secret}')\nawait box.check(key='k')\nraise ValueError('{secret}')")
    held = [path.name for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert held == []


async def test_without_a_journal_nobody_knows_what_a_run_did_and_none_is_repeated(tmp_path: Path) -> None:
    WRITTEN.clear()
    BROKEN.clear()
    BROKEN.add("k")
    code = "await box.write(title='one')\nawait box.check(key='k')"
    config = {"mcpServers": {}, "toolcrib": {"journal": {"enabled": False}}}
    async with Crib.open(config_from_mapping(config), state_dir=tmp_path) as crib:
        crib.add_functions(write, check, server="box")
        failed = await crib.run_code(code)
        with pytest.raises(UsageError, match="not recorded"):
            await crib.run_code(code, retry_of=failed.run)
    assert WRITTEN == ["one"]


async def test_a_run_tells_every_approval_that_it_waits_for(tmp_path: Path) -> None:
    code = "import asyncio\nawait asyncio.gather(*[box.check(key=f'k{n}') for n in range(3)])"
    async with Crib.open(config_from_mapping(ASKING), state_dir=tmp_path) as crib:
        crib.add_functions(check, server="box")
        slept = await crib.run_code(code)
        waiting = await crib.approvals.list()
    assert slept.status == "suspended"
    assert len(waiting) == 3
    assert all(each.id in slept.waiting for each in waiting)


async def test_a_run_whose_process_is_gone_does_not_count_as_running(tmp_path: Path) -> None:
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        crib.add_functions(write, server="box")
        run = (await crib.run_code("await box.write(title='x')")).run
    with sqlite3.connect(tmp_path / "toolcrib.db") as database:
        database.execute("UPDATE runs SET status = 'running', instance = 'gone', ended_at = NULL WHERE id = ?", (run,))
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        crib.add_functions(write, server="box")
        await crib.run_code("1")
    with sqlite3.connect(tmp_path / "toolcrib.db") as database:
        rows = database.execute("SELECT status, detail FROM runs WHERE id = ?", (run,)).fetchall()
    assert rows == [("unknown", "Toolcrib ended while it ran.")]
