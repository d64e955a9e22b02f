"""The durable journal: effects on record before they leave, reads written behind."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from toolcrib.broker.call import Call, Caller, Principal, Unsettled
from toolcrib.broker.journal.beginnings import BYTES_OF_A_RESULT, beginning_of
from toolcrib.broker.journal.ledger import Ledger
from toolcrib.broker.journal.seam import Ending
from toolcrib.broker.journal.spent import Spent
from toolcrib.broker.journal.withheld import TooManyError, withheld, without
from toolcrib.broker.journal.writer import Writer
from toolcrib.broker.journal.writing import Row, Scribe, measured
from toolcrib.broker.policy import Decision
from toolcrib.catalog import JsonObject
from toolcrib.errors import StoreError
from toolcrib.redact import Secrets
from toolcrib.store import Store
from toolcrib.tokens import counter

if TYPE_CHECKING:
    from sqlalchemy import Connection


logger = logging.getLogger(__name__)

FLUSH_SECONDS = 1.0
"""How long a read may wait until it is written."""

_BATCH = 256
"""Records that wait until they are written without waiting longer."""

_MOST_WAITING = 4_096
"""Records that wait for a database that can't be written; the oldest are then lost."""

_PATIENCE = 10
"""Times the usual wait, until a database that failed is tried again without need."""

_DAY = 86_400.0
_PRUNED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Rules:
    """How the journal is kept; see `JournalSettings`."""

    power_safe: bool = False
    retention_days: float | None = 90.0
    max_rows: int | None = 1_000_000
    arguments: Literal["redacted", "digest"] = "redacted"
    paths: Sequence[str] = ()
    result_days: float = 7.0


@dataclass(slots=True)
class _Line:
    """A call that is on its way, or that waits to be written."""

    call: Call
    decision: Decision
    labels: frozenset[str]
    started_at: float
    begun: float
    attempts: int = 1
    ending: dict[str, Any] | None = None


def _no_labels(_: Caller) -> frozenset[str]:
    return frozenset()


def _no_price(_: Principal) -> Callable[[], int]:
    return int


