"""How well each tool of an index fits a query: the parts of the score, and the best tools by their sum.

The first part is BM25F divided by the score of an ideal match, so 0 to 1. To it are added, each on that
scale: adjacent pairs, synonyms, likeness of names by their letters, a name that is spelled out in the query,
and the server's name.
"""

from collections.abc import Mapping
from typing import cast

import numpy as np

from toolcrib.catalog.visible import VisibleSet
from toolcrib.search.base import Hit
from toolcrib.search.index import K1, Doubles, Longs, Segment
from toolcrib.search.spreading import DIGITS, POOL, Found, has_several, spread
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

_WEAK = 0.165
_BLOCK = 64


def rank(view: View, query: str, limit: int, visible: VisibleSet | None) -> list[Hit]:
    """The best tools for a query, equal ones in the order of their ids."""
    if limit <= 0:
        return []
    view = view.among(visible)
    need = view.need(query)
    several = has_several(need)
    most = max(limit, POOL) if several else limit
    found = [each for segment in view.segments for each in _best(segment, need, most, visible)]
    found.sort(key=_order)
    return spread(found[:most], need, PARTS["words"], limit) if several else [hit for hit, _, _ in found[:limit]]


def scores(segment: Segment, need: Need) -> dict[str, Doubles]:
    """[n] All parts of the score but `letters`, weighted; parts without effect are left out."""
    found: dict[str, Doubles] = {}
    ideal = max(need.ideal, 1e-9)
    if need.words:
        found["words"] = segment.sum_words(need.words, PARTS["words"] / ideal)
    if need.pairs:
        found["pairs"] = segment.sum_pairs(need.pairs, PARTS["pairs"] / ideal / (K1 + 1))
    if need.synonyms:
        found["synonyms"] = segment.sum_likes(need.synonyms, PARTS["synonyms"] / ideal)
    if need.servers.any():
        found["server"] = (need.servers * PARTS["server"])[segment.lists.server]
    tools, lengths = segment.whole_names(need.said)
    if len(tools):
        found["name"] = np.zeros(len(segment.ids))
        found["name"][tools] = lengths * (PARTS["name"] / need.said_words)
    return found


def letter_scores(segment: Segment, need: Need, tools: Longs) -> Doubles:
    """[tools] The likeness of the names of some tools to the query, weighted."""
    if need.letters is None:
        return np.zeros(len(tools))
    return segment.sum_names(tools, need.letters) * segment.lists.name_norm[tools] * PARTS["letters"]


def _best(segment: Segment, need: Need, limit: int, visible: VisibleSet | None) -> list[Found]:
    """The best tools of a segment; letters are looked at only where they can still make a difference."""
    whole = scores(segment, need)
    allowed = segment.allowed(visible)
    total = np.zeros(len(segment.ids))
    for values in whole.values():
        total += values
    if visible is not None or segment.living < len(total):
        total *= allowed
    floor = _largest(total, limit) - PARTS["letters"]
    tools = np.flatnonzero(total >= floor) if floor > 0 else np.flatnonzero(allowed)
    parts = {name: values[tools] for name, values in whole.items()}
    parts["letters"] = letter_scores(segment, need, tools)
    total = total[tools] + parts["letters"]
    # A score is the sum of its parts as they are shown, which may move it by a last digit or two.
    slack = len(parts) * 10.0**-DIGITS
    chosen = np.flatnonzero(total >= max(_largest(total, limit) - slack, slack))
    shown = {name: np.round(values[chosen], DIGITS) for name, values in parts.items()}
    total = np.zeros(len(chosen))
    for values in shown.values():
        total += values
    return _hits(segment, need, tools[chosen], np.round(total, DIGITS), shown, limit)


def _hits(
    segment: Segment, need: Need, tools: Longs, total: Doubles, parts: Mapping[str, Doubles], limit: int
) -> list[Found]:
    ids = [segment.ids[tool] for tool in cast("list[int]", tools.tolist())]
    scores = cast("list[float]", total.tolist())
    order = sorted(range(len(ids)), key=lambda at: (-scores[at], ids[at]))[:limit]
    sure = parts.get("words", np.zeros(len(ids))) * need.certainty
    columns = {name: cast("list[float]", values.tolist()) for name, values in parts.items()}
    return [
        (
            Hit(
                ids[at],
                scores[at],
                {name: column[at] for name, column in columns.items() if column[at]},
                weak=bool(sure[at] < _WEAK),
                confidence=round(float(sure[at]), DIGITS),
            ),
            segment,
            int(tools[at]),
        )
        for at in order
    ]


def _largest(values: Doubles, limit: int) -> float:
    """The `limit`th largest value, or the smallest when there are fewer."""
    if len(values) <= limit:
        return float(values.min(initial=0.0))
    blocks = len(values) // _BLOCK
    if blocks > limit:
        # As many blocks have a value as large as this, so there are as many such values.
        least = np.partition(values[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1), blocks - limit)
        values = values[values >= least[blocks - limit]]
    return float(np.partition(values, len(values) - limit)[len(values) - limit])


def _order(found: Found) -> tuple[float, str]:
    return -found[0].score, found[0].tool_id
