"""What was read of some results, in a form that can be searched: fingerprints of the texts, hashes of the values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from toolcrib.broker.dataflow.fingerprints import CERTAIN, GRAM, Hashes, Places, grams, winnowed

SHORTEST = 32
"""Bytes of letters and digits that a shared part must at least have to count."""

_DISTINCT = 8
_MOST_COMPARED = 2_000
_MOST_OWNERS = 32
_STEP = 64
_OVERHEAD = 2_000
_END = b"\0"


@dataclass(frozen=True, slots=True)
class Origin:
    """The call whose result something was read from."""

    tool_id: str
    call_id: str


@dataclass(frozen=True, slots=True)
class Extract:
    """What was read of one result.

    Attributes:
        origin: Where from.
        text: Its texts as letters and digits, a zero byte between.
        values: Hashes of its values.
        given: The texts of the call's own arguments in the same form: what comes back of them was known before.
    """

    origin: Origin
    text: bytes
    values: frozenset[int]
    given: bytes = b""


@dataclass(frozen=True, slots=True)
class Shared:
    """A part that arguments share with a result.

    Attributes:
        origin: Whose result.
        start: Where it begins in the arguments' letters.
        length: Its bytes.
    """

    origin: Origin
    start: int
    length: int


class Segment:
    """What was read of some results; it never changes. `of` and `joined` make one.

    Args:
        origins: Whose results, oldest first; what follows refers to them by their places.
        text: All their texts, as letters and digits, a zero byte between.
        parts: Hashes of parts of the text, where these stand, and whose they are.
        values: Hashes of values, and whose they are.
    """

    def __init__(
        self,
        origins: Sequence[Origin],
        text: bytes,
        parts: tuple[Hashes, Places, Places],
        values: tuple[Places, Places],
    ) -> None:
        self._origins = tuple(origins)
        self._text = text
        order = np.lexsort((parts[1], parts[2], parts[0]))
        hashes, places, owners = parts[0][order], parts[1][order], parts[2][order]
        # One place of a part in a result is enough.
        is_first = np.ones(len(hashes), np.bool_)
        is_first[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
        self._hashes = hashes[is_first]
        self._places, self._owners = places[is_first].astype(np.uint32), owners[is_first].astype(np.uint32)
        order = np.argsort(values[0], kind="stable")
        self._values, self._value_owners = values[0][order], values[1][order]

    @classmethod
    def of(cls, extracts: Sequence[Extract]) -> "Segment":
        """The segment of some results, oldest first."""
        text = _END.join(each.text for each in extracts)
        ends = np.cumsum([len(each.text) + 1 for each in extracts], dtype=np.int64)
        hashes, places = winnowed(text)
        owners = np.searchsorted(ends, places, side="right").astype(np.int64)
        is_new = ~_known_before(extracts, owners, hashes)
        pairs = [(value, owner) for owner, each in enumerate(extracts) for value in each.values]
        values = np.array(pairs, np.int64).reshape(-1, 2)
        return cls(
            [each.origin for each in extracts],
            text,
            (hashes[is_new], places[is_new], owners[is_new]),
            (values[:, 0], values[:, 1]),
        )

    @classmethod
    def joined(cls, segments: Sequence["Segment"]) -> "Segment":
        """Several segments, oldest first, as one."""
        before = np.cumsum([0, *(len(each._text) + 1 for each in segments)])
        owners = np.cumsum([0, *(len(each._origins) for each in segments)])
        moved = list(zip(segments, before, owners, strict=False))
        return cls(
            [origin for each in segments for origin in each._origins],
            _END.join(each._text for each in segments),
            (
                np.concatenate([each._hashes for each in segments]),
                np.concatenate([each._places + start for each, start, _ in moved]),
                np.concatenate([each._owners + first for each, _, first in moved]),
            ),
            (
                np.concatenate([each._values for each in segments]),
                np.concatenate([each._value_owners + first for each, _, first in moved]),
            ),
        )

    @property
    def size(self) -> int:
        """Bytes of memory, roughly: a part or a value that is kept takes 16 beside the text."""
        return _OVERHEAD + len(self._text) + 16 * (len(self._hashes) + len(self._values))

    def shared_texts(self, text: bytes, hashes: Hashes, places: Places) -> list[Shared]:
        """The parts of a text that results hold too.

        Args:
            text: Letters and digits, a zero byte between leaves.
            hashes: Hashes of its parts, each one once, in order.
            places: Where these parts stand in it.
        """
        first = np.searchsorted(self._hashes, hashes)
        last = np.searchsorted(self._hashes, hashes, side="right")
        hits = np.flatnonzero(first < last)
        hits = hits[np.argsort(places[hits])]
        owners = self._owners[first[hits]].tolist()
        rows = zip(places[hits].tolist(), first[hits].tolist(), last[hits].tolist(), owners, strict=True)
        found: list[Shared] = []
        reached: dict[int, int] = {}
        compared = 0
        for start, first_row, end_row, first_owner in rows:
            if end_row == first_row + 1 and start + GRAM <= reached.get(first_owner, 0):
                continue
            for row in range(first_row, min(end_row, first_row + _MOST_OWNERS)):
                owner = int(self._owners[row])
                if start + GRAM <= reached.get(owner, 0):
                    continue
                compared += 1
                begin, end = _common(text, start, self._text, int(self._places[row]))
                reached[owner] = max(end, reached.get(owner, 0))
                if end - begin >= SHORTEST and len(set(text[begin:end])) >= _DISTINCT:
                    found.append(Shared(self._origins[owner], begin, end - begin))
            if compared > _MOST_COMPARED:
                break
        return found

    def owners_of(self, values: Sequence[int]) -> Iterator[tuple[int, Origin]]:
        """The calls whose results held values, with the place of the value among those given, by their hashes."""
        given = np.array(values, np.int64)
        first = np.searchsorted(self._values, given)
        last = np.searchsorted(self._values, given, side="right")
        for place in np.flatnonzero(first < last).tolist():
            for owner in self._value_owners[first[place] : last[place]][:_MOST_OWNERS].tolist():
                yield place, self._origins[owner]


def parts_of(text: bytes) -> tuple[Hashes, Places]:
    """The hashes of all parts of a text, each one once, in order, and where the first of each stands."""
    hashes, places = np.unique(grams(text), return_index=True)
    return hashes, places.astype(np.int64)


def _known_before(extracts: Sequence[Extract], owners: Places, hashes: Hashes) -> NDArray[np.bool_]:
    """Marks the hashes of what a call had been given itself."""
    known = np.zeros(len(hashes), np.bool_)
    bounds = np.searchsorted(owners, np.arange(len(extracts) + 1))
    for each, (first, last) in zip(extracts, pairwise(bounds.tolist()), strict=True):
        if len(each.given) >= CERTAIN:
            known[first:last] = np.isin(hashes[first:last], grams(each.given))
    return known


def _common(one: bytes, at: int, other: bytes, place: int) -> tuple[int, int]:
    """Begin and end in the first text of what it shares with the second around two places; no further than a leaf."""
    first = one.rfind(_END, 0, at) + 1
    last = one.find(_END, at)
    last = len(one) if last < 0 else last
    begin, end = at, at
    while begin > first and place - (at - begin) > 0 and one[begin - 1] == other[place - (at - begin) - 1]:
        begin -= 1
    while end < last:
        step = min(_STEP, last - end)
        there = place + end - at
        if one[end : end + step] == other[there : there + step]:
            end += step
            continue
        while end < last and place + end - at < len(other) and one[end] == other[place + end - at]:
            end += 1
        break
    return begin, end
