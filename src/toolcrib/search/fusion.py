"""Scores by words and by meaning made one.

Both are absolute: what words score is divided by the score of an ideal match, and a cosine is one already. So
they are added, not their ranks, which would give the best of a bad list as much as the best of a good one.
"""

from collections.abc import Sequence
from itertools import chain
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np

from toolcrib.catalog.visible import VisibleSet
from toolcrib.search.base import Hit
from toolcrib.search.index import Bools, Doubles, Longs, Segment
from toolcrib.search.meanings import Likeness
from toolcrib.search.scoring import letter_scores, scores
from toolcrib.search.view import View

MEANING = 0.5
"""What the cosine of the query with a tool counts."""

CLAUSE = 0.25
"""What being the best tool for a clause of the query counts; the second best half of it, and so on."""

_WEAK = 0.3
"""Below this the cosine, plus half of what words score, is too little to say that a tool fits."""

_DEEPEST_RANK = 50
_DIGITS = 6


class Fusion:
    """Ranks tools by their likeness to a query, and by its words.

    Args:
        by_words: Whether words count too, or only likeness.
    """

    def __init__(self, *, by_words: bool) -> None:
        self._by_words = by_words
        self._rows: WeakKeyDictionary[Segment, tuple[int, Longs]] = WeakKeyDictionary()

    def rank(
        self, view: View, texts: Sequence[str], likeness: Likeness, limit: int, visible: VisibleSet | None
    ) -> list[Hit]:
        """The best tools for the first of some texts, of which the others are clauses; equal ones by their ids."""
        ids = list(chain.from_iterable(segment.ids for segment in view.segments))
        if not ids:
            return []
        allowed = np.concatenate([segment.allowed(visible) for segment in view.segments])
        rows = np.concatenate([self._rows_of(segment, likeness) for segment in view.segments])
        cosines = likeness.cosines[:, rows].astype(np.float64)
        if not self._by_words:
            return _hits(ids, {"meaning": cosines[0]}, cosines[0] < _WEAK, allowed, limit)
        parts = _words(view, texts[0])
        parts["meaning"] = MEANING * cosines[0]
        alone = [
            _sum(_words(view, text), len(ids)) + MEANING * cosine
            for text, cosine in zip(texts[1:], cosines[1:], strict=True)
        ]
        bonus = np.max([_first_of(each, allowed) for each in alone or [_sum(parts, len(ids))]], axis=0)
        parts["clauses"] = CLAUSE * bonus
        weak = cosines[0] + parts.get("words", 0) / 2 < _WEAK
        return _hits(ids, parts, weak, allowed, limit)

    def _rows_of(self, segment: Segment, likeness: Likeness) -> Longs:
        """[n] The row of each tool's vector; tools that are gone may have any."""
        known = self._rows.get(segment)
        if known is None or known[0] != likeness.version:
            keys, rows = likeness.keys, likeness.rows
            found = (rows.get(keys.get(tool_id, b""), 0) for tool_id in segment.ids)
            known = likeness.version, np.fromiter(found, np.int64, len(segment.ids))
            self._rows[segment] = known
        return known[1]


def _words(view: View, text: str) -> dict[str, Doubles]:
    """[n] The parts of what words score, over all segments."""
    need = view.need(text)
    found: list[dict[str, Doubles]] = []
    for segment in view.segments:
        parts = scores(segment, need)
        parts["letters"] = letter_scores(segment, need, np.arange(len(segment.ids)))
        found.append(parts)
    names = dict.fromkeys(chain.from_iterable(found))
    return {
        name: np.concatenate(
            [parts.get(name, np.zeros(len(segment.ids))) for parts, segment in zip(found, view.segments, strict=True)]
        )
        for name in names
    }


def _sum(parts: dict[str, Doubles], count: int) -> Doubles:
    total = np.zeros(count)
    for values in parts.values():
        total += values
    return total


def _first_of(total: Doubles, allowed: Bools) -> Doubles:
    """[n] 1 for the best of the tools that are allowed, a half for the second best, and so on."""
    shown = np.where(allowed, total, -np.inf)
    deep = min(_DEEPEST_RANK, int(np.count_nonzero(allowed)))
    bonus = np.zeros(len(total))
    if deep:
        best = np.argpartition(shown, len(shown) - deep)[len(shown) - deep :]
        best = best[np.argsort(-shown[best], kind="stable")]
        bonus[best] = 1 / np.arange(1, deep + 1)
    return bonus


def _hits(
    ids: Sequence[str],
    parts: dict[str, Doubles],
    weak: Bools,
    allowed: Bools,
    limit: int,
) -> list[Hit]:
    total = np.where(allowed, _sum(parts, len(ids)), -np.inf)
    few = min(limit, int(np.count_nonzero(allowed)))
    if not few:
        return []
    floor = np.partition(total, len(total) - few)[len(total) - few]
    # A score is the sum of its parts as they are shown, which may move it by a last digit or two.
    slack = len(parts) * 10.0**-_DIGITS
    chosen = np.flatnonzero((total >= floor - slack) & allowed)
    shown = {name: np.round(values[chosen], _DIGITS) for name, values in parts.items()}
    scored = cast("list[float]", np.round(_sum(shown, len(chosen)), _DIGITS).tolist())
    columns = {name: cast("list[float]", values.tolist()) for name, values in shown.items()}
    tools = chosen.tolist()
    order = sorted(range(len(tools)), key=lambda at: (-scored[at], ids[tools[at]]))[:limit]
    return [
        Hit(
            ids[tools[at]],
            scored[at],
            {name: column[at] for name, column in columns.items() if column[at]},
            weak=bool(weak[tools[at]]),
        )
        for at in order
        if scored[at] > 0
    ]