class DurableJournal:
    """Records calls in the store.

    Calls that may have effects are committed before they leave, and again when they have ended. Everything else
    waits in memory and is written in batches.

    Args:
        ledger: The database.
        instance: This instance's id.
        secrets: What must not be stored.
        rules: How it is kept.
        labels: The labels of what a caller has read so far.
        price: Gives, in the event loop, a function that says what the definitions of all tools that a principal
            may see cost in tokens; that one runs in another thread, since it may have to read them.
        flush_seconds: How long a read may wait until it is written.
    """

    def __init__(
        self,
        ledger: Ledger,
        instance: str,
        secrets: Secrets,
        rules: Rules,
        *,
        labels: Callable[[Caller], frozenset[str]] = _no_labels,
        price: Callable[[Principal], Callable[[], int]] = _no_price,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self._ledger = ledger
        self._instance = instance
        self._secrets = secrets
        self._rules = rules
        self._labels = labels
        self._price = price
        self._flush_seconds = flush_seconds
        self._under_way: dict[str, _Line] = {}
        self._whole: dict[str, _Line] = {}
        self._endings: deque[tuple[str, dict[str, Any]]] = deque(maxlen=_MOST_WAITING)
        self._firsts: deque[tuple[Call, float, bytes]] = deque(maxlen=_MOST_WAITING)
        self._spent: dict[tuple[Principal, str], Spent] = {}
        self._met: dict[tuple[Principal, str], None] = {}
        self._writer: Writer | None = None
        self._scribe: Scribe | None = None
        self._wanted = anyio.Event()
        self._lock = anyio.Lock()
        self._is_told = False
        self._is_closed = False

    async def started(self, call: Call, decision: Decision) -> Unsettled | None:
        """See `Journal.started`."""
        line = self._under_way.get(call.id)
        if line is None:
            line = _Line(call, decision, self._labels(call.caller), time.time(), time.monotonic())
        else:
            line.attempts += 1
        self._under_way[call.id] = line
        self._whole.pop(call.id, None)
        if call.effect == "read":
            return None
        try:
            return await self._write(self._begin, line)
        except StoreError as error:
            self._forget(line)
            raise StoreError(
                f"{call.target} was not called, since the call can't be recorded: {error.message}", hint=error.hint
            ) from error
        except BaseException:  # cancelled: it may be on record by now, and is not sent
            if line.attempts == 1:
                with anyio.CancelScope(shield=True):
                    await self.ended(call, "cancelled", "Given up before it was sent.")
            raise

    async def ended(self, call: Call, ending: Ending, detail: str = "", result: JsonObject | None = None) -> None:
        """See `Journal.ended`."""
        line = self._under_way.pop(call.id, None)
        if line is None:
            if ending == "cancelled":  # it was recorded as waiting, and nobody came back to it
                unknown = dict.fromkeys(("duration_ms", "result_bytes", "result_tokens"))
                self._endings.append((call.id, {"state": ending, "ended_at": time.time(), "error": detail, **unknown}))
                self._wanted.set()
            return
        line.ending = self._ending(line, ending, detail, result)
        if call.effect == "read":
            self._wait(line)
            return
        try:
            await self._write(self._end, [(call.id, line.ending)])
        except StoreError as error:
            self._tell_lost(error)
            self._endings.append((call.id, line.ending))
            self._wanted.set()

    async def stopped(self, call: Call, ending: Ending, decision: Decision, detail: str = "") -> None:
        """See `Journal.stopped`."""
        now = time.monotonic()
        line = _Line(call, decision, self._labels(call.caller), time.time(), now, attempts=0)
        line.ending = self._ending(line, ending, detail or decision.reason, None)
        self._wait(line)

    def discovered(self, caller: Caller, text: str, surface: str) -> None:
        """Note what finding tools has cost a conversation; written when a call is.

        Args:
            caller: Who asked; one in no conversation is not counted.
            text: The answer.
            surface: The definitions of the constant tools, which the conversation has been sent before.
        """
        if not caller.conversation:
            return
        key = (caller.principal, caller.conversation)
        spent = self._spent.get(key)
        if spent is None:
            spent = self._spent[key] = Spent(*key, time.time())
            if key not in self._met:
                self._met[key] = None
                spent.tokens += counter("estimate").count(surface)
        spent.answers += 1
        spent.tokens += counter("estimate").count(text)
        spent.last_at = time.time()
        for held in (self._spent, self._met):
            if len(held) > _MOST_WAITING:
                del held[next(iter(held))]

    def start(self, tasks: TaskGroup) -> None:
        """Write what waits from time to time, in these tasks."""
        tasks.start_soon(self._keep_flushing)

    async def flush(self) -> None:
        """Write what waits.

        Raises:
            StoreError: It can't be written, and goes on waiting.
        """
        async with self._lock:
            whole, self._whole = self._whole, {}
            endings, self._endings = list(self._endings), deque(maxlen=_MOST_WAITING)
            firsts, self._firsts = list(self._firsts), deque(maxlen=_MOST_WAITING)
            if not (whole or endings or firsts or (self._spent and self._writer is not None)):
                return
            spent, self._spent = self._spent, {}
            for (principal, _), each in spent.items():
                each.price = self._price(principal)
            try:
                # Before the database is locked for it.
                beginnings = await anyio.to_thread.run_sync(self._beginnings, firsts) if firsts else []
                await self._write(self._settle, list(whole.values()), endings, list(spent.values()), beginnings)
            except BaseException:
                self._put_back(whole, endings, spent)
                self._firsts.extendleft(reversed(firsts))
                raise
            self._is_told = False

    async def close(self) -> None:
        """Write what waits, and end; what can't be written is lost."""
        try:
            await self.flush()
        except StoreError as error:
            self._tell_lost(error)
        self._is_closed = True
        writer, self._writer = self._writer, None
        if writer is not None:
            await writer.close()

    async def _write(self, work: "Callable[..., Any]", *args: Any) -> Any:
        store = await self._ledger.store()
        if self._is_closed:
            raise StoreError("The crib is closed.", hint="Open another one.")
        if self._scribe is None:
            rules = self._rules
            self._scribe = Scribe(self._instance, self._ledger.key, self._secrets, rules.arguments, rules.paths)
        if self._writer is None:
            self._writer = Writer(store, power_safe=self._rules.power_safe, tidy=self._tidy(store))
        return await self._writer.write(lambda connection: work(connection, *args))

    def _row(self, line: _Line) -> Row:
        assert self._scribe is not None
        row = self._scribe.row(line.call, line.decision, line.labels, line.started_at)
        return {**row, "attempts": line.attempts}

    def _begin(self, connection: "Connection", line: _Line) -> Unsettled | None:
        from toolcrib.broker.journal import queries

        return queries.begin_call(connection, {**self._row(line), "attempts": 1})

    def _end(self, connection: "Connection", endings: Sequence[tuple[str, dict[str, Any]]]) -> None:
        from toolcrib.broker.journal import queries

        assert self._scribe is not None
        scribe = self._scribe
        queries.end_calls(connection, [(each, {**end, "error": scribe.error(end["error"])}) for each, end in endings])

    def _beginnings(self, firsts: Iterable[tuple[Call, float, bytes]]) -> list[Row]:
        """The rows of how results begin."""
        rows: list[Row] = []
        for call, ended_at, first in firsts:
            try:
                text = beginning_of(first, self._secrets.value, withheld(call, self._rules.paths))
            except TooManyError:  # what its arguments hide is not known, and may stand in it
                continue
            except Exception:  # a fault in it must not keep what became of calls from being written
                logger.exception("How the result of call %s begins could not be recorded", call.id)
                continue
            if text:
                rows.append({"call": call.id, "ended_at": ended_at, "beginning": text})
        return rows

    def _settle(
        self,
        connection: "Connection",
        whole: Sequence[_Line],
        endings: Sequence[tuple[str, dict[str, Any]]],
        spent: Sequence[Spent],
        beginnings: Sequence[Row],
    ) -> None:
        from toolcrib.broker.journal import queries

        assert self._scribe is not None
        rows: list[Row] = []
        for line in whole:
            ending = line.ending or {}
            try:
                rows.append({**self._row(line), **ending, "error": self._scribe.error(ending["error"])})
            except Exception:  # a fault in one record must not keep all others from being written
                logger.exception("The record of a call of %s could not be made", line.call.target)
        queries.put_calls(connection, rows)
        queries.put_beginnings(connection, beginnings)
        self._end(connection, endings)
        queries.add_discovery(connection, [each.row() for each in spent])

    def _tidy(self, store: Store) -> "Callable[[Connection], bool]":
        rules = self._rules

        def tidy(connection: "Connection") -> bool:
            from toolcrib.broker.journal import queries

            queries.recover(connection, store.clock())
            before = None if rules.retention_days is None else store.clock() - rules.retention_days * _DAY
            gone = queries.prune(connection, before, rules.max_rows, _PRUNED_AT_ONCE)
            forgotten = queries.forget_beginnings(connection, store.clock() - rules.result_days * _DAY, _PRUNED_AT_ONCE)
            return max(gone, forgotten) >= _PRUNED_AT_ONCE

        return tidy

    def _ending(self, line: _Line, ending: Ending, detail: str, result: JsonObject | None) -> dict[str, Any]:
        waits = ending == "waiting"
        size, tokens, first = measured(result, BYTES_OF_A_RESULT if self._rules.result_days else 0)
        if first and not waits:
            self._firsts.append((line.call, time.time(), first))
            self._wanted.set()
        return {
            "state": ending,
            "ended_at": None if waits else time.time(),
            "duration_ms": None if waits else round((time.monotonic() - line.begun) * 1000, 3),
            "result_bytes": size,
            "result_tokens": tokens,
            "error": self._without_hidden(line.call, detail) if detail else "",
        }

    def _without_hidden(self, call: Call, detail: str) -> str:
        """An error without what the record of its call's arguments does not keep."""
        with suppress(TooManyError):
            return without(detail, withheld(call, self._rules.paths))
        return detail

    def _wait(self, line: _Line) -> None:
        self._whole[line.call.id] = line
        while len(self._whole) > _MOST_WAITING:
            del self._whole[next(iter(self._whole))]
        self._wanted.set()

    def _put_back(
        self,
        whole: dict[str, _Line],
        endings: list[tuple[str, dict[str, Any]]],
        spent: dict[tuple[Principal, str], Spent],
    ) -> None:
        newer, self._whole = self._whole, whole
        for line in newer.values():
            self._wait(line)
        self._endings.extendleft(reversed(endings))
        for key, each in spent.items():
            if key in self._spent:
                self._spent[key].take(each)
            else:
                self._spent[key] = each

    async def _keep_flushing(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted = anyio.Event()
            if len(self._whole) < _BATCH:
                with anyio.move_on_after(self._flush_seconds):
                    while len(self._whole) < _BATCH:
                        await self._wanted.wait()
                        self._wanted = anyio.Event()
            try:
                await self.flush()
            except StoreError as error:
                self._tell_lost(error)
                await anyio.sleep(_PATIENCE * self._flush_seconds)
                self._wanted.set()

    def _forget(self, line: _Line) -> None:
        """Take back that a call was about to be sent."""
        line.attempts -= 1
        if not line.attempts:
            del self._under_way[line.call.id]

    def _tell_lost(self, error: StoreError) -> None:
        """Say that the journal has a hole; once, until it can be written again."""
        if not self._is_told:
            self._is_told = True
            logger.warning("Calls that only read are not recorded for now, and those with effects not made: %s", error)
