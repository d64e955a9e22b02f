"""`ScriptRunner`: checks a script, runs it behind a wall, and accounts for what it has done."""

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import anyio

from toolcrib.broker import Caller
from toolcrib.catalog import ClientSide, JsonObject, OnProgress, Tool
from toolcrib.errors import UsageError
from toolcrib.sandbox import Finding, Language, Limits, Outcome, Sandbox
from toolcrib.scripts import extraction
from toolcrib.scripts.calling import Door, ScriptCalls
from toolcrib.scripts.extraction import extractions
from toolcrib.scripts.hints import what_to_do
from toolcrib.scripts.naming import Named, Naming
from toolcrib.scripts.outcome import MadeCall, Purpose, RunOutcome
from toolcrib.scripts.record import Asleep
from toolcrib.scripts.recording import Recording
from toolcrib.scripts.replaying import Replay
from toolcrib.scripts.runs import Runs

Backends = Mapping[Language, Sequence[Callable[[], Sandbox]]]
"""What runs scripts of a language: the first, and what takes those that it refuses before they run."""

MOST_SOURCE = 200
"""Characters of a line of a script that are shown."""

StubsFor = Callable[[Caller, Sequence[Tool], Mapping[str, Tool], Language], str]
"""As `Stubs`, for a caller."""

_REFUSED = frozenset({"unsupported", "syntax", "missing-module"})
"""Rules of findings that another back-end of the language may not have."""

_GIVEN = Purpose()


