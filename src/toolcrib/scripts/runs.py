"""Runs on record: the script, how it ended, what its calls came to, and what a sleeping one goes on from."""

import hashlib
import hmac
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread

from toolcrib.broker import Call, Caller, keyed_digest
from toolcrib.catalog import JsonObject
from toolcrib.errors import SandboxError, UsageError, shown
from toolcrib.sandbox import Language
from toolcrib.scripts.behind import Behind
from toolcrib.scripts.outcome import Purpose
from toolcrib.scripts.record import Asleep, RunEnding, call_of_row, packed, row_of_call, unpacked
from toolcrib.scripts.replaying import EarlierCall
from toolcrib.store import Store, live_instances

_PRUNE_EVERY = 600.0
"""Seconds between two looks for what has been kept long enough."""
_WAIT = "Wait until it has ended; its account says more."


class Runs:
    """The runs of a state directory.

    Args:
        opened: Gives the store that instances share.
        key: Gives what snapshots are sealed with; it survives a restart.
        instance: This process.
        keep_seconds: How long results and snapshots are kept.
        retention_days: How long a run is on record.
        settled: Gives the ids of calls with effects of a run, with tool and state, as the journal has them; None
            where none is kept.
        redact: Takes secrets out of a text before it is stored.
    """

    def __init__(
        self,
        opened: Callable[[], Awaitable[Store]],
        key: Callable[[], Awaitable[bytes]],
        instance: str,
        *,
        keep_seconds: float,
        retention_days: float,
        settled: Callable[[str], Awaitable[list[EarlierCall]]] | None,
        redact: Callable[[str], str],
    ) -> None:
        self._opened = opened
        self._key = key
        self._instance = instance
        self._keep = keep_seconds
        self._retention = retention_days * 86_400
        self._settled = settled
        self._redact = redact
        self._here: set[str] = set()
        self._claims: set[str] = set()
        self._pruned_at = 0.0
        self._ready: Store | None = None
        self._lock = anyio.Lock()
        self._behind = Behind(self._made_ready)

    def begin(
        self, run: str, caller: Caller, language: Language, sandbox: str, code: str, retry_of: str, purpose: Purpose
    ) -> None:
        """Put a run on record, beside it; see `on_record`."""
        from toolcrib.scripts import tables

        row: dict[str, Any] = {
            "id": run,
            "instance": self._instance,
            "principal": caller.principal.name,
            "conversation": caller.conversation,
            "language": language,
            "sandbox": sandbox,
            "code": (stored := self._stored(code)),
            "is_whole": stored == code,
            "retry_of": retry_of,
            "parent": purpose.parent,
            "asked": purpose.asked,
            "script": purpose.script,
            "status": "running",
            "output": "",
            "detail": "",
            "cut": "",
            "calls": "[]",
            "started_at": time.time(),
            "seal": "",
        }
        self._behind.put(lambda connection: tables.add(connection, row), run)
        self._here.add(run)

    async def on_record(self, run: str) -> None:
        """Wait until a run is on record: before anything with effects leaves, and before its outcome is told.

        Raises:
            StoreError: It can't be recorded.
        """
        await self._behind.on_record(run)

    async def end(self, run: str, ending: RunEnding, asleep: Asleep | None = None) -> None:
        """Record how a run ended, beside whoever goes on, or that it sleeps.

        Raises:
            StoreError: It can't be recorded.
        """
        from toolcrib.scripts import tables

        self._here.discard(run)
        ended = time.time()
        snapshot = None if asleep is None else packed(asleep)
        seal = "" if snapshot is None else await self._seal(run, snapshot, ended)
        values = {**ending.row(self._stored), "ended_at": ended, "snapshot": snapshot, "seal": seal}
        self._behind.forget(run)
        self._behind.put(lambda connection: tables.end(connection, run, values))
        if asleep is not None:
            await self._behind.written()

    def keep(self, run: str, number: int, call: EarlierCall) -> None:
        """Keep what a call of a run came to, beside the script.

        Args:
            run: The run.
            number: The call's number in it.
            call: The call.
        """
        from toolcrib.scripts import tables

        row = row_of_call(run, number, call, time.time() + self._keep)
        self._behind.put(lambda connection: tables.keep_results(connection, [row]))

    async def written(self) -> None:
        """Wait until all that was put by now is written; what can't be is lost."""
        await self._behind.written()

    async def digest(self) -> Callable[[Call], str]:
        """What gives a call's digest, as the journal has it.

        Raises:
            StoreError: The key can't be read.
        """
        key = await self._key()
        return lambda call: keyed_digest(call, key)

    async def script(self, run: str, caller: Caller) -> tuple[str, Language]:
        """The script of a run of the caller's principal, and what it is written in.

        Raises:
            UsageError: There is no such run, or its script held a secret, which is not kept.
            StoreError: The store can't be read.
        """
        row = await self._row(run, caller)
        if not row["is_whole"]:
            raise UsageError(f"The script of run {run} held a secret, and is not kept whole.", hint="Give the script.")
        return row["code"], row["language"]

    async def asked(self, tool: str, arguments: JsonObject) -> str:
        """What tells runs for one call of a saved script from those for others: a keyed digest.

        Raises:
            StoreError: The key can't be read.
        """
        text = json.dumps([tool, arguments], sort_keys=True)
        return hmac.digest(await self._key(), b"toolcrib asked\0" + text.encode("utf-8", "replace"), "sha256").hex()

    async def unfinished(self, caller: Caller, asked: str) -> str:
        """The run for the same call of a saved script that is to be gone on with: one that sleeps; else, where the
        run that the call is a part of repeats others, the one that failed as a part of those. Empty for none.

        Raises:
            StoreError: The store can't be read.
        """
        from toolcrib.scripts import tables

        store = await self._store()
        parents, run = [caller.run], caller.run
        while run and (run := await store.read(tables.repeated, run)):
            parents.append(run)
        since = store.clock() - self._keep
        return await store.read(tables.unfinished, asked, caller.principal.name, parents, since)

    @asynccontextmanager
    async def claimed(self, run: str) -> AsyncGenerator[None]:
        """Hold a run for whoever repeats it, until that has begun.

        Raises:
            UsageError: It can't be repeated now; see `_check_idle`.
            StoreError: The store can't be read.
        """
        if run in self._claims:  # what begins is not in the store yet
            raise UsageError(f"Run {run} is just being repeated.", hint=_WAIT)
        self._claims.add(run)
        try:
            await self._check_idle(run)
            yield
        finally:
            self._claims.discard(run)

    async def _check_idle(self, run: str) -> None:
        """Refuse to repeat a run beside itself, or beside another one that repeats it: each would do what the other
        does. Or without a journal, which alone knows what left and was never answered.

        Raises:
            UsageError: One of them is under way, here or in another process; or there is no journal.
            StoreError: The store can't be read.
        """
        from toolcrib.scripts import tables

        if self._settled is None:
            raise UsageError(
                "Calls are not recorded here, so nobody knows what a run has done, and none can be repeated.",
                hint="Look at what it has done, and run the rest without retry_of; or set `journal.enabled`.",
            )
        store = await self._store()
        running = await store.read(tables.running, run)
        live = {each.id for each in await live_instances(store) if not each.is_dead} if running else set[str]()
        for other, instance in running:
            if other in self._here if instance == self._instance else instance in live:
                raise UsageError(f"Run {other} is under way.", hint=_WAIT)

    async def earlier(self, run: str) -> list[EarlierCall]:
        """The calls with effects of a run and of those that it repeats, each once and in order, with what they came
        to where that is kept.

        Raises:
            StoreError: The store can't be read.
        """
        from toolcrib.scripts import tables

        store = await self._store()
        found: dict[str, EarlierCall] = {}
        while run:
            for call in await self._made(store, run):
                found.setdefault(call.call_id, call)
            run = await store.read(tables.repeated, run)
        return list(found.values())

    async def left(self, run: str) -> tuple[str, list[EarlierCall]]:
        """What a sleeping run has still to take over from the one that it repeats: that run, and its calls.

        Raises:
            StoreError: The store can't be read.
        """
        from toolcrib.scripts import tables

        store = await self._store()
        repeated = await store.read(tables.repeated, run)
        taken = {call.call_id for call in await self._made(store, run)} if repeated else set[str]()
        return repeated, [call for call in await self.earlier(repeated) if call.call_id not in taken]

    async def asleep(self, run: str, caller: Caller) -> Asleep | None:
        """What a sleeping run goes on from; None for one that does not sleep, or has slept too long.

        Raises:
            UsageError: There is no such run.
            SandboxError: What is stored is not what was put to sleep.
            StoreError: The store can't be read.
        """
        store = await self._store()
        row = await self._row(run, caller)
        snapshot = row["snapshot"]
        if row["status"] != "suspended" or snapshot is None or row["ended_at"] + self._keep <= store.clock():
            return None
        if not hmac.compare_digest(await self._seal(run, snapshot, row["ended_at"]), row["seal"]):
            raise SandboxError(
                f"What run {run} goes on from was altered.",
                hint="Look at what it has done, and run the rest without retry_of.",
            )
        return unpacked(snapshot, row["language"], row["seal"])

    async def wake(self, run: str, asleep: Asleep) -> None:
        """Take up a sleeping run; it is awake from then on, whoever else asks.

        Raises:
            UsageError: Somebody else was faster.
            StoreError: The store can't be written.
        """
        from toolcrib.scripts import tables

        store = await self._store()
        if not await store.write(tables.wake, run, asleep.seal, self._instance):
            raise UsageError(f"Run {run} was taken up by somebody else.", hint="Wait until it has ended.")
        self._here.add(run)

    async def _made(self, store: Store, run: str) -> list[EarlierCall]:
        """The calls with effects that a run itself made, or took over from another."""
        from toolcrib.scripts import tables

        kept = {row["call_id"]: row for row in await store.read(tables.results, run, store.clock())}
        calls = [call_of_row(row) for row in kept.values()]
        # What left and was not answered to the script before the process ended is in the journal alone.
        recorded = [] if self._settled is None else await self._settled(run)
        return [*calls, *(each for each in recorded if each.call_id not in kept)]

    async def _row(self, run: str, caller: Caller) -> dict[str, Any]:
        from toolcrib.scripts import tables

        store = await self._store()
        row = await store.read(tables.find, run, caller.principal.name)
        if row is None:
            raise UsageError(f"There is no run {shown(run)}.", hint="Run the script without retry_of.")
        return row

    async def _seal(self, run: str, snapshot: bytes, ended_at: float) -> str:
        key = hmac.digest(await self._key(), b"toolcrib snapshot", "sha256")
        return hmac.digest(key, f"{run}\0{ended_at!r}\0".encode() + hashlib.sha256(snapshot).digest(), "sha256").hex()

    async def _store(self) -> Store:
        """The store, with all that was put by now."""
        await self._behind.written()
        return await self._made_ready()

    async def _made_ready(self) -> Store:
        store = await self._opened()
        if store is not self._ready:
            async with self._lock:
                if store is not self._ready:
                    await anyio.to_thread.run_sync(self._prepare, store)
                    self._ready = store
        if store.clock() - self._pruned_at > _PRUNE_EVERY:
            await anyio.to_thread.run_sync(self._prune, store)
        return store

    def _prepare(self, store: Store) -> None:
        from toolcrib.scripts import tables

        store.ensure("scripts", tables.VERSION, tables.METADATA)
        self._prune(store)

    def _prune(self, store: Store) -> None:
        from toolcrib.scripts import tables

        now = self._pruned_at = store.clock()
        with store.transaction(write=True) as connection:
            tables.prune(connection, now, now - self._keep, now - self._retention)

    def _stored(self, text: str) -> str:
        """A text without secrets, as every database can hold it: no half of a surrogate pair, no NUL."""
        return self._redact(text).encode("utf-8", "replace").decode().replace("\0", "\ufffd")
