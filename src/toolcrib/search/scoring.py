"""How well each tool of an index fits a query: the parts of the score, and the best tools by their sum.

The first part is BM25F divided by the score of an ideal match, so 0 to 1. To it are added, each on that
scale: adjacent pairs, synonyms, likeness of names by their letters, a name that is spelled out in the query,
and the server's name.
"""

from collections.abc import Mapping

import numpy as np

from toolcrib.catalog.visible import VisibleSet
from toolcrib.search.base import Hit
from toolcrib.search.index import K1, Doubles, Segment
from toolcrib.search.view import Need, View

PARTS: Mapping[str, float] = {
    "words": 1.0,
    "pairs": 0.4,
    "synonyms": 0.3,
    "letters": 0.05,
    "name": 0.3,
    "server": 0.4,
}
"""The parts of the score, and their weights."""

_WEAK_SCORE = 0.1
_WEAK_COVERAGE = 0.2
_DIGITS = 6


def rank(view: View, query: str, limit: int, visible: VisibleSet | None) -> list[Hit]:
    """The best tools for a query, equal ones in the order of their ids."""
    if limit <= 0:
        return []
    need = view.need(query)
    hits = [hit for segment in view.segments for hit in _best(segment, need, limit, visible)]
    return sorted(hits, key=_order)[:limit]


def scores(segment: Segment, need: Need) -> dict[str, Doubles]:
    """[n] For each part of the score, weighted, what each tool of a segment gets; parts without effect are left out."""
    found: dict[str, Doubles] = {}
    ideal = max(need.ideal, 1e-9)
    if need.words:
        found["words"] = segment.sum_words(need.words) * (PARTS["words"] / ideal)
    if need.pairs:
        found["pairs"] = segment.sum_pairs(need.pairs) * (PARTS["pairs"] / ideal / (K1 + 1))
    if need.synonyms:
        found["synonyms"] = segment.sum_words(need.synonyms) * (PARTS["synonyms"] / ideal)
    if need.letters is not None:
        found["letters"] = segment.sum_names(need.letters) * PARTS["letters"]
    if need.said.any():
        found["name"] = segment.sum_whole_names(need.said) * PARTS["name"]
    if need.servers.any():
        found["server"] = need.servers[segment.lists.server] * PARTS["server"]
    return found


def _best(segment: Segment, need: Need, limit: int, visible: VisibleSet | None) -> list[Hit]:
    parts = scores(segment, need)
    if not parts:
        return []
    total = np.add.reduce(list(parts.values())) * segment.allowed(visible)
    floor = 0.0
    if limit < len(total):
        floor = float(np.partition(total, len(total) - limit)[len(total) - limit])
    noise = 10.0**-_DIGITS
    chosen = np.flatnonzero(total >= max(floor - noise, noise)).tolist()
    ranked = sorted((-round(float(total[at]), _DIGITS), segment.ids[at], at) for at in chosen)
    return [_hit(segment, need, parts, at) for _, _, at in ranked[:limit]]


def _hit(segment: Segment, need: Need, parts: Mapping[str, Doubles], at: int) -> Hit:
    each = {name: round(float(values[at]), _DIGITS) for name, values in parts.items()}
    why = {name: value for name, value in each.items() if value}
    score = round(sum(why.values()), _DIGITS)
    weak = score < _WEAK_SCORE and _coverage(segment, need, at) < _WEAK_COVERAGE
    return Hit(segment.ids[at], score, why, weak)


def _coverage(segment: Segment, need: Need, at: int) -> float:
    """The share of the query's words that a tool has, by their rarity."""
    covered = sum(weight for term, weight in need.rarity.items() if segment.has(term, at))
    return covered / need.total_rarity if covered else 0.0


def _order(hit: Hit) -> tuple[float, str]:
    return -hit.score, hit.tool_id
