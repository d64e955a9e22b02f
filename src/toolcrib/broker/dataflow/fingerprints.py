"""Fingerprints of texts: hashes of some of their parts, so that a text that shares a part is found without comparing.

Winnowing (Schleimer, Wilkerson, Aiken: "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003): of
every `WINDOW` hashes of `GRAM` characters in a row the smallest is kept. So any part that two texts share and that has
`GRAM + WINDOW - 1` characters is found, with an eighth of the hashes.
"""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

GRAM = 24
WINDOW = 16
CERTAIN = GRAM + WINDOW - 1
"""Bytes of letters and digits that a shared part must have to be found for certain: 39."""

_BASE = 0x9E3779B97F4A7C15
_MIX = np.uint64(0xD6E8FEB86659FD93)
_CHUNK = 1 << 20
_HALF = {1: 1, 2: 2, 4: 4, 8: 8, 16: 8}
"""The length of the second half, by the length of the first."""

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]


def grams(text: bytes) -> Hashes:
    """The hash of each part of `GRAM` bytes, by its place; an empty array for a shorter text."""
    if len(text) < GRAM:
        return np.empty(0, np.uint64)
    # The hash of 2n bytes from two of n: 24 = 16 + 8, in five steps and not in 24.
    one = np.frombuffer(text, np.uint8).astype(np.uint64) + np.uint64(1)
    eight = one
    for length in (1, 2, 4):
        eight = _joined(eight, eight, length)
    sixteen = _joined(eight, eight, 8)
    whole = _joined(sixteen, eight, 16)
    whole ^= whole >> np.uint64(29)
    whole *= _MIX
    whole ^= whole >> np.uint64(32)
    return whole


def _joined(first: Hashes, second: Hashes, length: int) -> Hashes:
    """The hashes of parts from those of their two halves, the first of which has that length."""
    whole = len(second) - length
    power = np.uint64(pow(_BASE, _HALF[length], 1 << 64))
    return first[:whole] * power + second[length : length + whole]


def winnowed(text: bytes) -> tuple[Hashes, Places]:
    """The hashes that are kept of a text, and where in it the parts stand."""
    kept: list[tuple[Hashes, Places]] = [_winnowed(chunk, start) for start, chunk in _chunks(text)]
    if not kept:
        return np.empty(0, np.uint64), np.empty(0, np.int64)
    return np.concatenate([each for each, _ in kept]), np.concatenate([each for _, each in kept])


def _chunks(text: bytes) -> Iterator[tuple[int, bytes]]:
    """The text in pieces that can be gone through with little memory, overlapping by what a window needs."""
    for start in range(0, max(1, len(text) - CERTAIN + 1), _CHUNK):
        yield start, text[start : start + _CHUNK + CERTAIN - 1]


def _winnowed(text: bytes, start: int) -> tuple[Hashes, Places]:
    hashes = grams(text)
    if len(hashes) < WINDOW:
        places = np.arange(len(hashes), dtype=np.int64)
        return hashes, places + start
    smallest = _sliding(np.minimum, hashes)
    # A place is kept if it holds the smallest of any window that it is in: the largest of those is no larger.
    padding = np.zeros(WINDOW - 1, np.uint64)
    largest = _sliding(np.maximum, np.concatenate([padding, smallest, padding]))
    places = np.flatnonzero(hashes == largest)
    return hashes[places], places + start


def _sliding(reduce: Any, values: Hashes) -> Hashes:
    """The reduction of each `WINDOW` values in a row, in four steps."""
    length = 1
    while length < WINDOW:
        values = cast("Hashes", reduce(values[:-length], values[length:]))
        length *= 2
    return values
