"""Scripts that ran, on the console: their code, output and calls, what went wrong where, and how to go on."""

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolcrib.broker import Caller, Entry, Filter, Principal
from toolcrib.console.pages import runs as page_of_runs
from toolcrib.console.timeline import timeline
from toolcrib.scripts import MadeCall, Run

pytestmark = pytest.mark.anyio

VIC = Caller(Principal("vic"), "talk")


async def test_a_run_is_told_with_code_calls_output_and_value(house: Any) -> None:
    async with house() as browser:
        code = "print('hello')\nfound = await search_tools('read')\nawait box.write(text='one')\n{'count': 1}\n"
        run = (await browser.crib.run_code(code, caller=VIC)).run
        assert house.links(await browser.get("/runs"), run) == [f"/runs/{run}"]
        page = await browser.get(f"/runs/{run}")
        said = house.words(page)
        assert 'Output hello Final value { "count": 1 }' in said
        assert re.findall(r'id="L(\d+)" data-number="(\d+)"', page) == [(str(n), str(n)) for n in range(1, 5)]
        (entry,) = await browser.crib.journal.entries(Filter())
        assert house.links(page, "box.write") == [f"/calls/{entry.id}"]
        assert house.links(page, "3") == ["#L3"]
        assert page.count('<svg class="span"') == 1  # a search has no place on the time line
        assert "Where it stands" not in said
        answer = await browser.client.get(f"/console/runs/{run}/code")
        assert (answer.text, answer.headers["content-type"]) == (code, "text/plain; charset=utf-8")
        assert answer.headers["content-disposition"] == f'attachment; filename="{run}-code.py"'
        await browser.get(f"/runs/{run}/snapshot", status=404)
        await browser.get("/runs/run_0", status=404)


async def test_a_run_that_failed_says_where_and_how_to_go_on(house: Any) -> None:
    async with house() as browser:
        run = (await browser.crib.run_code("await box.write(text='one')\nawait box.write(text='bad')")).run
        page = await browser.get(f"/runs/{run}")
        said = house.words(page)
        assert "Line 2 : ToolError: ValueError: no bad <b>texts</b>" in said
        assert 'class="line wrong" id="L2"' in page
        assert "Of its calls with effects: 1 done , 1 failed ." in said
        assert f"toolcrib run --retry-of {run} FILE" in said
        assert f'run_code(code="", retry_of="{run}")' in said
        again = (await browser.crib.run_code("await box.write(text='one')", retry_of=run)).run
        said = house.words(await browser.get(f"/runs/{run}"))
        assert f"It was gone on with by {again} ok ." in said
        assert "--retry-of" not in said
        page = await browser.get(f"/runs/{again}")
        assert house.links(page, run) == [f"/runs/{run}"]
        assert "repeated" in house.words(page)


async def test_a_run_that_toolcrib_ended_in_says_what_is_done_and_what_is_unknown(house: Any, tmp_path: Path) -> None:
    async with house() as browser:
        run = (await browser.crib.run_code("for n in range(3):\n    await box.write(text=f'{n}')")).run
        await browser.crib.runs.find(run)  # so that all of it is written
        with closing(sqlite3.connect(tmp_path / "state" / "toolcrib.db", isolation_level=None)) as database:
            # As a process leaves it that is killed while the last call is under way.
            database.execute("UPDATE runs SET status='running', instance='gone', ended_at=NULL, calls='[]', value=NULL")
            database.execute(
                "UPDATE calls SET state='started', instance='gone', ended_at=NULL, duration_ms=NULL"
                " WHERE seq = (SELECT max(seq) FROM calls)"
            )
        page = await browser.get(f"/runs/{run}")
        said = house.words(page)
        assert "unknown Toolcrib ended while it ran." in said
        assert "Of its calls with effects: 2 done , 1 unknown ." in said
        assert "look first whether it took effect" in said
        assert f"--retry-of {run}" in said
        assert "Took not known" in said
        assert "Final value" not in said
        assert len(house.links(page, "box.write")) == 3


async def test_a_run_that_sleeps_leads_to_what_waits(house: Any) -> None:
    async with house() as browser:
        run = (await browser.crib.run_code("await box.send(to='ann')")).run
        page = await browser.get(f"/runs/{run}")
        assert "suspended It sleeps until an approval is given." in house.words(page)
        assert house.links(page, "What waits") == ["/approvals"]


