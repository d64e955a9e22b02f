"""Every mode of the servers for faults, called once through the library and once through the gateway."""

import importlib
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from toolcrib import Crib
from toolcrib.errors import ToolcribError
from toolcrib.gateway import Gateway
from toolcrib.servers.wire import raw_request

STUBS = Path(__file__).resolve().parent.parent / "stubs"
MARK = "TOOLCRIB_FAULT"
LIMIT = 100.0
"""Seconds for one call, its server's start in a queue of many included."""


def _module(name: str) -> ModuleType:
    sys.path.insert(0, str(STUBS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(STUBS))


MISBEHAVE, HTTP_FAULTS = _module("misbehave"), _module("http_faults")

Calling = Callable[[str, dict[str, Any]], Awaitable[tuple[bool, str]]]
"""Calls a tool by its id; gives whether that failed, and the text of its result or error."""


@dataclass
class Ended:
    """How all calls ended, by mode.

    Attributes:
        calls: Whether each failed, and its text.
        neighbours: What the healthy server answered meanwhile.
        left: Processes that were left after closing.
    """

    calls: dict[str, list[tuple[bool, str]]] = field(default_factory=dict)
    neighbours: dict[str, tuple[bool, str]] = field(default_factory=dict)
    left: Counter[str] = field(default_factory=Counter)


@pytest.fixture(scope="session")
def modes() -> set[str]:
    """The names of all modes there are."""
    return {*MISBEHAVE.MODES, *HTTP_FAULTS.MODES}


@pytest.fixture(scope="session")
def run_all() -> Callable[..., Awaitable[Ended]]:
    """Runs all faults of a table side by side: `await run_all(table, "library", folder)`."""
    return _run_all


async def _run_all(faults: Mapping[str, Any], way: str, folder: Path) -> Ended:
    ended = Ended()

    async def one(call: Calling, mode: str, fault: Any) -> None:
        async def neighbour() -> None:
            ended.neighbours[mode] = await call("healthy.echo", {"beside": mode})

        async with anyio.create_task_group() as beside:
            beside.start_soon(neighbour)
            ended.calls[mode] = [await call(f"{_id(mode)}.{each.tool}", dict(each.arguments)) for each in fault.calls]

    async with HTTP_FAULTS.serving() as base:
        entries = {_id(mode): _entry(mode, fault.options, base, folder) for mode, fault in faults.items()}
        entries["healthy"] = _entry("Normal", {}, base, folder)
        settings = {"max_running": len(entries), "max_parallel_starts": 8, "start_timeout": LIMIT}
        async with (
            Crib.open({"mcpServers": entries, "toolcrib": settings}, state_dir=folder / "state") as crib,
            WAYS[way](crib) as call,
            anyio.create_task_group() as tasks,
        ):
            for mode, fault in faults.items():
                tasks.start_soon(one, call, mode, fault)
    ended.left.update(_left(folder))
    return ended


def _id(mode: str) -> str:
    return f"the_{mode.lower()}"


def _entry(mode: str, options: Mapping[str, Any], base: str, folder: Path) -> dict[str, Any]:
    if mode in HTTP_FAULTS.MODES:
        kind = "sse" if mode.startswith("Older") else "http"
        return {"type": kind, "url": f"{base}/{mode}", "toolcrib": dict(options)}
    # -S: without site-packages the interpreter starts in half the time.
    args = ["-S", str(STUBS / "misbehave.py"), mode, "--log", str(folder / f"{mode}.log")]
    return {"command": sys.executable, "args": args, "env": {MARK: f"{folder}|{mode}"}, "toolcrib": dict(options)}


@asynccontextmanager
async def _library(crib: Crib) -> AsyncIterator[Calling]:
    async def call(tool_id: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        try:
            with anyio.fail_after(LIMIT):
                outcome = await crib.call(tool_id, arguments)
        except ToolcribError as error:
            return True, str(error)
        return outcome.kind != "result", json.dumps(outcome.result)

    yield call


@asynccontextmanager
async def _gateway(crib: Crib) -> AsyncIterator[Calling]:
    async with Client(Gateway(crib).server) as client:

        async def call(tool_id: str, arguments: dict[str, Any]) -> tuple[bool, str]:
            params = {"name": "call_tool", "arguments": {"name": tool_id, "arguments": arguments}}
            try:
                with anyio.fail_after(LIMIT):
                    result = await raw_request(client.session, "tools/call", params)
            except MCPError as error:
                return True, str(error)
            failed = result.get("isError") is True
            return failed, result["content"][0]["text"] if failed else json.dumps(result)

        yield call


WAYS: Mapping[str, Callable[[Crib], Any]] = {"library": _library, "gateway": _gateway}


def _left(folder: Path) -> list[str]:
    """The modes whose processes are left; none where there is no `/proc`."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            variables = dict(each.partition(b"=")[::2] for each in path.read_bytes().split(b"\0"))
            own, _, mode = variables.get(MARK.encode(), b"").decode().partition("|")
            if own == str(folder):
                found.append(mode)
    return found