class ScriptRunner:
    """Runs scripts over the tools that their callers may know of.

    Args:
        door: Where the calls of scripts go.
        naming: Gives the names of the tools that a caller may know of.
        read: Gives a tool by its id.
        backends: What runs scripts.
        stubs: Makes the types of tools.
        runs: Keeps runs on record; None keeps none.
        limits: What a run may use up.
        extract: The tool that a small model extracts by; None where there is no such model.
    """

    def __init__(
        self,
        door: Door,
        naming: Callable[[Caller], Naming],
        read: Callable[[str], Tool],
        backends: Backends,
        stubs: StubsFor,
        runs: Runs | None,
        limits: Limits,
        extract: str | None = None,
    ) -> None:
        self._extract = extract
        self._door = door
        self._naming = naming
        self._read = read
        self._backends = backends
        self._stubs = stubs
        self._runs = runs
        self._limits = limits
        self._started: dict[tuple[Language, int, int], Sandbox] = {}
        self._starting = anyio.Lock()
        self._leaving: set[asyncio.Task[None]] = set()

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages that scripts may be written in."""
        return tuple(self._backends)

    async def check(self, code: str, language: Language, caller: Caller) -> list[Finding]:
        """What is wrong with a script, as far as can be told before it runs; nothing is called.

        Raises:
            UsageError: There is nothing to run, or nothing runs that language.
            SandboxError: Nothing on this machine can.
        """
        return (await self._looked_at(code, language, caller)).findings

    async def run(
        self,
        code: str,
        language: Language,
        caller: Caller,
        *,
        retry_of: str = "",
        on_progress: OnProgress | None = None,
        client: ClientSide | None = None,
        purpose: Purpose = _GIVEN,
    ) -> RunOutcome:
        """Run a script to its end, whatever that is.

        Args:
            code: The script; empty for that of the run that it repeats.
            language: What it is written in.
            caller: Who runs it.
            retry_of: An earlier run: what that did with effects is not done again, where tool and arguments are
                equal. One that sleeps is taken up where it stands.
            on_progress: Is told of each call that ended, and of what calls report.
            client: What stands behind the caller and can be asked while a call waits.
            purpose: What it is for.

        Raises:
            UsageError: There is nothing to run, nothing runs that language, or there is no such run.
            SandboxError: Nothing on this machine can.
            StoreError: The run can't be recorded.
        """
        if retry_of and self._runs is not None:
            asleep = await self._runs.asleep(retry_of, caller)
            if asleep is not None:
                return await self._go_on(self._runs, retry_of, asleep, caller, on_progress, client, purpose)
        elif retry_of:
            raise UsageError("No runs are kept here, so none can be repeated.", hint="Leave retry_of out.")
        async with nullcontext() if self._runs is None or not retry_of else self._runs.claimed(retry_of):
            if self._runs is not None and retry_of and not code.strip():
                code, language = await self._runs.script(retry_of, caller)
            looked = await self._looked_at(code, language, caller)
            sandbox, name = looked.sandbox, looked.sandbox.description.name
            if any(finding.is_error for finding in looked.findings):
                return RunOutcome("", language, name, "rejected", findings=tuple(looked.findings))
            record = Recording(f"run_{secrets.token_hex(6)}", code, caller, self._runs, self._door, self._leave)
            record.begin(language, name, retry_of, purpose)
        replay = await self._replay(retry_of)
        calls = self._calls(record, looked, replay, on_progress, client, purpose)
        async with record.broken_off():
            outcome = await sandbox.run(looked.run, looked.named.names, calls, limits=self._limits_of(purpose))
        told = _told(record.run, code, language, looked, calls, outcome)
        return await record.settled(told, outcome.snapshot, self._door.labels(caller))

    async def _go_on(
        self,
        runs: Runs,
        run: str,
        asleep: Asleep,
        caller: Caller,
        on_progress: OnProgress | None,
        client: ClientSide | None,
        purpose: Purpose,
    ) -> RunOutcome:
        """Take up a run that sleeps."""
        looked = await self._looked_at(asleep.code, asleep.language, caller)
        await runs.wake(run, asleep)
        record = Recording(run, asleep.code, caller, runs, self._door, self._leave)
        async with record.broken_off():
            # It goes on with what it has read, in whichever conversation, and whatever this process knows of that.
            self._door.has_read(record.caller, asleep.labels)
            repeated, left = await runs.left(run)
            replay = Replay(repeated, left, await runs.digest()) if left else None
            calls = self._calls(record, looked, replay, on_progress, client, purpose)
            names, limits = looked.named.names, self._limits_of(purpose)
            outcome = await looked.sandbox.resume(asleep.snapshot, names, calls, limits=limits)
        told = _told(run, asleep.code, asleep.language, looked, calls, outcome)
        return await record.settled(told, outcome.snapshot, self._door.labels(caller))

    async def asked(self, tool: str, arguments: JsonObject, caller: Caller) -> tuple[str, str]:
        """What tells the runs for one call of a saved script from those for others, and the run among them that is to
        be gone on with; both are empty where no runs are kept.

        Raises:
            StoreError: The store can't be read.
        """
        if self._runs is None:
            return "", ""
        asked = await self._runs.asked(tool, arguments)
        return asked, await self._runs.unfinished(caller, asked)

    async def written(self) -> None:
        """Wait until what is known of runs by now can be read by others."""
        if self._runs is not None:
            await self._runs.written()

    async def aclose(self) -> None:
        """End every process that runs scripts, and write what there is to write of runs."""
        if self._leaving:
            await asyncio.wait(self._leaving)
        if self._runs is not None:
            await self._runs.written()
        for sandbox in self._started.values():
            await sandbox.aclose()
        self._started.clear()

    def _leave(self, work: Coroutine[Any, Any, None]) -> None:
        """Do what is left to do for a run that has ended, beside whoever goes on."""
        task = asyncio.create_task(work)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _looked_at(self, code: str, language: Language, caller: Caller) -> "_Looked":
        """Where a script is to run, what it names, and what is wrong with it.

        One that the first back-end refuses for what its dialect lacks is looked at by the next; never by one
        behind a weaker wall, since only the operator sets a further one up.
        """
        if not code.strip():
            raise UsageError("There is nothing to run: the script is empty.")
        if language not in self._backends:
            known = ", ".join(self._backends) or "none"
            hint = f"Languages: {known}. `scripts.typescript` in the configuration adds TypeScript and JavaScript."
            raise UsageError(f"Scripts can't be written in {language} here.", hint=hint)
        uses = extractions(code, language, is_there=self._extract is not None)
        more = {extraction.NAME: uses.stub} if uses.is_used else {}
        stubs = partial(self._stubs, caller)
        named = self._naming(caller).named(code, self._read, stubs, language, more)
        first: _Looked | None = None
        for place in range(len(self._backends[language])):
            sandbox = await self._sandbox(language, place, len(caller.within) if caller.run else 0)
            findings = [*uses.findings, *await sandbox.check(uses.checked, named.names)]
            findings.sort(key=lambda finding: (finding.line, finding.column))
            looked = _Looked(sandbox, named, findings, uses.run)
            first = first or looked
            wrong = [finding for finding in findings if finding.is_error]
            if not wrong:
                return looked
            if not all(finding.rule in _REFUSED for finding in wrong):
                break
        assert first is not None
        return first

    def _calls(
        self,
        record: Recording,
        looked: "_Looked",
        replay: Replay | None,
        on_progress: OnProgress | None,
        client: ClientSide | None,
        purpose: Purpose,
    ) -> ScriptCalls:
        return ScriptCalls(
            self._door,
            record.caller,
            looked.named.flat,
            replay,
            record,
            on_progress,
            client,
            self._extract,
            only_reads=purpose.only_reads,
        )

    def _limits_of(self, purpose: Purpose) -> Limits:
        return (
            self._limits if purpose.result_bytes is None else replace(self._limits, result_bytes=purpose.result_bytes)
        )

    async def _sandbox(self, language: Language, place: int, depth: int) -> Sandbox:
        """What runs scripts that are so deep inside others. A sandbox runs only so many at once: did scripts wait in
        it for those inside them, all could wait for each other."""
        async with self._starting:
            known = self._started.get((language, place, depth))
            if known is None:
                known = self._backends[language][place]()
                await known.start()
                self._started[language, place, depth] = known
            return known

    async def _replay(self, retry_of: str) -> Replay | None:
        if not retry_of or self._runs is None:
            return None
        return Replay(retry_of, await self._runs.earlier(retry_of), await self._runs.digest())


@dataclass(frozen=True, slots=True)
class _Looked:
    """A script that was looked at.

    Attributes:
        sandbox: Where it is to run.
        named: What it names.
        findings: What was found in it.
        run: Its text as the sandbox is to run it.
    """

    sandbox: Sandbox
    named: Named
    findings: list[Finding]
    run: str


def _told(run: str, code: str, language: Language, looked: _Looked, calls: ScriptCalls, outcome: Outcome) -> RunOutcome:
    """What is told of a run; its lines are those of the script as it was written."""
    fault, lines = outcome.fault, code.splitlines()
    if fault is not None and fault.source and fault.line and fault.line <= len(lines):
        fault = replace(fault, source=lines[fault.line - 1].strip()[:MOST_SOURCE])
    if fault is not None:
        fault = replace(fault, hint=what_to_do(fault))
    ended = {call.number for call in calls.made}
    given_up = [
        MadeCall(each.number, each.name, each.line, "unknown", "cancelled")
        for each in outcome.calls
        if each.number not in ended and each.state == "cancelled"
    ]
    return RunOutcome(
        run,
        language,
        looked.sandbox.description.name,
        outcome.status,
        outcome.value,
        outcome.cut,
        outcome.output,
        outcome.output_cut,
        tuple(calls.shown),
        tuple(looked.findings),
        fault,
        tuple(sorted([*calls.made, *given_up], key=lambda call: call.number)),
        outcome.usage.wall,
        calls.waiting,
        tuple(calls.approvals),
    )
