"""One run on record: what it was, what its calls came to, how it ended or what it goes on from."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import anyio

from toolcrib.broker import Caller
from toolcrib.broker import Outcome as CallOutcome
from toolcrib.errors import StoreError
from toolcrib.sandbox import Language
from toolcrib.scripts.calling import Door
from toolcrib.scripts.outcome import Purpose, RunOutcome
from toolcrib.scripts.record import Asleep, RunEnding, RunState
from toolcrib.scripts.replaying import EarlierCall
from toolcrib.scripts.runs import Runs


class Recording:
    """One run's place in what is kept of runs, if they are kept.

    Attributes:
        run: Names the run.
        caller: Who makes its calls.
    """

    def __init__(
        self,
        run: str,
        code: str,
        caller: Caller,
        runs: Runs | None,
        door: Door,
        leave: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self.run = run
        self._leave = leave
        self._code = code
        self.caller = replace(caller, origin="script", run=run)
        self._runs = runs
        self._door = door

    def begin(self, language: Language, sandbox: str, retry_of: str, purpose: Purpose) -> None:
        """Put the run on record."""
        if self._runs is not None:
            self._runs.begin(self.run, self.caller, language, sandbox, self._code, retry_of, purpose)

    async def known(self) -> None:
        """See `Keeping.known`."""
        if self._runs is not None:
            await self._runs.on_record(self.run)

    async def keep(self, number: int, outcome: CallOutcome, again: EarlierCall | None) -> None:
        """See `Keeping.keep`; a result that can't be kept stops a later run that would repeat the call."""
        if self._runs is None:
            return
        call = outcome.call
        with suppress(StoreError):
            digest = (await self._runs.digest())(call)
            call_id = call.id if again is None else again.call_id
            # Beside the script, which need not wait: that the call was made is in the journal already.
            self._runs.keep(self.run, number, EarlierCall(call_id, call.target, digest, "done", outcome.result))

    async def settled(self, told: RunOutcome, snapshot: bytes | None, labels: frozenset[str]) -> RunOutcome:
        """Record how the run ended, or what it goes on from, and pass that on.

        Raises:
            StoreError: The run itself could not be recorded.
        """
        status: RunState = "ok" if told.ok else "suspended" if told.status == "suspended" else "failed"
        detail = told.waiting or (f"{told.fault.kind}: {told.fault.message}" if told.fault else "")
        ending = RunEnding(status, told.output, detail, told.fault.line if told.fault else None, told.calls)
        if told.ok:
            ending = replace(ending, value=(told.value,), cut=told.cut)
        asleep: Asleep | None = None
        if status == "suspended" and snapshot is not None:
            asleep = Asleep(self._code, told.language, labels, snapshot)
        try:
            await self.known()
        finally:
            await self._end(ending, asleep)
        return told

    @asynccontextmanager
    async def broken_off(self) -> AsyncGenerator[None]:
        """Record that the run was given up, when it is."""
        try:
            yield
        except BaseException:
            await self._end(RunEnding("failed", detail="It was given up."), None)
            raise

    async def _end(self, ending: RunEnding, asleep: Asleep | None) -> None:
        with anyio.CancelScope(shield=True):
            if self._runs is not None:
                with suppress(StoreError):
                    await self._runs.end(self.run, ending, asleep)
            if ending.status != "suspended":
                self._leave(self._door.ended(self.caller))
