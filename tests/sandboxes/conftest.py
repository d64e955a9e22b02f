"""The sandboxes that the kit is put to: every back-end behind every wall that it may have."""

import asyncio
import importlib.util
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import SandboxError
from toolcrib.sandbox import CallError, Limits, Names, Outcome, Sandbox, ScriptCall, StopError
from toolcrib.sandbox.cpython.sandbox import CPythonSandbox
from toolcrib.sandbox.deno.sandbox import DenoSandbox
from toolcrib.sandbox.monty.sandbox import MontySandbox

HERE = Path(__file__).resolve().parent
VARIABLE = "TOOLCRIB_TEST_SECRET"
SECRET = "a-secret-of-the-host-4711"
LIMITS = Limits(
    cpu=1.0,
    wall=30.0,
    total=40.0,
    memory=64 * 1024 * 1024,
    output=8_000,
    result_nodes=2_000,
    result_depth=30,
    result_bytes=20_000,
    calls=30,
    in_flight=20,
    argument_bytes=20_000,
    answer_bytes=20_000,
    code_bytes=40_000,
)
VARIANTS = {
    "python under bubblewrap": lambda: MontySandbox(wall="bubblewrap"),
    "python alone": lambda: MontySandbox(wall="none"),
    "python-full under bubblewrap": lambda: CPythonSandbox(wall="bubblewrap"),
    "python-full under Landlock": lambda: CPythonSandbox(wall="landlock"),
    "typescript under bubblewrap": lambda: DenoSandbox("typescript", wall="bubblewrap"),
    "javascript alone": lambda: DenoSandbox("javascript", wall="none"),
}
ALWAYS = "python alone"
"""Runs on every machine: it may not be skipped."""
TOOLS = frozenset(["echo", "fail", "missing", "wrong", "together", "count", "slow", "stop", "never", "large"])


def _dialects() -> Any:
    spec = importlib.util.spec_from_file_location("toolcrib_sandbox_dialects", HERE / "dialects.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.DIALECTS


DIALECTS = _dialects()


@dataclass
class Tools:
    """What a script may call, and what it did."""

    calls: list[ScriptCall] = field(default_factory=list[ScriptCall])
    most: int = 0
    cancelled: int = 0
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    _under_way: int = 0
    _all_there: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def names(self) -> Names:
        return Names({"gh": TOOLS}, frozenset({"search_tools"}), hint=lambda name: f"Near {name}: gh.echo.")

    async def __call__(self, call: ScriptCall) -> Any:
        self.calls.append(call)
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        try:
            return await getattr(self, f"_{call.name.rpartition('.')[2]}")(call)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self._under_way -= 1

    async def _echo(self, call: ScriptCall) -> Any:
        return {"args": call.args, "kwargs": call.kwargs}

    async def _search_tools(self, call: ScriptCall) -> Any:
        return call.args

    async def _fail(self, call: ScriptCall) -> Any:
        raise CallError("it broke", tool="gh.fail", data={"code": 7})

    async def _missing(self, call: ScriptCall) -> Any:
        raise CallError("no such key", kind="KeyError")

    async def _wrong(self, call: ScriptCall) -> Any:
        raise CallError("wrong", kind="TypeError")

    async def _together(self, call: ScriptCall) -> Any:
        """Answers once twenty are under way: none ever does if they are made one after another."""
        if self._under_way >= 20:
            self._all_there.set()
        await self._all_there.wait()

    async def _count(self, call: ScriptCall) -> Any:
        """Answers once three are under way."""
        if self._under_way >= 3:
            self._all_there.set()
        await self._all_there.wait()

    async def _slow(self, call: ScriptCall) -> Any:
        await asyncio.sleep(1.2)

    async def _stop(self, call: ScriptCall) -> Any:
        raise StopError("the policy forbids it")

    async def _never(self, call: ScriptCall) -> Any:
        self.entered.set()
        await asyncio.Event().wait()

    async def _large(self, call: ScriptCall) -> Any:
        return "a" * 1_000_000


@dataclass
class Bench:
    """A sandbox with the scripts of its language."""

    name: str
    sandbox: Sandbox
    dialect: Any

    async def run(self, script: str, tools: Tools | None = None, **more: Any) -> Outcome:
        """Run a script of the dialect, by name, or else as it is written."""
        tools = tools or Tools()
        code = self.dialect.scripts.get(script, script)
        limits = more.pop("limits", LIMITS)
        return await asyncio.wait_for(self.sandbox.run(code, tools.names, tools, limits=limits, **more), 30)


@pytest.fixture(scope="package")
def secret() -> Any:
    """A secret in the environment, there before any process is started."""
    os.environ[VARIABLE] = SECRET
    yield SECRET
    del os.environ[VARIABLE]


@pytest.fixture(scope="package", params=VARIANTS)
async def bench(request: pytest.FixtureRequest, secret: str, anyio_backend: str) -> AsyncIterator[Bench]:
    sandbox = VARIANTS[request.param]()
    try:
        await sandbox.start()
    except SandboxError as error:
        if request.param == ALWAYS:
            raise
        pytest.skip(f"{request.param}: {error}")
    language = sandbox.description.language
    yield Bench(request.param, sandbox, DIALECTS["python" if language == "python" else "javascript"])
    await sandbox.aclose()


@pytest.fixture
def tools() -> Tools:
    return Tools()


@pytest.fixture(scope="package")
def tight() -> Limits:
    return LIMITS
