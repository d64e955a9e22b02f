"""What was read of some results, in a form that can be searched: fingerprints of the texts, hashes of the values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from toolcrib.broker.dataflow.fingerprints import CERTAIN, GRAM, Hashes, grams, winnowed

SHORTEST = 32
"""Bytes of letters and digits that a shared part must at least have to count."""

_DISTINCT = 8
_MOST_COMPARED = 2_000
_MOST_OWNERS = 32
_STEP = 64
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
    """Searchable extracts; it never changes.

    Args:
        extracts: Of the results, oldest first.
    """

    def __init__(self, extracts: Sequence[Extract]) -> None:
        self.extracts = tuple(extracts)
        self._text = _END.join(each.text for each in extracts)
        self.size = len(self._text)
        ends = np.cumsum([len(each.text) + 1 for each in extracts], dtype=np.int64)
        hashes, places = winnowed(self._text)
        owners = np.searchsorted(ends, places, side="right")
        known = _known_before(extracts, owners, hashes)
        hashes, places, owners = hashes[~known], places[~known], owners[~known]
        order = np.lexsort((places, owners, hashes))
        hashes, places, owners = hashes[order], places[order], owners[order]
        # One place of a part in a result is enough.
        is_first = np.ones(len(hashes), np.bool_)
        is_first[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
        self._hashes: Hashes = hashes[is_first]
        self._places: NDArray[np.int64] = places[is_first]
        self._owners: NDArray[np.int64] = owners[is_first]
        pairs = [(value, owner) for owner, each in enumerate(extracts) for value in each.values]
        pairs.sort()
        self._values = np.array([value for value, _ in pairs], np.int64)
        self._value_owners = [owner for _, owner in pairs]

    def shared_texts(self, text: bytes, hashes: Hashes, places: NDArray[np.int64]) -> list[Shared]:
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
                    found.append(Shared(self.extracts[owner].origin, begin, end - begin))
            if compared > _MOST_COMPARED:
                break
        return found

    def owners_of(self, values: Sequence[int]) -> Iterator[tuple[int, Origin]]:
        """The calls whose results held values, with the place of the value among those given, by their hashes."""
        given = np.array(values, np.int64)
        first = np.searchsorted(self._values, given)
        last = np.searchsorted(self._values, given, side="right")
        for place in np.flatnonzero(first < last).tolist():
            for owner in self._value_owners[first[place] : last[place]][:_MOST_OWNERS]:
                yield place, self.extracts[owner].origin


def parts_of(text: bytes) -> tuple[Hashes, NDArray[np.int64]]:
    """The hashes of all parts of a text, each one once, in order, and where the first of each stands."""
    hashes, places = np.unique(grams(text), return_index=True)
    return hashes, places.astype(np.int64)


def _known_before(extracts: Sequence[Extract], owners: NDArray[np.int64], hashes: Hashes) -> NDArray[np.bool_]:
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
