"""Numbers sorted into lists: what comes under each key."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Bools = NDArray[np.bool_]


def changes(ordered: Longs) -> Longs:
    """The positions at which a sorted array takes a new value."""
    if not len(ordered):
        return np.zeros(0, np.int64)
    return np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])


def inverted(key: Ints | Longs, value: Ints | Longs, keys: int) -> tuple[Longs, Longs]:
    """Where the values of each key begin, and these, ascending."""
    # Sorting numbers is several times as quick as sorting by them.
    both = np.sort(key.astype(np.int64) << 32 | value)
    starts = np.searchsorted(both, np.arange(keys + 1, dtype=np.int64) << 32)
    return starts.astype(np.int64), both & 0xFFFFFFFF


def pair_lists(pair: Longs, tool: Ints) -> tuple[Longs, Longs, Ints]:
    """Loose pairs as lists: the pairs, where the tools of each begin, and these."""
    order = np.lexsort((tool, pair))
    pair, tool = pair[order], tool[order]
    if len(pair):
        once = np.concatenate([[True], (pair[1:] != pair[:-1]) | (tool[1:] != tool[:-1])])
        pair, tool = pair[once], tool[once]
    first = changes(pair)
    return pair[first], np.append(first, len(pair)), tool


def rarest_lists(name_word: Ints, name_length: Longs) -> tuple[Longs, Ints]:
    """The tools by the rarest word of their names: where those of each word begin, and the tools."""
    if not len(name_length):
        return np.zeros(1, np.int64), np.zeros(0, np.int32)
    df = np.bincount(name_word)
    by_rarity = df[name_word] << 32 | name_word
    rarest = np.minimum.reduceat(by_rarity, np.cumsum(name_length) - name_length) & 0xFFFFFFFF
    order = np.argsort(rarest, kind="stable")
    return np.searchsorted(rarest[order], np.arange(len(df) + 1)).astype(np.int64), order.astype(np.int32)
