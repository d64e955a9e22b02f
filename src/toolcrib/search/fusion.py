"""Scores by words and by meaning made one.

Neither scale is that of the other, nor the same from query to query: of a long query no tool has more than a
part of the words, and in a large catalog hundreds of tools are near to anything. So each score is measured
against the best one for the same query, a cosine from that of the hundredth best tool on, and then they are
added. Ranks are not: the best of a bad list would count as much as the best of a good one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import log
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np

from toolcrib.catalog.visible import VisibleSet
from toolcrib.search.base import Hit
from toolcrib.search.explanation import ExplainedHit, in_one_piece
from toolcrib.search.index import Bools, Doubles, Longs, Segment
from toolcrib.search.meanings import Likeness
from toolcrib.search.scoring import letter_scores, scores
from toolcrib.search.shares import explained
from toolcrib.search.spreading import DIGITS, POOL, Found, has_several, spread
from toolcrib.search.view import Need, View

CLAUSE = 0.5
"""What being the best tool for a clause of the query counts; the second best half of it, and so on."""

_MEANING = 2.0
_MEANING_PER_WORD = 0.5
_LEAST_MEANING = 0.3
"""The more words a query has, the more they tell by themselves."""

_USUAL_RANK = 100
_FAINT = 0.1
"""A best score below this is not taken for a full one."""

_SURE = 0.5
"""What words must score in the best tool for a clause to count in full: not every clause asks for a tool."""

_WEAK = 0.25
"""Below this the cosine, plus half of what words score, is too little to say that a tool fits."""

_DEEPEST_RANK = 50


@dataclass(frozen=True, slots=True)
class _Scores:
    """What one text scores.

    Attributes:
        need: The text as the index sees it.
        parts: [n] The parts of the scores, each measured against the best.
        total: [n] Their sum.
        words: [n] What words score by themselves, 0 to 1.
        best: The best score by words of a tool that may be found, before it was measured against itself.
        weight: What the likeness of the nearest tool counts.
    """

    need: Need
    parts: dict[str, Doubles]
    total: Doubles
    words: Doubles
    best: float
    weight: float

    @property
    def scale(self) -> float:
        """What a score by words was multiplied with."""
        return 1 / max(self.best, _FAINT)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """What a query found.

    Attributes:
        hits: The hits.
        cosines: [n] Likeness of all tools to the whole query.
        allowed: [n] Which may be found.
        whole: What the whole query scores; None where words don't count.
        bonus: [clauses, n] What each tool gets for each clause of the query.
    """

    hits: list[Hit]
    cosines: Doubles
    allowed: Bools
    whole: _Scores | None = None
    bonus: Doubles | None = None


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
        ranked = self._ranked(view.among(visible), texts, likeness, limit, visible)
        return [] if ranked is None else ranked.hits

    def explain(
        self, view: View, texts: Sequence[str], likeness: Likeness, limit: int, visible: VisibleSet | None
    ) -> list[ExplainedHit]:
        """The same, with what the scores are made of."""
        view = view.among(visible)
        ranked = self._ranked(view, texts, likeness, limit, visible)
        if ranked is None:
            return []
        hits, whole = ranked.hits, ranked.whole
        ids = chain.from_iterable(each.ids for each in view.segments)
        rows = {tool_id: at for at, tool_id in enumerate(ids) if ranked.allowed[at]}
        found = in_one_piece(hits) if whole is None else explained(view, whole.need, hits, whole.scale)
        return [_with_meaning(each, rows[each.hit.tool_id], ranked, texts[1:]) for each in found]

    def _ranked(
        self, view: View, texts: Sequence[str], likeness: Likeness, limit: int, visible: VisibleSet | None
    ) -> _Ranked | None:
        if not view.count:
            return None
        allowed = np.concatenate([segment.allowed(visible) for segment in view.segments])
        if not allowed.any():
            return None
        rows = np.concatenate([self._rows_of(segment, likeness) for segment in view.segments])
        cosines = likeness.cosines[:, rows].astype(np.float64)
        if not self._by_words:
            found = _best(view, {"meaning": cosines[0]}, cosines[0], allowed, limit)
            return _Ranked([hit for hit, _, _ in found], cosines[0], allowed)
        whole = _scores(view, texts[0], cosines[0], allowed)
        parts = whole.parts
        shares: Doubles | None = None
        if len(texts) > 1:
            alone = [_scores(view, text, cosine, allowed) for text, cosine in zip(texts[1:], cosines[1:], strict=True)]
            shares = np.array([_first_of(each.total, allowed) * min(1.0, each.best / _SURE) for each in alone])
            parts["clauses"] = CLAUSE * np.max(shares, axis=0)
        several = has_several(whole.need)
        most = max(limit, POOL) if several else limit
        found = _best(view, parts, cosines[0] + whole.words / 2, allowed, most)
        hits = spread(found, whole.need, whole.scale, limit) if several else [hit for hit, _, _ in found]
        return _Ranked(hits, cosines[0], allowed, whole, shares)

    def _rows_of(self, segment: Segment, likeness: Likeness) -> Longs:
        """[n] The row of each tool's vector; tools that are gone may have any."""
        known = self._rows.get(segment)
        if known is None or known[0] != likeness.version:
            keys, rows = likeness.keys, likeness.rows
            found = (rows.get(keys.get(tool_id, b""), 0) for tool_id in segment.ids)
            known = likeness.version, np.fromiter(found, np.int64, len(segment.ids))
            self._rows[segment] = known
        return known[1]


