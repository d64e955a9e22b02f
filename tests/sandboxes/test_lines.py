"""Children that are spoken to in lines: a script that speaks for its worker, and walls that don't hold."""

import json
import os
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import SandboxError
from toolcrib.sandbox import Names, Outcome, ScriptCall, create_sandbox
from toolcrib.sandbox.cpython import seal
from toolcrib.sandbox.cpython.sandbox import CPythonSandbox
from toolcrib.sandbox.deno.sandbox import DenoSandbox
from toolcrib.sandbox.monty.sandbox import MontySandbox

pytestmark = pytest.mark.anyio

NAMES = Names({"gh": {"echo"}})
CALL = {"t": "call", "id": 1, "name": "gh.echo", "args": [], "kwargs": {}, "line": 1}


@pytest.fixture(scope="module", params=["python-full", "typescript"])
async def speaker(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Any]:
    """A sandbox whose scripts can write to the pipe of their worker, and the script that writes some lines."""
    sandbox = create_sandbox(request.param)
    try:
        await sandbox.start()
    except SandboxError as error:
        pytest.skip(str(error))

    async def say(*lines: str | dict[str, Any], then: str = "", repeat: int = 1) -> tuple[Outcome, list[ScriptCall]]:
        calls: list[ScriptCall] = []

        async def answer(call: ScriptCall) -> Any:
            calls.append(call)
            return "answered"

        text = "".join(line if isinstance(line, str) else f"{json.dumps(line)}\n" for line in lines)
        if request.param == "python-full":
            code = f"import os, json\ntext = json.loads({json.dumps(text)!r}).encode() * {repeat}\n"
            code += "while text: text = text[os.write(1, text):]\n"
        else:
            code = f"let text = new TextEncoder().encode({json.dumps(text)}.repeat({repeat}));\n"
            code += "while (text.length) text = text.subarray(Deno.stdout.writeSync(text));\n"
        return await sandbox.run(code + then, NAMES, answer), calls

    yield say
    await sandbox.aclose()


async def test_a_forged_end_is_the_end_that_a_script_may_choose_anyway(speaker):
    outcome, calls = await speaker({"t": "done", "value": "forged"}, then="await gh.echo()")
    assert (outcome.status, outcome.value, calls) == ("ok", "forged", [])


async def test_a_forged_call_is_one_that_it_may_make_anyway(speaker):
    outcome, calls = await speaker(CALL, {"t": "done", "value": 1})
    assert (outcome.status, [call.name for call in calls]) == ("ok", ["gh.echo"])


async def test_a_forged_call_of_what_is_not_named_fails(speaker):
    outcome, calls = await speaker({**CALL, "name": "jira.delete"}, {"t": "done", "value": 1})
    assert (outcome.status, calls) == ("ok", [])
    assert [record.state for record in outcome.calls] == ["failed"]


@pytest.mark.parametrize(
    "line",
    [
        "no json\n",
        "5\n",
        "[]\n",
        "{}\n",
        "[" * 100_000 + "\n",
        "1" * 100_000 + "\n",
        {"t": "ready"},
        {"t": "answer", "id": 1, "value": 1},
        {"t": "run", "code": "1"},
        {"t": "print"},
        {"t": "print", "text": 5},
        {"t": "error", "kind": 5, "message": "x"},
        {**CALL, "id": 2},
        {**CALL, "id": 0},
        {**CALL, "id": True},
        {**CALL, "id": "1"},
        {**CALL, "name": 5},
        {**CALL, "name": "a" * 1000},
        {**CALL, "args": {}},
        {**CALL, "kwargs": []},
        {**CALL, "args": None},
        {"t": "call"},
    ],
    ids=lambda line: json.dumps(line)[:40],
)
async def test_what_no_worker_says_ends_the_run(speaker, line):
    outcome, calls = await speaker(line, then="await gh.echo()")
    assert (outcome.status, calls) == ("protocol_violation", [])


async def test_a_line_without_end_ends_the_run(speaker):
    outcome, _ = await speaker("a" * 1_000, repeat=8_000)
    assert outcome.status == "protocol_violation"


async def test_a_call_that_was_answered_can_not_be_made_again_under_its_number(speaker):
    outcome, calls = await speaker(CALL, CALL)
    assert outcome.status == "protocol_violation"
    assert len(calls) <= 1


async def test_full_python_refuses_to_run_where_nothing_proves_itself(tmp_path, monkeypatch):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(SandboxError, match="no wall proved itself: bubblewrap: "):
        await CPythonSandbox(wall="bubblewrap").start()


async def test_a_wall_that_does_not_hold_is_not_used(tmp_path, monkeypatch):
    """A `bwrap` that starts the program and walls nothing in."""
    open_door = tmp_path / "bwrap"
    open_door.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    open_door.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(SandboxError, match=r"does not hold: a script succeeded in .*reading a file"):
        await CPythonSandbox(wall="bubblewrap").start()


async def test_without_bubblewrap_python_runs_all_the_same_and_says_so(tmp_path, monkeypatch):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    async with MontySandbox() as sandbox:
        assert "bubblewrap is refused here: bwrap: setting up uid map" in sandbox.description.wall
        assert (await sandbox.run("1 + 1", Names(), never)).value == 2
    with pytest.raises(SandboxError, match="bubblewrap can't be used here"):
        await MontySandbox(wall="bubblewrap").start()


async def test_without_deno_typescript_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr("sysconfig.get_path", lambda *_: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match=r"toolcrib\[typescript\]|nothing bounds"):
        await DenoSandbox().start()


async def test_a_sandbox_that_was_not_started_says_so():
    for name in ("python", "python-full", "typescript"):
        with pytest.raises(SandboxError, match="was not started"):
            await create_sandbox(name).run("1", Names(), never)
    with pytest.raises(SandboxError, match="There is no sandbox 'perl'"):
        create_sandbox("perl")


@pytest.mark.skipif(sys.platform != "linux", reason="system calls of Linux")
@pytest.mark.parametrize(
    ("machine", "header"),
    [("x86_64", "x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")],
)
def test_the_numbers_of_system_calls_are_those_of_the_kernel_s_headers(machine, header):
    path = Path("/usr/include") / header
    if not path.is_file():
        pytest.skip(f"no {path}")
    column, _, clone = seal.MACHINES[machine]
    numbers: dict[str, int] = {}
    for line in path.read_text().splitlines():
        parts = line.split()
        if len(parts) >= 3 and parts[0] == "#define" and parts[1].startswith("__NR") and parts[2].isdigit():
            name = parts[1].removeprefix("__NR3264_").removeprefix("__NR_")
            numbers.setdefault(name, int(parts[2]))
    assert {name: pair[column] for name, pair in seal.DENIED.items()} == {
        name: numbers.get(name, -1) for name in seal.DENIED
    }
    assert numbers["clone"] == clone


async def never(_call: ScriptCall) -> Any:
    raise AssertionError("calls nothing")
