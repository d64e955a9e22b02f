"""What is told of runs that are on record: listed, one as a whole, after a sleep, after a crash."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Crib
from toolcrib.broker import Caller, Principal
from toolcrib.config import config_from_mapping
from toolcrib.errors import UsageError
from toolcrib.scripts import record

pytestmark = pytest.mark.anyio

ANN = Caller(Principal("ann"), "c1")
SECRET = "hunter2-correct-horse"
ASKING = {
    "mcpServers": {},
    "toolcrib": {
        "approvals": {"patience": 0.01},
        "policy": {"rules": [{"tools": ["box.write"], "then": "ask"}]},
    },
}


async def write(title: str) -> dict[str, str]:
    """Write something."""
    if title == "bad":
        raise ValueError("no bad titles")
    return {"title": title}


@pytest.fixture
async def crib(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Crib]:
    async with Crib.from_clients({}, state_dir=tmp_path) as opened:
        opened.add_functions(write, server="box")
        yield opened


async def test_a_run_is_told_with_its_script_value_output_and_calls(crib: Crib) -> None:
    code = "print('hello')\nawait box.write(title='one')\nfound = await search_tools('write')\n{'found': len(found)}"
    outcome = await crib.run_code(code, caller=ANN)
    run = await crib.runs.find(outcome.run)
    assert (run.principal, run.conversation, run.language, run.script) == ("ann", "c1", "python", "")
    assert (run.status, run.code, run.is_whole, run.output) == ("ok", code, True, "hello\n")
    assert (run.value, run.cut, run.detail, run.line) == ('{"found": 1}', "", "", None)
    assert [(call.number, call.name, call.line, call.effect, call.state) for call in run.calls] == [
        (1, "box.write", 2, "unknown", "done"),
        (2, "search_tools", 3, "read", "done"),
    ]
    entry = await crib.journal.entry(run.calls[0].call)
    assert (entry.tool, entry.run) == ("box.write", run.id)
    assert run.calls[1].call == ""
    assert run.ended_at is not None
    assert run.ended_at >= run.started_at


async def test_a_run_that_failed_is_told_with_the_line(crib: Crib) -> None:
    outcome = await crib.run_code("x = 1\nawait box.write(title='bad')")
    run = await crib.runs.find(outcome.run)
    assert (run.status, run.value, run.line) == ("failed", None, 2)
    assert "no bad titles" in run.detail
    assert [(call.state, call.detail) for call in run.calls] == [("failed", run.calls[0].detail)]
    assert "no bad titles" in run.calls[0].detail


async def test_what_was_called_before_a_run_slept_is_still_told_when_it_has_ended(tmp_path: Path) -> None:
    code = "await search_tools('write')\nawait box.write(title='one')\nawait search_tools('x')\n5"
    async with Crib.open(config_from_mapping(ASKING), state_dir=tmp_path) as crib:
        crib.add_functions(write, server="box")
        slept = await crib.run_code(code)
        assert slept.status == "suspended"
        run = await crib.runs.find(slept.run)
        assert [(call.number, call.state) for call in run.calls] == [(1, "done"), (2, "waiting")]
        (waiting,) = await crib.approvals.list()
        await crib.approvals.decide(waiting.id, approved=True)
        assert (await crib.run_code(code, retry_of=slept.run)).ok
        run = await crib.runs.find(slept.run)
        assert [(call.number, call.line, call.state) for call in run.calls] == [
            (1, 1, "done"),
            (2, 2, "done"),
            (3, 3, "done"),
        ]
        assert (run.status, run.value) == ("ok", "5")


async def test_runs_are_kept_and_told_in_postgresql_too(postgresql: str, tmp_path: Path) -> None:
    config = config_from_mapping({"mcpServers": {}, "toolcrib": {"store": postgresql}})
    async with Crib.open(config, state_dir=tmp_path) as crib:
        crib.add_functions(write, server="box")
        ids = [(await crib.run_code(f"print('\\0')\nawait box.write(title='{n}')\n{n}")).run for n in range(3)]
        first = await crib.runs.page(limit=2, status="ok")
        second = await crib.runs.page(limit=2, before=first.following)
        assert [run.id for page in (first, second) for run in page.runs] == ids[::-1]
        run = await crib.runs.find(ids[1])
        assert (run.value, run.output, [call.name for call in run.calls]) == ("1", "\ufffd\n", ["box.write"])
        result = await crib.runs.result(run.id, run.calls[0].call)
        assert result is not None
        assert result["structuredContent"] == {"title": "1"}


async def test_runs_are_listed_newest_first_page_by_page(crib: Crib, tmp_path: Path) -> None:
    ids: list[str] = []
    for number in range(5):
        caller = ANN if number % 2 else Caller()
        ids.append((await crib.run_code("raise ValueError" if number == 3 else str(number), caller=caller)).run)
    with closing(sqlite3.connect(tmp_path / "toolcrib.db", isolation_level=None)) as database:
        for number, run in enumerate(ids):  # two began in the same moment
            database.execute("UPDATE runs SET started_at = ? WHERE id = ?", (float(number // 2), run))
    expected = [run for _, run in sorted(((number // 2, run) for number, run in enumerate(ids)), reverse=True)]
    first = await crib.runs.page(limit=2)
    second = await crib.runs.page(limit=2, before=first.following)
    last = await crib.runs.page(limit=2, before=second.following)
    assert [run.id for page in (first, second, last) for run in page.runs] == expected
    assert last.following == ""
    assert {run.id for run in (await crib.runs.page(principal="ann")).runs} == {ids[1], ids[3]}
    (failed,) = (await crib.runs.page(status="failed", principal="ann")).runs
    assert (failed.id, failed.begins, failed.detail) == (ids[3], "raise ValueError", "ValueError: ")
    assert (await crib.runs.page(principal="bob")).runs == []


async def test_another_principal_s_run_is_as_unknown_as_one_that_never_was(crib: Crib) -> None:
    run = (await crib.run_code("1", caller=ANN)).run
    assert (await crib.runs.find(run, principal="ann")).id == run
    for asked, principal in ((run, "bob"), ("run_0", "")):
        with pytest.raises(UsageError, match="There is no run"):
            await crib.runs.find(asked, principal=principal)


@pytest.mark.parametrize("place", ["x", "1", "1-", "nan-run_1", "inf-run_1"])
async def test_a_place_where_no_page_begins_is_refused(crib: Crib, place: str) -> None:
    with pytest.raises(UsageError, match="No page begins"):
        await crib.runs.page(before=place)


async def test_a_state_that_there_is_not_is_refused(crib: Crib) -> None:
    with pytest.raises(UsageError, match="No run is 'done'") as caught:
        await crib.runs.page(status="done")
    assert "suspended" in caught.value.hint


async def test_what_repeats_a_run_and_what_is_a_part_of_one_is_found(crib: Crib) -> None:
    await crib.scripts.save("inner", "async def main(title: str):\n    return await box.write(title=title)")
    outer = await crib.run_code("await scripts.inner(title='bad')")
    again = await crib.run_code("1", retry_of=outer.run)
    assert [run.id for run in (await crib.runs.page(retry_of=outer.run)).runs] == [again.run]
    (part,) = (await crib.runs.page(parent=outer.run)).runs
    assert (part.script, part.status) == ("inner", "failed")
    assert [run.id for run in (await crib.runs.page(script="inner")).runs] == [part.id]


async def test_a_run_whose_process_is_gone_is_told_as_unknown_at_once(tmp_path: Path) -> None:
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        run = (await crib.run_code("1")).run
    with closing(sqlite3.connect(tmp_path / "toolcrib.db", isolation_level=None)) as database:
        database.execute("UPDATE runs SET status = 'running', instance = 'gone', ended_at = NULL")
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        (listed,) = (await crib.runs.page()).runs
        assert (listed.status, listed.detail) == ("unknown", "Toolcrib ended while it ran.")
        assert (await crib.runs.find(run)).status == "unknown"
        assert (await crib.runs.page(status="running")).runs == []


async def test_what_calls_with_effects_came_to_is_given_while_it_is_kept(crib: Crib, tmp_path: Path) -> None:
    outcome = await crib.run_code("await box.write(title='one')\nawait search_tools('x')")
    call = outcome.calls[0].call
    result = await crib.runs.result(outcome.run, call)
    assert result is not None
    assert result["structuredContent"] == {"title": "one"}
    assert await crib.runs.result(outcome.run, "x") is None
    with closing(sqlite3.connect(tmp_path / "toolcrib.db", isolation_level=None)) as database:
        database.execute("UPDATE run_results SET expires_at = 0")
    assert await crib.runs.result(outcome.run, call) is None


async def test_reading_makes_no_store(tmp_path: Path) -> None:
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        assert (await crib.runs.page()).runs == []
        assert await crib.runs.result("run_1", "x") is None
        with pytest.raises(UsageError):
            await crib.runs.find("run_1")
    assert not (tmp_path / "toolcrib.db").exists()


async def test_secrets_hidden_halves_and_nul_are_no_trouble_and_not_kept(tmp_path: Path) -> None:
    entry = {"command": "nothing", "env": {"API_TOKEN": SECRET}, "disabled": True}
    async with Crib.open(config_from_mapping({"mcpServers": {"off": entry}}), state_dir=tmp_path) as crib:
        crib.add_functions(write, server="box")
        told = (
            f"print('a\\0b')\ntry:\n    await call_tool('box.{SECRET}', {{}})\nexcept Exception:\n    pass\n'{SECRET}'"
        )
        run = await crib.runs.find((await crib.run_code(told)).run)
        assert (run.output, run.is_whole) == ("a\ufffdb\n", False)
        assert [call.state for call in run.calls] == ["failed"]
        assert SECRET not in repr(run)


async def test_a_large_value_and_many_calls_are_bounded(crib: Crib, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "MOST_CALLS", 3)
    monkeypatch.setattr(record, "_MOST_VALUE", 10)
    outcome = await crib.run_code("for n in range(5):\n    await search_tools('x')\n'0123456789'")
    run = await crib.runs.find(outcome.run)
    assert len(run.calls) == 3
    assert (run.value, run.cut) == ('"012345678', "2 more characters of the value were not kept.")


def test_calls_told_later_count(anyio_backend: Any) -> None:
    earlier, later = '[{"number": 1, "state": "waiting"}, {"number": 3}]', '[{"number": 1, "state": "done"}]'
    assert record.merged(earlier, later) == '[{"number": 1, "state": "done"}, {"number": 3}]'