def _scores(view: View, text: str, cosine: Doubles, allowed: Bools) -> _Scores:
    """What a text scores by its words and its likeness, which is [n] cosines."""
    need = view.need(text)
    parts = _words(view, need)
    by_words = _sum(parts, len(cosine))
    best = float(by_words[allowed].max())
    words = parts.get("words", np.zeros(len(cosine)))
    scaled = {name: values / max(best, _FAINT) for name, values in parts.items()}
    weight = max(_LEAST_MEANING, _MEANING - _MEANING_PER_WORD * log(1 + len(need.words)))
    scaled["meaning"] = weight * _contrasted(cosine, allowed)
    return _Scores(need, scaled, by_words / max(best, _FAINT) + scaled["meaning"], words, best, weight)


def _with_meaning(found: ExplainedHit, row: int, ranked: _Ranked, clauses: Sequence[str]) -> ExplainedHit:
    """An explained hit, with what its likeness counts for, and for which clause of the query it counts."""
    shares = list(found.shares)
    if ranked.bonus is not None:
        clause = clauses[int(ranked.bonus[:, row].argmax())]
        shares = [replace(each, what=clause) if each.part == "clauses" else each for each in shares]
    measures = {"cosine": float(ranked.cosines[row])}
    if ranked.whole is not None:
        nearest, usual = _reach(ranked.cosines[ranked.allowed])
        measures |= {
            "nearest cosine": nearest,
            "usual cosine": usual,
            "weight of meaning": ranked.whole.weight,
            "best by words": ranked.whole.best,
        }
    return ExplainedHit(found.hit, tuple(shares), measures)


def _words(view: View, need: Need) -> dict[str, Doubles]:
    """[n] The parts of what words score, over all segments."""
    found: list[dict[str, Doubles]] = []
    for segment in view.segments:
        parts = scores(segment, need)
        parts["letters"] = letter_scores(segment, need, np.arange(len(segment.ids)))
        found.append(parts)
    if len(found) == 1:
        return found[0]
    names = dict.fromkeys(chain.from_iterable(found))
    return {
        name: np.concatenate(
            [parts.get(name, np.zeros(len(segment.ids))) for parts, segment in zip(found, view.segments, strict=True)]
        )
        for name in names
    }


def _contrasted(cosine: Doubles, allowed: Bools) -> Doubles:
    """[n] 1 for the nearest tool, 0 for those that are no nearer than the hundredth."""
    nearest, usual = _reach(cosine[allowed])
    return np.maximum(cosine - usual, 0) / max(nearest - usual, _FAINT)


def _reach(shown: Doubles) -> tuple[float, float]:
    """The cosine of the nearest tool, and that from which on it counts: the hundredth best, or 0."""
    usual = 0.0
    if len(shown) > _USUAL_RANK:
        usual = max(0.0, float(np.partition(shown, -_USUAL_RANK)[-_USUAL_RANK]))
    return float(shown.max()), usual


def _sum(parts: Mapping[str, Doubles], count: int) -> Doubles:
    total = np.zeros(count)
    for values in parts.values():
        total += values
    return total


def _first_of(total: Doubles, allowed: Bools) -> Doubles:
    """[n] 1 for the best of the tools that are allowed, a half for the second best, and so on."""
    shown = np.where(allowed, total, -np.inf)
    deep = min(_DEEPEST_RANK, int(np.count_nonzero(allowed)))
    best = np.argpartition(shown, len(shown) - deep)[len(shown) - deep :]
    best = best[np.argsort(-shown[best], kind="stable")]
    bonus = np.zeros(len(total))
    bonus[best] = 1 / np.arange(1, deep + 1)
    return bonus


def _best(view: View, parts: Mapping[str, Doubles], sureness: Doubles, allowed: Bools, limit: int) -> list[Found]:
    """The best tools by the sum of parts; those that score nothing are left out."""
    total = np.where(allowed, _sum(parts, len(allowed)), -np.inf)
    few = min(limit, int(np.count_nonzero(allowed)))
    floor = np.partition(total, len(total) - few)[len(total) - few]
    # A score is the sum of its parts as they are shown, which may move it by a last digit or two.
    slack = len(parts) * 10.0**-DIGITS
    chosen = np.flatnonzero((total >= floor - slack) & (total > 0))
    shown = {name: np.round(values[chosen], DIGITS) for name, values in parts.items()}
    scored = cast("list[float]", np.round(_sum(shown, len(chosen)), DIGITS).tolist())
    columns = {name: cast("list[float]", values.tolist()) for name, values in shown.items()}
    sure = cast("list[float]", np.round(sureness[chosen], DIGITS).tolist())
    begins = np.cumsum([0, *(len(segment.ids) for segment in view.segments)])
    within: list[int] = (np.searchsorted(begins, chosen, side="right") - 1).tolist()
    tools: list[int] = chosen.tolist()
    places = [(view.segments[at], tool - int(begins[at])) for at, tool in zip(within, tools, strict=True)]
    ids = [segment.ids[tool] for segment, tool in places]
    order = sorted(range(len(ids)), key=lambda at: (-scored[at], ids[at]))[:limit]
    return [
        (
            Hit(
                ids[at],
                scored[at],
                {name: column[at] for name, column in columns.items() if column[at]},
                weak=sure[at] < _WEAK,
                confidence=sure[at],
            ),
            *places[at],
        )
        for at in order
        if scored[at] > 0
    ]
