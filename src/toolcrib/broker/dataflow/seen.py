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

_SEGMENT = 16 << 20
_SHORT_SEGMENTS = 8
_LARGEST_RESULT = 32 << 20


class Seen:
    """What one caller has read. Its methods may be called from any thread.

    Args:
        most: Bytes of memory that what is remembered may take; the oldest results go first.
        clock: Seconds, of any beginning.

    Attributes:
        labels: The labels of what was read.
        used: When the caller was last there.
        size: Bytes of memory that what is remembered takes, roughly.
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
        self.size = 0

    @property
    def noted(self) -> int:
        """Results that are not taken in yet."""
        return len(self._waiting)

    def touch(self) -> None:
        """Note that the caller is there."""
        self.used = self._clock()

    def add(self, call: Call, result: JsonObject) -> None:
        """Note a result, to be taken in when there is time or need."""
        with self._noting:
            self._waiting.append((call, result))

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
        self.size = 0

    def traces(self, call: Call) -> list[Trace]:
        """Which results the call's arguments hold parts of, the longest first."""
        self.take_in()
        with self._lock:
            segments = tuple(self._segments)
        return search(call, segments)

    def _put(self, extracts: "Sequence[Extract]") -> None:
        from toolcrib.broker.dataflow.segment import Segment

        segments = [*self._segments, Segment.of(extracts)]
        if len(segments) > _SHORT_SEGMENTS:
            segments = _joined(segments)
        size = sum(each.size for each in segments)
        while len(segments) > 1 and size > self._most:
            size -= segments.pop(0).size
        self._segments, self.size = segments, size


def _joined(segments: "Sequence[Segment]") -> "list[Segment]":
    """The same with neighbours put together while they are short, so that searches have few to go through."""
    from toolcrib.broker.dataflow.segment import Segment

    groups: list[list[Segment]] = []
    for each in segments:
        if groups and sum(other.size for other in groups[-1]) + each.size <= _SEGMENT:
            groups[-1].append(each)
        else:
            groups.append([each])
    return [group[0] if len(group) == 1 else Segment.joined(group) for group in groups]


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
