"""`CPythonSandbox`: the sandbox `python-full`, all of Python's standard library, on Linux."""

import asyncio
from typing import Literal

from toolcrib.errors import SandboxError
from toolcrib.sandbox.contract import Description, Finding, Names, OnCall, OnOutput, Outcome, Sandbox
from toolcrib.sandbox.cpython.walls import Wall, walls
from toolcrib.sandbox.driver import drive
from toolcrib.sandbox.engine import Past
from toolcrib.sandbox.limits import DEFAULT_LIMITS, MIB, Limits
from toolcrib.sandbox.lines.crew import LineCrew
from toolcrib.sandbox.lines.engine import LineEngine
from toolcrib.sandbox.probing import PYTHON_ATTEMPTS, Attempt, attempt
from toolcrib.sandbox.python_check import look_through
from toolcrib.sandbox.rejected import too_long

DIALECT = """\
Python 3 with its standard library. Tools are async: `await server.tool(name=value)`, several at once with \
asyncio.gather.
print() and the value of the last expression are returned. A failed call raises ToolError (.message .tool .data).
Not there: files, network, other programs, third-party packages."""

_ATTEMPTS = (
    *PYTHON_ATTEMPTS,
    Attempt("executing a program", "import os; os.execv('/bin/true', ['true']); got = 'executed'"),
    Attempt("listing a folder", "import os; got = str(os.listdir('/root') + os.listdir('/home') + os.listdir('/etc'))"),
    Attempt(
        "a system call of its own",
        "import ctypes; got = ctypes.CDLL(None).socket(2, 1, 0)\nif got < 0: raise OSError",
    ),
    Attempt(
        "changing a file's mode",
        "import os; os.chmod({path!r}, 0o777); got = 'changed'",
    ),
)
_BASELINE = 32 * MIB
"""Bytes that CPython takes for itself."""
_HOLD_OFF = 0.03


class CPythonSandbox(Sandbox):
    """Runs scripts in CPython, each in a process of its own behind the strongest wall that proves itself.

    Args:
        scripts: How many may run at once; further ones wait.
        wall: `auto` takes the strongest; a name insists on it.
    """

    def __init__(self, *, scripts: int = 8, wall: Literal["auto", "bubblewrap", "landlock"] = "auto") -> None:
        self._size = scripts
        self._wanted = wall
        self._crew: LineCrew | None = None
        self._starting = asyncio.Lock()
        self._wall: Wall | None = None

    @property
    def description(self) -> Description:
        """As `Sandbox.description`."""
        words = self._wall.words if self._wall else "CPython in a process of its own"
        return Description("python-full", "python", DIALECT, words, self._wall.holds_not if self._wall else ())

    async def start(self) -> None:
        """As `Sandbox.start`."""
        async with self._starting:
            if self._crew is None:
                await self._try_walls()

    async def _try_walls(self) -> None:
        reasons: list[str] = []
        for wall in await asyncio.to_thread(walls, self._wanted):
            crew = self._crew = LineCrew(wall.argv, {"LC_ALL": "C.UTF-8"}, self._size)
            try:
                await attempt(self, _ATTEMPTS)
            except (SandboxError, OSError) as error:
                reasons.append(f"{wall.name}: {error}")
                self._crew = None
                await crew.aclose()
                continue
            self._wall = wall
            crew.prepare()
            return
        why = "; ".join(reasons) or f"{self._wanted} is not installed"
        raise SandboxError(
            f"Full Python can't be run here, since no wall proved itself: {why}.",
            hint="The sandbox `python` runs everywhere.",
        )

    async def aclose(self) -> None:
        """As `Sandbox.aclose`."""
        crew, self._crew = self._crew, None
        if crew is not None:
            await crew.aclose()

    async def check(self, code: str, names: Names) -> list[Finding]:
        """As `Sandbox.check`."""
        return look_through(code, names)

    async def run(
        self,
        code: str,
        names: Names,
        on_call: OnCall,
        *,
        limits: Limits = DEFAULT_LIMITS,
        on_output: OnOutput | None = None,
    ) -> Outcome:
        """As `Sandbox.run`."""
        if self._crew is None:
            raise SandboxError("The sandbox python-full was not started.", hint="Use it as an async context manager.")
        if len(code) > limits.code_bytes:
            return too_long(code, limits)
        crew = self._crew
        child = await crew.hire()
        crew.prepare(delay=_HOLD_OFF)
        return await drive(
            LineEngine(crew, child, code, names, limits, baseline=_BASELINE),
            Past(code),
            names,
            on_call,
            limits,
            on_output,
        )
