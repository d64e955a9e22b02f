"""`MontySandbox`: the sandbox `python`, which every installation has."""

import asyncio
import re
from typing import Literal

from pydantic_monty import MontyError

from toolcrib.errors import SandboxError
from toolcrib.sandbox.contract import Description, Fault, Finding, Names, OnCall, OnOutput, Outcome, Sandbox
from toolcrib.sandbox.driver import drive
from toolcrib.sandbox.engine import Past
from toolcrib.sandbox.limits import DEFAULT_LIMITS, Limits
from toolcrib.sandbox.monty.engine import MontyEngine
from toolcrib.sandbox.monty.hints import hint_for
from toolcrib.sandbox.monty.modules import NATIVE
from toolcrib.sandbox.monty.prelude import STUBS
from toolcrib.sandbox.monty.rewrite import Rewritten, rewritten
from toolcrib.sandbox.monty.walls import Start, starts
from toolcrib.sandbox.monty.worker import Crew
from toolcrib.sandbox.probing import PYTHON_ATTEMPTS, attempt
from toolcrib.sandbox.python_check import look_through
from toolcrib.sandbox.rejected import rejected, too_long
from toolcrib.sandbox.snapshots import unpack

DIALECT = """\
A subset of Python 3. Tools are async: `await server.tool(name=value)`, several at once with asyncio.gather.
print() and the value of the last expression are returned. A failed call raises ToolError (.message .tool .data).
Not there: yield, class inheritance, @property/@staticmethod/@classmethod, files, network, third-party packages."""

MONTY_HOLDS_NOT = (
    "Its processes run as the user who runs Toolcrib; without bubblewrap the interpreter alone keeps a script in.",
    "The memory limit is the interpreter's own; a large answer of a tool may exceed it before it is noticed.",
    "A script may see the time of day and how long things take.",
)


_HOLD_OFF = 0.03


class MontySandbox(Sandbox):
    """Runs scripts in Monty, each in a process of its own.

    Args:
        scripts: How many may run at once; further ones wait. One that waits for its calls counts.
        wall: `auto` takes bubblewrap where it works; `bubblewrap` insists; `none` does without.
    """

    def __init__(self, *, scripts: int = 16, wall: Literal["auto", "bubblewrap", "none"] = "auto") -> None:
        self._size = scripts
        self._wanted = wall
        self._crew: Crew | None = None
        self._starting = asyncio.Lock()
        self._start: Start | None = None

    @property
    def description(self) -> Description:
        """As `Sandbox.description`."""
        wall = "Monty, in a process of its own"
        if self._start and self._start.wall:
            wall = f"{wall}, under {self._start.wall}"
        elif self._start and self._start.reason:
            wall = f"{wall} ({self._start.reason})"
        return Description("python", "python", DIALECT, wall, MONTY_HOLDS_NOT, can_suspend=True)

    async def start(self) -> None:
        """As `Sandbox.start`."""
        async with self._starting:
            if self._crew is None:
                await self._try_walls()

    async def _try_walls(self) -> None:
        reasons: list[str] = []
        for start in await asyncio.to_thread(starts, self._wanted):
            crew = Crew(start.binary, self._size)
            try:
                await crew.start()
                self._crew, self._start = crew, start
                await attempt(self, PYTHON_ATTEMPTS)
            except (MontyError, RuntimeError, OSError, TimeoutError, SandboxError) as error:
                reasons.append(str(error)[:300])
                self._crew = None
                await crew.aclose()
                continue
            crew.prepare(DEFAULT_LIMITS)
            return
        why = "; ".join(reasons) or "bubblewrap can't be used here"
        raise SandboxError(f"Scripts of Python can't be run here: {why}.", hint="See docs/sandboxes.md.")

    async def aclose(self) -> None:
        """As `Sandbox.aclose`."""
        crew, self._crew = self._crew, None
        if crew is not None:
            await crew.aclose()
        if self._start is not None:
            await asyncio.to_thread(self._start.remove)

    async def check(self, code: str, names: Names) -> list[Finding]:
        """As `Sandbox.check`."""
        findings = look_through(code, names)
        try:
            script = rewritten(code, names.namespaces, NATIVE)
        except (RecursionError, MemoryError, ValueError):
            return findings
        findings += _missing(script)
        # beside the check, which takes longer: where scripts follow each other closely, none is ready yet
        self._running.prepare()
        try:
            typed = await self._running.check(STUBS + names.stubs + _untyped(names), script.code)
        except (MontyError, RuntimeError) as error:
            typed = [Finding(1, 0, "types", f"Types could not be checked: {error}", is_error=False)]
        if any(finding.rule == "syntax" for finding in findings):
            # only if Monty can't read it either: it may know newer syntax than this Python
            return findings if any(finding.rule in ("syntax", "invalid-syntax") for finding in typed) else []
        if not names.stubs:
            typed = [finding for finding in typed if finding.rule in ("syntax", "unsupported")]
        seen = {finding.line for finding in findings}
        findings += [finding for finding in typed if finding.line not in seen]
        return sorted(findings, key=lambda finding: (finding.line, finding.column))

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
        crew = self._running
        if len(code) > limits.code_bytes:
            return too_long(code, limits)
        try:
            script = rewritten(code, names.namespaces, NATIVE)
        except (RecursionError, MemoryError, ValueError) as error:
            return rejected(Fault("SyntaxError", f"The script can't be read: {error}."))
        if missing := _missing(script):
            first = missing[0]
            source = code.splitlines()[first.line - 1].strip()
            return rejected(Fault("ModuleNotFoundError", first.message, first.line, source, first.hint))
        worker = await crew.hire(limits)
        engine = MontyEngine(crew, worker, names, limits, script)
        # starting a process beside the first steps of a short script would hold it up
        crew.prepare(limits, delay=_HOLD_OFF)
        return await drive(engine, Past(code), names, on_call, limits, on_output)

    async def resume(
        self,
        snapshot: bytes,
        names: Names,
        on_call: OnCall,
        *,
        limits: Limits = DEFAULT_LIMITS,
        on_output: OnOutput | None = None,
    ) -> Outcome:
        """As `Sandbox.resume`."""
        crew = self._running
        past, state = unpack(snapshot)
        script = rewritten(past.code, names.namespaces, NATIVE)
        worker = await crew.hire(limits, prepared=False)
        try:
            engine = MontyEngine(crew, worker, names, limits, script, state)
        except BaseException:
            crew.dismiss(worker)
            raise
        return await drive(engine, past, names, on_call, limits, on_output)

    @property
    def _running(self) -> Crew:
        if self._crew is None:
            raise SandboxError("The sandbox python was not started.", hint="Use it as an async context manager.")
        return self._crew


def _untyped(names: Names) -> str:
    """What may be called although the stubs don't say its type."""
    known = set(re.findall(r"^(?:async def )?(\w+)[:(]", names.stubs, re.MULTILINE))
    return "".join(f"\n{name}: Any" for name in sorted({*names.namespaces, *names.functions} - known))


def _missing(script: Rewritten) -> list[Finding]:
    """Modules that nobody has, told before anything runs."""
    return [
        Finding(line, 1, "missing-module", f"No module named {name!r}", hint=hint_for("ModuleNotFoundError", ""))
        for name, line in script.missing
    ]
