"""What one caller has read: labels, and texts and values that are known again."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from toolcrib.broker.call import Call
from toolcrib.broker.dataflow.leaves import all_values, leaves, letters, texts_read
from toolcrib.broker.dataflow.seam import Trace
from toolcrib.broker.dataflow.searching import search
from toolcrib.catalog import JsonObject

if TYPE_CHECKING:
    from toolcrib.broker.dataflow.segment import Extract, Segment

_SEGMENT = 4 << 20
_SHORT_SEGMENTS = 8
_LARGEST_RESULT = 32 << 20


class Seen:
    """What one caller has read. Its methods may be called from any thread.

    Args:
        most: Bytes of letters that are remembered; the oldest results go first.
        clock: Seconds, of any beginning.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.labels: frozenset[str] = frozenset()
        self._most = most
        self._clock = clock
        self.used = clock()
        self._lock = threading.Lock()
        self._noting = threading.Lock()
        self._waiting: list[tuple[Call, JsonObject]] = []
        self._segments: list[Segment] = []

    @property
    def size(self) -> int:
        """Bytes of letters that are remembered."""
        return sum(each.size for each in self._segments)

    def touch(self) -> None:
        """Note that the caller is there."""
        self.used = self._clock()

    def add(self, call: Call, result: JsonObject) -> int:
        """Note a result, to be taken in when there is time or need; how many are noted."""
        with self._noting:
            self._waiting.append((call, result))
            return len(self._waiting)

    def take_in(self) -> None:
        """Make what was noted searchable."""
        with self._lock:
            with self._noting:
                waiting, self._waiting = self._waiting, []
            if waiting:
                self._put([_extract(call, result) for call, result in waiting])

    def forget_texts(self) -> None:
        """Forget what was read, and keep the labels."""
        with self._noting:
            self._waiting = []
        self._segments = []

    def traces(self, call: Call) -> list[Trace]:
        """Which results the call's arguments hold parts of, the longest first."""
        self.take_in()
        with self._lock:
            segments = tuple(self._segments)
        return search(call, segments)

    def _put(self, extracts: "Sequence[Extract]") -> None:
        from toolcrib.broker.dataflow.segment import Segment

        self._segments.append(Segment(extracts))
        if len(self._segments) > _SHORT_SEGMENTS:
            self._segments = _joined(self._segments)
        while len(self._segments) > 1 and self.size > self._most:
            del self._segments[0]


def _joined(segments: "Sequence[Segment]") -> "list[Segment]":
    """The same with neighbours put together while they are short, so that searches have few to go through."""
    from toolcrib.broker.dataflow.segment import Segment

    groups: list[list[Segment]] = []
    for each in segments:
        if groups and sum(other.size for other in groups[-1]) + each.size <= _SEGMENT:
            groups[-1].append(each)
        else:
            groups.append([each])
    return [
        group[0] if len(group) == 1 else Segment([extract for each in group for extract in each.extracts])
        for group in groups
    ]


def _extract(call: Call, result: JsonObject) -> "Extract":
    from toolcrib.broker.dataflow.segment import Extract, Origin

    parts: dict[bytes, None] = {}
    values: set[str] = set()
    left = _LARGEST_RESULT
    for text in texts_read(result):
        left -= len(text)
        if left < 0:
            break
        parts[letters(text)] = None
        values |= all_values(text)
    given = [text for _, text in leaves(call.params.get("arguments"))]
    values.difference_update(*map(all_values, given))
    return Extract(
        Origin(call.target, call.id),
        b"\0".join(parts),
        frozenset(map(hash, values)),
        b"\0".join(map(letters, given)),
    )
