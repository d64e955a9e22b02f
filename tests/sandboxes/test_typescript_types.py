"""Types of scripts of TypeScript, looked at by Deno's language server before anything runs."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

pytest.importorskip("deno")

from toolcrib import Crib
from toolcrib.errors import SandboxError
from toolcrib.sandbox.deno import types
from toolcrib.sandbox.deno.types import TypeServer
from toolcrib.sandbox.deno.walls import starts

pytestmark = pytest.mark.anyio

STUBS = """
declare class ToolError extends Error { tool: string; data: any; }
interface _box { get(args: { id: string; n?: number }): Promise<{ title: string }>; any(args?: {}): Promise<any>; }
declare const box: _box;
declare function extract(value: any, shape: object): Promise<any>;
"""
CASES: list[tuple[str, list[tuple[int, int, str]]]] = [
    ("const x = await box.get({id: 'a', n: 1});\nx.title", []),
    ("await box.get({id: 5})", [(1, 16, "TS2322")]),
    ("1\nawait box.get({})", [(2, 15, "TS2345")]),
    ("await box.get()", [(1, 11, "TS2554")]),
    ("await box.get({id: 'a', m: 1})", [(1, 25, "TS2353")]),
    ("await box.get({idd: 'a'})", [(1, 16, "TS2353")]),
    ("const x = await box.get({id: 'a'});\nx.titel", [(2, 3, "TS2551")]),
    ("const x = box.get({id: 'a'});\nx.title", [(2, 3, "not-awaited")]),
    ("await bx.get({id: 'a'})", [(1, 7, "TS2304")]),
    ("nothing.at(all)", [(1, 1, "TS2304"), (1, 12, "TS2304")]),
    # everyday JavaScript is no mistake
    ("const found = {};\nfound.a = 1;\nfound['b'] = 2;\nlet z = null;\nz = 5;\nlet n = 1;\nn = 'x';", []),
    ("try { await box.any() } catch (error) { console.log(error.message, error.tool) }\nreturn 1", []),
    ("function f(x) { return x }\nconst xs = [];\nxs.push(f(1));\nxs.map((x) => x)", []),
    ("const x = await box.any();\nx.whatever.it.has", []),
    ("const p = await extract('text', {type: 'object'});\np.name", []),
]


@pytest.fixture
async def server(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TypeServer]:
    monkeypatch.setattr(types, "PATIENCE", 60)
    try:
        start = starts("auto")[0]
    except SandboxError as error:
        pytest.skip(str(error))
    made = TypeServer(start)
    yield made
    await made.aclose()
    start.remove()


async def test_what_contradicts_the_declarations_is_found_and_everyday_javascript_is_not(server: TypeServer) -> None:
    for code, expected in CASES:
        found = await server.check(code, STUBS)
        assert [(each.line, each.column, each.rule) for each in found] == expected, (code, found)
        assert all(each.is_error for each in found)


async def test_it_is_started_anew_where_it_has_ended(server: TypeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "await box.get({id: 5})"
    monkeypatch.setattr(types, "IDLE", 0.0)
    assert len(await server.check(wrong, STUBS)) == 1
    first = server._process  # pyright: ignore[reportPrivateUsage]
    assert first is not None
    with anyio.fail_after(10):
        await first.wait()
    monkeypatch.setattr(types, "IDLE", 300.0)
    monkeypatch.setattr(types, "MOST_CHECKS", 1)
    assert len(await server.check(wrong, STUBS)) == 1
    second = server._process  # pyright: ignore[reportPrivateUsage]
    assert second is not None
    assert len(await server.check(wrong, STUBS)) == 1
    assert second.returncode is not None


async def test_a_server_that_is_slow_or_gone_costs_only_the_types(
    server: TypeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(types, "PATIENCE", 0.01)
    (slow,) = await server.check("1", STUBS)
    assert (slow.rule, slow.is_error) == ("types", False)
    assert server._process is None  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("code", ["type X = typeof import('/etc/hosts.json')", "/** @jsxImportSource x */ 1"])
async def test_what_imports_is_not_shown_to_it(server: TypeServer, code: str) -> None:
    assert await server.check(code, STUBS) == []
    assert server._process is None  # pyright: ignore[reportPrivateUsage]


async def test_scripts_are_checked_against_the_tools_before_anything_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(types, "PATIENCE", 60)
    called: list[int] = []

    async def add(a: int, b: int = 0) -> dict[str, int]:
        """Add."""
        called.append(a)
        return {"sum": a + b}

    config = {"mcpServers": {}, "toolcrib": {"scripts": {"typescript": True}}}
    async with Crib.open(config, state_dir=tmp_path) as crib:
        crib.add_functions(add, server="box")
        wrong = await crib.run_code("await box.add({a: 1});\nawait box.add({a: 'one'})", language="typescript")
        good = await crib.run_code("const x = await box.add({a: 1, b: 2});\nx.sum + 1", language="typescript")
        untyped = await crib.run_code("const x = await box.add({a: '4'});\nx.sum", language="javascript")
    assert (wrong.status, [(each.line, each.rule) for each in wrong.findings]) == ("rejected", [(2, "TS2322")])
    assert (good.status, good.value) == ("ok", 4), good
    assert (untyped.status, untyped.value) == ("ok", 4), untyped
    assert called == [1, 4]
