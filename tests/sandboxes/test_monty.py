"""The sandbox `python`: scripts as models write them, types, and runs that sleep and wake in another process."""

import ast
import asyncio
import builtins
import importlib.util
import inspect
import json
import subprocess
import sys
import types
from collections.abc import AsyncIterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.errors import SandboxError
from toolcrib.sandbox import CallError, Limits, Names, ScriptCall, SuspendError
from toolcrib.sandbox.cpython.sandbox import CPythonSandbox
from toolcrib.sandbox.monty.sandbox import MontySandbox
from toolcrib.schema.stubs import StubTool, python_stubs

pytestmark = pytest.mark.anyio

HERE = Path(__file__).resolve().parent
SEEN = Names({"issues": {"list", "get"}, "notes": {"add"}}, hint=lambda name: "Did you mean issues.list?")
ISSUE = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "title": {"type": "string"},
        "state": {"enum": ["open", "closed"]},
        "points": {"type": "integer"},
    },
    "required": ["id", "title", "state", "points"],
}
STUBS = python_stubs(
    [
        StubTool(
            "issues.list",
            {"type": "object", "properties": {"page": {"type": "integer"}}},
            {"type": "array", "items": ISSUE},
        ),
        StubTool(
            "issues.get", {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}, ISSUE
        ),
    ]
)
TYPED = Names(
    {"issues": {"list", "get"}, "notes": {"add"}},
    frozenset({"ask"}),
    stubs=STUBS,
    hint=lambda name: "Did you mean issues.list?",
)