async def test_saved_scripts_are_named_and_parts_lead_to_the_whole(house: Any) -> None:
    async with house() as browser:
        await browser.crib.scripts.save("inner", "async def main(text: str):\n    return await box.write(text=text)")
        outer = (await browser.crib.run_code("await scripts.inner(text='bad')")).run
        (part,) = (await browser.crib.runs.page(parent=outer)).runs
        page = await browser.get("/runs?script=inner")
        assert house.links(page, part.id) == [f"/runs/{part.id}"]
        said = house.words(await browser.get(f"/runs/{part.id}"))
        assert said.startswith(f"inner: {part.id}")
        assert f"It is a part of {outer} , which is the one to go on with." in said
        assert f"Scripts that it called inner {part.id} failed" in house.words(await browser.get(f"/runs/{outer}"))
        alone = await browser.crib.scripts.run("inner", {"text": "bad"})
        assert alone.is_error
        newest = (await browser.crib.runs.page(limit=1)).runs[0].id
        assert f"toolcrib scripts run inner --retry-of {newest}" in house.words(await browser.get(f"/runs/{newest}"))


async def test_older_runs_are_on_further_pages(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_of_runs, "RUNS_ON_A_PAGE", 2)
    async with house() as browser:
        ids = [(await browser.crib.run_code(str(number))).run for number in range(3)]
        first = await browser.get("/runs?status=ok")
        (older,) = house.links(first, "Older runs")
        second = await browser.get(older)
        seen = re.findall(r'id="run-(run_[0-9a-f]+)"', first + second)
        assert seen == ids[::-1]
        assert house.links(second, "Newest runs") == ["/runs?status=ok"]
        assert "No run is &#39;done&#39;" in await browser.get("/runs?status=done", status=400)
        await browser.get("/runs?before=x", status=400)


async def test_long_code_and_output_are_bounded_and_there_as_files(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_of_runs, "LINES_ON_A_PAGE", 10)
    async with house() as browser:
        code = "\n".join(["x = 1"] * 50 + ["print('long ' * 5000)"])
        run = (await browser.crib.run_code(code)).run
        page = await browser.get(f"/runs/{run}")
        assert page.count('class="line"') == 10
        assert "41 more lines are not shown." in house.words(page)
        assert house.links(page, "All of the output as a file") == [f"/runs/{run}/output"]
        answer = await browser.client.get(f"/console/runs/{run}/output")
        assert answer.text == "long " * 5000 + "\n"


async def test_a_secret_in_the_script_is_said_to_be_left_out(house: Any) -> None:
    async with house() as browser:
        run = (await browser.crib.run_code("x = 'hunter2-correct-horse'\nraise ValueError('no')")).run
        said = house.words(await browser.get(f"/runs/{run}"))
        assert "the script has to be given again" in said
        assert f'run_code(code=…, retry_of="{run}")' in said
        assert "hunter2" not in said


RUN = Run(
    id="run_1", principal="local", conversation="", language="python", script="", sandbox="monty", code="",
    is_whole=True, retry_of="", parent="", status="ok", output="", value=None, cut="", detail="", line=None, calls=(),
    started_at=100.0, ended_at=110.0,
)  # fmt: skip
ENTRY = Entry(
    seq=1, id="a", instance="i", method="tools/call", tool="box.write", server="box", effect="write", principal="local",
    conversation="", origin="script", face="library", run="run_1", digest="", arguments=None, verdict="allow", rule="",
    approval="", approved_by="", labels=(), attempts=1, started_at=102.0, ended_at=107.0, duration_ms=5000.0,
    state="done", result_bytes=None, result_tokens=None, error="", repeated_by="",
)  # fmt: skip


def test_calls_stand_on_the_time_line_where_they_were_made() -> None:
    told = (
        MadeCall(1, "search_tools", 1, "read", "done"),
        MadeCall(2, "box.write", 2, "write", "done", call="a"),
        MadeCall(3, "box.write", 3, "write", "repeated", call="of another run"),
    )
    instant = replace(ENTRY, id="b", started_at=110.0, duration_ms=0.0, state="unknown", error="lost")
    line = timeline(replace(RUN, calls=told), [ENTRY, instant])
    assert line.seconds == 10.0
    # Ten seconds are a hundred per cent; what takes no time is 0.6 per cent wide, and does not stick out.
    placed = [(call.number, call.line, call.state, call.begins, call.left, call.width) for call in line.calls]
    assert placed == [
        (1, 1, "done", None, 0.0, 0.0),
        (2, 2, "done", 2.0, 20.0, 50.0),
        (3, 3, "repeated", None, 0.0, 0.0),
        (None, None, "unknown", 10.0, 99.4, 0.6),
    ]
    assert line.calls[3].detail == "lost"


def test_a_time_line_is_as_long_as_what_is_known_to_have_happened() -> None:
    crashed = replace(RUN, status="unknown", ended_at=5000.0)  # when it was found out
    assert timeline(crashed, [ENTRY]).seconds == 7.0
    assert timeline(replace(RUN, status="running", ended_at=None), []).seconds == pytest.approx(0.001)
    early = replace(ENTRY, started_at=99.0, duration_ms=1000.0)  # clocks of two machines
    assert (timeline(RUN, [early]).calls[0].begins, timeline(RUN, [early]).calls[0].left) == (0.0, 0.0)
