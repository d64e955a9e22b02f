"""`DenoSandbox`: the sandboxes `typescript` and `javascript`, of the extra `typescript`."""

import asyncio
from typing import Literal

from toolcrib.errors import SandboxError
from toolcrib.sandbox.contract import Description, Finding, Names, OnCall, OnOutput, Outcome, Sandbox
from toolcrib.sandbox.deno.forms import forms
from toolcrib.sandbox.deno.text import look_through
from toolcrib.sandbox.deno.types import TypeServer
from toolcrib.sandbox.deno.walls import Start, starts
from toolcrib.sandbox.driver import drive
from toolcrib.sandbox.engine import Past
from toolcrib.sandbox.limits import DEFAULT_LIMITS, MIB, Limits
from toolcrib.sandbox.lines.crew import LineCrew
from toolcrib.sandbox.lines.engine import LineEngine
from toolcrib.sandbox.probing import DENO_ATTEMPTS, attempt_deno
from toolcrib.sandbox.rejected import too_long

DIALECT = """\
{language}, the body of an async function. Tools are async: `await server.tool({{name: value}})`, several at once \
with Promise.all.
console.log() and the value of the last expression, or of `return`, are returned. A failed call throws ToolError \
(.message .tool .data).
Not there: imports of packages, files, network, other programs."""

HOLDS_NOT = (
    "A script may learn in which folder Deno was started and where its program lies.",
    "A script may start workers; processor time and memory of all are counted together.",
    "Memory outside of V8's heap is looked at twenty times a second; in between it may grow to 1.5 GiB.",
    "A script may see the time of day and how long things take.",
)
_BASELINE = 96 * MIB
"""Bytes that Deno takes for itself."""
_HOLD_OFF = 0.03


class DenoSandbox(Sandbox):
    """Runs scripts in Deno, each in a process of its own with every permission off.

    Args:
        language: What scripts are written in; types of TypeScript are checked, and taken out to run it.
        scripts: How many may run at once; further ones wait.
        wall: `auto` adds bubblewrap where it works; `bubblewrap` insists; `none` does without.
    """

    def __init__(
        self,
        language: Literal["typescript", "javascript"] = "typescript",
        *,
        scripts: int = 8,
        wall: Literal["auto", "bubblewrap", "none"] = "auto",
    ) -> None:
        self._language: Literal["typescript", "javascript"] = language
        self._size = scripts
        self._wanted = wall
        self._crew: LineCrew | None = None
        self._starting = asyncio.Lock()
        self._start: Start | None = None
        self._types: TypeServer | None = None

    @property
    def description(self) -> Description:
        """As `Sandbox.description`."""
        wall = "Deno in a process of its own, every permission off, memory bounded"
        if self._start and self._start.wall:
            wall = f"{wall}, under {self._start.wall}"
        elif self._start and self._start.reason:
            wall = f"{wall} ({self._start.reason})"
        names = {"typescript": "TypeScript", "javascript": "JavaScript"}
        dialect = DIALECT.format(language=names[self._language])
        return Description(self._language, self._language, dialect, wall, HOLDS_NOT)

    async def start(self) -> None:
        """As `Sandbox.start`."""
        async with self._starting:
            if self._crew is None:
                await self._try_walls()

    async def _try_walls(self) -> None:
        reasons: list[str] = []
        for start in await asyncio.to_thread(starts, self._wanted):
            self._start = start
            crew = self._crew = LineCrew(start.argv, start.env, self._size, cwd=str(start.folder / "cache"))
            try:
                await attempt_deno(self, DENO_ATTEMPTS)
            except (SandboxError, OSError) as error:
                reasons.append(f"{start.wall or 'Deno alone'}: {error}")
                self._crew = None
                await crew.aclose()
                continue
            crew.prepare()
            if self._language == "typescript":
                self._types = TypeServer(start)
            return
        if self._start:
            await asyncio.to_thread(self._start.remove)
        why = "; ".join(reasons) or "bubblewrap can't be used here"
        raise SandboxError(
            f"Scripts of TypeScript and JavaScript can't be run here: {why}.",
            hint="The sandbox `python` runs everywhere.",
        )

    async def aclose(self) -> None:
        """As `Sandbox.aclose`."""
        crew, self._crew = self._crew, None
        types, self._types = self._types, None
        if types is not None:
            await types.aclose()
        if crew is not None:
            await crew.aclose()
        if self._start is not None:
            await asyncio.to_thread(self._start.remove)

    async def check(self, code: str, names: Names) -> list[Finding]:
        """As `Sandbox.check`: syntax, tools that there aren't, calls never awaited; types where there are stubs."""
        outcome = await self._driven(code, Names(), _never, DEFAULT_LIMITS, None, check=True)
        fault = outcome.fault
        if fault is not None:
            return [Finding(fault.line or 1, 0, "syntax", fault.message)]
        findings = look_through(code, names)
        if self._types is None or not names.stubs:
            return findings
        seen = {finding.line for finding in findings}
        findings += [each for each in await self._types.check(code, names.stubs) if each.line not in seen]
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
        if len(code) > limits.code_bytes:
            return too_long(code, limits)
        return await self._driven(code, names, on_call, limits, on_output)

    async def _driven(
        self,
        code: str,
        names: Names,
        on_call: OnCall,
        limits: Limits,
        on_output: OnOutput | None,
        *,
        check: bool = False,
    ) -> Outcome:
        if self._crew is None:
            name = self._language
            raise SandboxError(f"The sandbox {name} was not started.", hint="Use it as an async context manager.")
        crew = self._crew
        child = await crew.hire()
        crew.prepare(delay=_HOLD_OFF)
        more = {"language": self._language, "forms": forms(code), "check": check}
        engine = LineEngine(crew, child, code, names, limits, more=more, baseline=_BASELINE)
        return await drive(engine, Past(code), names, on_call, limits, on_output)


async def _never(_call: object) -> None:
    raise AssertionError("a script that is checked calls nothing")