def plain_scripts() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("toolcrib_plain_scripts", HERE / "plain.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SCRIPTS


PLAIN = plain_scripts()


def issue(number: int) -> dict[str, Any]:
    titles = ["Alpha", "beta", "Gamma", "delta", "Eta"]
    state = "open" if number % 2 else "closed"
    return {"id": number, "title": titles[number % 5], "state": state, "points": number % 5 + 1}


async def answer(call: ScriptCall) -> Any:
    if call.name == "issues.list":
        page = call.kwargs["page"]
        return [issue(number) for number in range(5 * page - 4, 5 * page + 1)] if page <= 3 else []
    if call.name == "issues.get":
        if call.kwargs["id"] == 7:
            raise CallError("issue 7 is locked", tool="issues.get", data={"retry": False})
        return issue(call.kwargs["id"])
    return {"added": call.kwargs["text"]}


class ToolError(RuntimeError):
    """As a script knows it."""

    def __init__(self, message: str, data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data = data


async def as_cpython_runs_it(code: str) -> tuple[Any, str]:
    """Value and output of a script, run by the Python that runs this test, with the same tools."""

    class Server:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, tool: str) -> Any:
            async def call(**kwargs: Any) -> Any:
                try:
                    return await answer(ScriptCall(1, f"{self._name}.{tool}", [], kwargs))
                except CallError as error:
                    raise ToolError(error.message, error.data) from None

            return call

    tree = ast.parse(code)
    last = tree.body[-1]
    if isinstance(last, ast.If):
        last = last.body[-1]
        tree.body[-1] = last
    assert isinstance(last, ast.Expr)
    if isinstance(last.value, ast.Call) and ast.unparse(last.value.func) == "asyncio.run":
        last.value = ast.Await(last.value.args[0])
    tree.body[-1] = ast.Assign([ast.Name("value__", ast.Store())], last.value)
    names: dict[str, Any] = {"issues": Server("issues"), "notes": Server("notes"), "ToolError": ToolError}
    names |= {"__name__": "__main__", "__builtins__": builtins}
    printed = StringIO()
    with redirect_stdout(printed):
        compiled = compile(ast.fix_missing_locations(tree), "script", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
        made = types.FunctionType(compiled, names)()
        if inspect.iscoroutine(made):
            await made
    return json.loads(json.dumps(names["value__"])), printed.getvalue()


@pytest.fixture(scope="module")
async def monty(anyio_backend: str) -> AsyncIterator[MontySandbox]:
    async with MontySandbox() as sandbox:
        yield sandbox  # pyright: ignore[reportReturnType]


@pytest.fixture(scope="module")
async def full(anyio_backend: str) -> AsyncIterator[CPythonSandbox]:
    sandbox = CPythonSandbox()
    try:
        await sandbox.start()
    except SandboxError as error:
        pytest.skip(str(error))
    yield sandbox
    await sandbox.aclose()


@pytest.mark.parametrize("name", PLAIN)
async def test_a_plain_script_gives_what_cpython_gives(monty, name):
    outcome = await monty.run(PLAIN[name], SEEN, answer)
    assert outcome.fault is None
    assert (outcome.value, outcome.output) == await as_cpython_runs_it(PLAIN[name])


@pytest.mark.parametrize(
    "code",
    [
        "[id for id in (1, 2)], str(max(3, 4))",
        "{type: input for type, input in ((1, 2),)}",
        "sum(len for len in (1, 2) if len > 1)",
        "[f'{hash}' for hash in 'ab'], [x for set in ((1, 2),) for x in set]",
        "[[await issues.get(id=id)] for id in (1, 2)]",
    ],
)
async def test_items_that_are_called_like_builtins_are_the_items(monty, code):
    outcome = await monty.run(code, SEEN, answer)
    assert outcome.fault is None
    assert outcome.value == (await as_cpython_runs_it(code))[0]


@pytest.mark.parametrize("name", PLAIN)
async def test_a_plain_script_gives_the_same_in_full_python(full, name):
    outcome = await full.run(PLAIN[name], SEEN, answer)
    assert outcome.fault is None
    assert (outcome.value, outcome.output) == await as_cpython_runs_it(PLAIN[name])


@pytest.mark.parametrize("name", PLAIN)
async def test_the_check_has_nothing_against_a_plain_script(monty, name):
    for names in (SEEN, TYPED):
        assert [finding for finding in await monty.check(PLAIN[name], names) if finding.is_error] == []


@pytest.mark.parametrize(
    "code",
    [
        "found = None\nfor i in await issues.list():\n    found = i\nfound['id']",
        "ids = [1, '2']\nfor i in ids:\n    await issues.get(id=i)",
        "def f(x=None):\n    return x['a']",
        "i = await issues.get(id=1)\ndel i['title']\ni",
        "r = await notes.add(text='x')\nr['a']['b']",
        "import asyncio\nr = await asyncio.gather(issues.get(id=1), return_exceptions=True)\nr[0]['id']",
        "await ask('anything')",
        "return 5",
    ],
)
async def test_what_may_well_work_stops_no_script(monty, code):
    assert [finding for finding in await monty.check(code, TYPED) if finding.is_error] == []


@pytest.mark.parametrize(
    ("code", "rule", "line"),
    [
        ("x = 1\nawait issues.list(pagee=1)", "unknown-argument", 2),
        ("for i in [1]:\n    await issues.list(page='one')", "invalid-argument-type", 2),
        ("await issues.get()", "missing-argument", 1),
        ("i = await issues.get(id=1)\n\ni['titel']", "invalid-key", 3),
        ("async def f():\n    return [1]\nx = f()\nx[0]", "not-subscriptable", 4),
        ("import asyncio\n\nasync def f():\n    issues.get(id=1)", "not-awaited", 4),
        ("await issues.lists()", "unknown-tool", 1),
        ("print(undefined)", "unresolved-reference", 1),
        ("x = 1\nx = (", "syntax", 2),
        ("x = 1\n\ndef f():\n    yield 1", "unsupported", 4),
        ("class A(Exception):\n    pass", "unsupported", 1),
        ("x = 1\nimport numpy", "missing-module", 2),
    ],
)
async def test_a_mistake_is_found_with_its_line_before_anything_runs(monty, code, rule, line):
    errors = [finding for finding in await monty.check(code, TYPED) if finding.is_error]
    assert [(finding.rule, finding.line) for finding in errors] == [(rule, line)]


@pytest.mark.parametrize(
    ("code", "hint"),
    [("def f():\n    yield 1", "list"), ("import numpy", "statistics"), ("class A(B): pass", "plain class")],
)
async def test_what_monty_refuses_is_rejected_with_what_would_work(monty, code, hint):
    outcome = await monty.run(f"await issues.list(page=1)\n{code}", SEEN, answer)
    assert (outcome.status, outcome.calls) == ("rejected", ())
    assert hint in outcome.fault.hint


async def test_syntax_newer_than_the_host_s_python_is_read_by_monty(monty):
    # quotes inside an f-string are of Python 3.12 (PEP 701)
    code = 'd = {"a": 1}\nf"{d["a"]} {", ".join(["x", "y"])}"'
    assert await monty.check(code, TYPED) == []
    assert (await monty.run(code, SEEN, answer)).value == "1 x, y"


async def test_servers_can_be_imported_as_if_they_were_modules(monty):
    code = (
        "import issues as tracker\nfrom issues import get, list as every\n"
        "(await get(id=1))['id'], len(await every(page=1))"
    )
    assert (await monty.run(code, SEEN, answer)).value == [1, 5]
    assert await monty.check(code, TYPED) == []
    assert (await monty.run("import issues\n(await issues.get(id=3))['id']", SEEN, answer)).value == 3


async def test_a_run_sleeps_and_wakes_in_another_process_without_a_second_call(monty, tmp_path):
    asked: list[tuple[str, bool]] = []

    async def cautious(call: ScriptCall) -> Any:
        asked.append((call.kwargs.get("text", ""), call.again))
        if call.kwargs.get("text") == "dangerous":
            raise SuspendError("waiting for approval 1")
        return await answer(call)

    code = (
        "import asyncio\n"
        "print('before')\n"
        "first = await notes.add(text='first')\n"
        "try:\n"
        "    await issues.get(id=7)\n"
        "except ToolError as error:\n"
        "    kept = error.data\n"
        "try:\n"
        "    pair = await asyncio.gather(notes.add(text='dangerous'), notes.add(text='beside'))\n"
        "finally:\n"
        "    print('after')\n"
        "[first, pair, kept, (await notes.add(text='last'))]"
    )
    outcome = await monty.run(code, SEEN, cautious)
    assert (outcome.status, outcome.output) == ("suspended", "before\n")
    assert [(record.name, record.state) for record in outcome.calls] == [
        ("notes.add", "done"),
        ("issues.get", "failed"),
        ("notes.add", "waiting"),
        ("notes.add", "done"),
    ]
    assert asked == [("first", False), ("", False), ("dangerous", False), ("beside", False)]
    (tmp_path / "snapshot").write_bytes(outcome.snapshot)
    program = (
        "import asyncio, json, sys\n"
        "from toolcrib.sandbox import Names\n"
        "from toolcrib.sandbox.monty.sandbox import MontySandbox\n"
        "asked = []\n"
        "async def answer(call):\n"
        "    asked.append([call.number, call.kwargs['text'], call.again, call.line])\n"
        "    return {'added': call.kwargs['text']}\n"
        "async def main():\n"
        "    async with MontySandbox() as sandbox:\n"
        "        names = Names({'issues': {'list', 'get'}, 'notes': {'add'}})\n"
        "        done = await sandbox.resume(open(sys.argv[1], 'rb').read(), names, answer)\n"
        "        calls = [[each.number, each.name, each.state] for each in done.calls]\n"
        "        print(json.dumps([done.status, done.value, done.output, calls, asked, done.usage.calls]))\n"
        "asyncio.run(main())\n"
    )
    argv = [sys.executable, "-c", program, str(tmp_path / "snapshot")]
    woken = await anyio.run_process(argv, stderr=subprocess.PIPE)
    assert woken.stderr == b""
    added = [{"added": text} for text in ("first", "dangerous", "beside", "last")]
    assert json.loads(woken.stdout) == [
        "ok",
        [added[0], added[1:3], {"retry": False}, added[3]],
        "before\nafter\n",
        [[1, "notes.add", "done"], [2, "issues.get", "failed"], *([n, "notes.add", "done"] for n in (3, 4, 5))],
        [[3, "dangerous", True, 9], [5, "last", False, 12]],
        5,
    ]


async def test_the_budgets_go_on_where_they_were_when_a_run_wakes(monty):
    async def once(call: ScriptCall) -> Any:
        if call.number == 3 and not call.again:
            raise SuspendError("wait")
        return {}

    code = "for i in range(9):\n    await notes.add(text=str(i))"
    limits = Limits(calls=5)
    outcome = await monty.run(code, SEEN, once, limits=limits)
    assert (outcome.status, outcome.usage.calls) == ("suspended", 3)
    woken = await monty.resume(outcome.snapshot, SEEN, once, limits=limits)
    assert (woken.status, woken.usage.calls) == ("call_limit", 5)
    assert woken.usage.wall > outcome.usage.wall


async def test_a_run_may_sleep_twice(monty):
    async def always(call: ScriptCall) -> Any:
        if not call.again:
            raise SuspendError("wait")
        return call.number

    outcome = await monty.run("a = await notes.add(text='1')\nb = await notes.add(text='2')\n[a, b]", SEEN, always)
    for _ in range(2):
        assert outcome.status == "suspended"
        outcome = await monty.resume(outcome.snapshot, SEEN, always)
    assert outcome.value == [1, 2]


@pytest.mark.parametrize("damage", [b"", b"{}", b"no json\nx", b'{"format": 99}\n'])
async def test_a_snapshot_that_can_not_be_read_is_an_error_that_says_so(monty, damage):
    with pytest.raises(SandboxError, match="stored state"):
        await monty.resume(damage, SEEN, answer)


async def test_a_back_end_that_can_not_sleep_is_stopped_instead(full):
    async def cautious(_call: ScriptCall) -> Any:
        raise SuspendError("waiting for approval 1")

    outcome = await full.run("await notes.add(text='1')", SEEN, cautious)
    assert (outcome.status, outcome.fault.message) == ("stopped", "waiting for approval 1")
    assert not full.description.can_suspend


async def test_the_interpreter_of_the_host_ends_in_peace():
    program = (
        "import asyncio\n"
        "from toolcrib.sandbox import Names\n"
        "from toolcrib.sandbox.monty.sandbox import MontySandbox\n"
        "async def answer(call): return 1\n"
        "async def main():\n"
        "    async with MontySandbox(wall='none') as sandbox:\n"
        "        code = 'import asyncio\\nawait asyncio.gather(*[a.b() for i in range(5)])'\n"
        "        done = await asyncio.gather(*[sandbox.run(code, Names({'a': {'b'}}), answer) for _ in range(16)])\n"
        "        assert [each.status for each in done] == ['ok'] * 16, done\n"
        "asyncio.run(main())\n"
    )
    for _ in range(5):
        ended = await anyio.run_process([sys.executable, "-c", program], check=False)
        assert (ended.returncode, ended.stderr) == (0, b"")


async def test_many_more_scripts_than_places_all_come_to_their_end(anyio_backend):
    async with MontySandbox(scripts=2, wall="none") as sandbox:
        with anyio.fail_after(30):
            outcomes = await asyncio.gather(*[sandbox.run(PLAIN["gather"], SEEN, answer) for _ in range(20)])
    assert {outcome.status for outcome in outcomes} == {"ok"}


@pytest.mark.parametrize("lines", [3_000, 100_000])
async def test_a_flood_is_known_for_one_though_its_first_piece_is_larger_than_the_bound(monty, lines):
    """The interpreter hands over what was printed in pieces of some thousand bytes: each may be more than the bound."""

    async def nothing(call: ScriptCall) -> None:
        raise CallError(f"{call.name} is not there.")

    code = f"for n in range({lines}):\n    print('line', n)\n"
    outcome = await monty.run(code, Names(), nothing, limits=Limits(output=200))
    assert outcome.status == "output_limit"
