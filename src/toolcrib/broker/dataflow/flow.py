"""`Memory`: the data flow of all callers of one crib, in memory."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import anyio.to_thread

from toolcrib.broker.call import Call, Caller
from toolcrib.broker.dataflow.seam import Trace
from toolcrib.broker.dataflow.seen import Seen
from toolcrib.broker.results import is_small
from toolcrib.catalog import JsonObject

logger = logging.getLogger(__name__)

MOST_CALLERS = 20_000
"""Callers whose labels are remembered; of more, those who were silent longest are forgotten."""

_BATCH = 32
_MOST_NOTED = 256
_MOST_TRACED = 64
"""Large calls whose traces wait to be asked for."""

_MEGABYTE = 1 << 20


class Memory:
    """Remembers what callers have read: the labels of it, and texts and values to know them again.

    A script reads for the one who wrote it, and is written by one who may have read anything before: so a run has
    the labels of its caller, and what it reads counts as read by its caller. Nothing is written to a disk: a
    conversation ends with the process that its caller speaks to.

    Args:
        labels: The labels of what a call's result holds.
        fingerprints: Whether texts and values are remembered.
        caller_mb: Megabytes of memory for what one caller has read; a megabyte of text takes about three.
        max_mb: Megabytes of all callers together.
        idle_seconds: How long a caller may be silent before it is forgotten.
        clock: Seconds, of any beginning.
        traced: Whether the policy asks for traces.
    """

    def __init__(
        self,
        labels: Callable[[Call], Iterable[str]],
        *,
        fingerprints: bool = True,
        caller_mb: int = 64,
        max_mb: int = 128,
        idle_seconds: float = 86_400.0,
        clock: Callable[[], float] = time.monotonic,
        traced: bool = False,
    ) -> None:
        self._labels = labels
        self._fingerprints = fingerprints
        self._caller_bytes = min(caller_mb, max_mb) * _MEGABYTE
        self._most_bytes = max_mb * _MEGABYTE
        self._idle_seconds = idle_seconds
        self._clock = clock
        # In the order of their last use.
        self._seen: dict[str, Seen] = {}
        self._running: dict[str, Future[None]] = {}
        self._worker: ThreadPoolExecutor | None = None
        self._is_traced = traced
        self._traced: dict[str, Sequence[Trace]] = {}
        self._noted = 0

    def labels(self, caller: Caller) -> frozenset[str]:
        """See `DataFlow.labels`."""
        seen = self._find(caller.key)
        return frozenset() if seen is None else seen.labels

    def traces(self, call: Call) -> Sequence[Trace]:
        """See `DataFlow.traces`. What was read last and is not taken in yet is taken in first; see `settle`."""
        self._is_traced = True
        seen = self._find(call.caller.key)
        known = self._traced.pop(call.id, None)
        if known is not None:
            return known
        return () if seen is None else seen.traces(call)

    def learned(self, call: Call, result: JsonObject, labels: Iterable[str] = ()) -> None:
        """See `DataFlow.learned`."""
        key = call.caller.key
        self._forget_idle()
        seen = self._seen.pop(key, None) or Seen(self._caller_bytes, self._clock)
        self._seen[key] = seen
        seen.touch()
        if added := frozenset(self._labels(call)).union(labels) - seen.labels:
            seen.labels |= added
        if self._fingerprints:
            seen.add(call, result)
            is_large = not (is_small(result) and is_small(call.params))
            if is_large or seen.noted >= _BATCH:
                self._take_in(key, seen)
            self._noted += _BATCH if is_large else 1
            if self._noted >= _MOST_NOTED:
                self._bound()

    async def settle(self, caller: Caller, *, now: bool = False, call: Call | None = None) -> None:
        """See `DataFlow.settle`."""
        if not (now or self._is_traced):  # where nobody asks for traces, nobody has to wait
            return
        running = self._running.get(caller.key)
        if running is not None and not running.done():
            await anyio.to_thread.run_sync(running.exception)
        seen = self._find(caller.key)
        if call is not None and seen is not None and not is_small(call.params):
            while len(self._traced) >= _MOST_TRACED:
                del self._traced[next(iter(self._traced))]
            self._traced[call.id] = await anyio.to_thread.run_sync(seen.traces, call)

    def close(self) -> None:
        """Forget everything."""
        if self._worker is not None:
            self._worker.shutdown(wait=False, cancel_futures=True)
            self._worker = None
        self._seen.clear()
        self._running.clear()

    def _find(self, key: str) -> Seen | None:
        self._forget_idle()
        seen = self._seen.pop(key, None)
        if seen is not None:
            self._seen[key] = seen
            seen.touch()
        return seen

    def _forget_idle(self) -> None:
        """Forget who has been silent for long, and who was silent longest if there are too many."""
        while self._seen:
            key, seen = next(iter(self._seen.items()))
            if len(self._seen) <= MOST_CALLERS and self._clock() - seen.used <= self._idle_seconds:
                return
            del self._seen[key]

    def _take_in(self, key: str, seen: Seen) -> None:
        """Make what a caller has read searchable, in a thread: it takes a second for ten megabytes."""
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, "toolcrib-dataflow")
        future = self._running[key] = self._worker.submit(seen.take_in)
        future.add_done_callback(_log_failure)

    def _bound(self) -> None:
        """Once in a while: take in what callers have noted who have gone, and forget the texts of those who were
        silent longest, until all together are within bounds."""
        self._noted = 0
        for key, seen in self._seen.items():
            if seen.noted:
                self._take_in(key, seen)
        left = sum(each.size for each in self._seen.values())
        for each in self._seen.values():
            if left <= self._most_bytes:
                return
            left -= each.size
            each.forget_texts()


def _log_failure(done: Future[None]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        logger.error("What a caller has read could not be taken in", exc_info=error)
