"""The first hits of a long query, chosen so that together they serve as many of its parts as possible."""

from collections.abc import Sequence

import numpy as np

from toolcrib.search.base import Hit
from toolcrib.search.index import Doubles, Segment
from toolcrib.search.view import Need

POOL = 30
"""How many of the best hits are chosen from."""

DIGITS = 6
"""Decimals of a score and its parts."""

_SEVERAL = 8
_REPEATED = 0.2
_SPREAD = 10

Found = tuple[Hit, Segment, int]
"""A hit, and which tool of which segment it is."""


def has_several(need: Need) -> bool:
    """Whether a query says so much that it may ask for several tools."""
    return len(need.words) >= _SEVERAL


def spread(found: Sequence[Found], need: Need, scale: float, limit: int) -> list[Hit]:
    """Hits in an order in which the first ones serve as many parts of a query as possible.

    The next hit is the one that is best when words count less that hits before it have. A whole task needs
    several tools, and the second best for one part of it is seldom among them. Scores are lowered to fit, as a
    part of their own: `repeats`.

    Args:
        found: The best hits, best first.
        need: The query.
        scale: What a full match of all its words adds to a score.
        limit: The most hits to return.
    """
    hits = [hit for hit, _, _ in found]
    count = min(len(hits), POOL)
    if not count:
        return []
    impacts = _impacts(need, found[:count])
    weights = np.array(list(need.words.values())) * (scale / max(need.ideal, 1e-9))
    other = np.array([hit.score for hit in hits[:count]]) - weights @ impacts
    waiting = [True] * count
    taken: list[Hit] = []
    for _ in range(min(_SPREAD, limit, count)):
        now = weights @ impacts + other
        best = int(now.argmax())
        waiting[best] = False
        taken.append(_lowered(hits[best], float(now[best])))
        other[best] = -np.inf
        weights = weights * (1 - _REPEATED * impacts[:, best])
    rest = [hit for at, hit in enumerate(hits) if at >= count or waiting[at]][: limit - len(taken)]
    return [*taken, *(_lowered(hit, taken[-1].score) for hit in rest)]


def _lowered(hit: Hit, most: float) -> Hit:
    """A hit with at most the given score."""
    repeats = round(min(most - hit.score, 0.0), DIGITS)
    if not repeats:
        return hit
    why = {**hit.why, "repeats": repeats}
    return Hit(hit.tool_id, round(hit.score + repeats, DIGITS), why, hit.weak, hit.confidence)


def _impacts(need: Need, found: Sequence[Found]) -> Doubles:
    """[words, found] The impact of each word of a query in some tools."""
    impacts = np.zeros((len(need.words), len(found)))
    for segment in {id(segment): segment for _, segment, _ in found}.values():
        at = [place for place, (_, other, _) in enumerate(found) if other is segment]
        tools = np.array([found[place][2] for place in at], dtype=np.int32)
        impacts[:, at] = [segment.impacts(term, tools) for term in need.words]
    return impacts
