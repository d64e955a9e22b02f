"""What the parts of a score by words are made of: term by term, field by field. Looked at for few tools at a time."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import cast

import numpy as np

from toolcrib.search.base import Hit
from toolcrib.search.documents import FIELDS
from toolcrib.search.explanation import ExplainedHit, Share, whole_parts
from toolcrib.search.index import K1, Segment, field_weights
from toolcrib.search.scoring import PARTS
from toolcrib.search.view import Need, View

_TAKEN_APART = ("words", "pairs", "synonyms", "letters")
_TERM_BITS = 32


def explained(view: View, need: Need, hits: Sequence[Hit], scale: float = 1.0) -> list[ExplainedHit]:
    """Hits with what the parts of their scores by words are made of.

    Args:
        view: The index that the hits were found in.
        need: The query, as that index sees it.
        hits: The hits.
        scale: What the scores by words were multiplied with.
    """
    places = _places(view, {hit.tool_id for hit in hits})
    shares = _Shares(view, need, scale)
    return [ExplainedHit(hit, (*shares.of(*places[hit.tool_id]), *whole_parts(hit, but=_TAKEN_APART))) for hit in hits]


def _places(view: View, tool_ids: set[str]) -> dict[str, tuple[Segment, int]]:
    """Where some tools stand in the index."""
    return {
        tool_id: (segment, at)
        for segment in view.segments
        for at, tool_id in enumerate(segment.ids)
        if tool_id in tool_ids and segment.live[at]
    }


class _Shares:
    def __init__(self, view: View, need: Need, scale: float) -> None:
        self._need = need
        self._scale = scale
        self._terms = view.terms
        self._name_words = view.name_words

    def of(self, segment: Segment, tool: int) -> Iterator[Share]:
        """What words, pairs, synonyms and letters add to the score of a tool, the largest of each first."""
        for found in (
            self._of_words(segment, tool),
            self._of_pairs(segment, tool),
            self._of_synonyms(segment, tool),
            self._of_letters(segment, tool),
        ):
            yield from sorted(found, key=attrgetter("score"), reverse=True)

    def _weight(self, part: str) -> float:
        return PARTS[part] * self._scale / max(self._need.ideal, 1e-9)

    def _of_words(self, segment: Segment, tool: int) -> Iterator[Share]:
        for term, weight in self._need.words.items():
            posting = _posting(segment, term, tool)
            if posting is not None:
                score = weight * float(segment.lists.impact[posting]) * self._weight("words")
                yield from self._by_field(segment, tool, posting, self._terms[term], score)

    def _by_field(self, segment: Segment, tool: int, posting: int, what: str, score: float) -> Iterator[Share]:
        """A term's score by the fields that have it, as much to each as its count there weighs."""
        lists = segment.lists
        begin = int(lists.fields[:posting].sum(dtype=np.int64))
        entries = slice(begin, begin + int(lists.fields[posting]))
        fields = lists.entry_field[entries]
        counts = lists.entry_count[entries] * field_weights(lists.lengths[tool], lists.averages)[fields]
        parts = cast("list[float]", (counts / counts.sum()).tolist())
        for field, part in zip(cast("list[int]", fields.tolist()), parts, strict=True):
            yield Share("words", what, FIELDS[field], score * part)

    def _of_pairs(self, segment: Segment, tool: int) -> Iterator[Share]:
        pairs = np.fromiter(self._need.pairs, np.int64, len(self._need.pairs))
        begins, counts = segment.pair_places(pairs)
        for pair, begin, count in zip(pairs.tolist(), begins.tolist(), counts.tolist(), strict=True):
            if tool in segment.lists.pair_tool[begin : begin + count]:
                what = f"{self._terms[pair >> _TERM_BITS]} {self._terms[pair & (1 << _TERM_BITS) - 1]}"
                yield Share("pairs", what, "", self._need.pairs[pair] * self._weight("pairs") / (K1 + 1))

    def _of_synonyms(self, segment: Segment, tool: int) -> Iterator[Share]:
        at = np.array([tool])
        for likes in self._need.synonyms:
            impacts = [(float(segment.impacts(term, at)[0]), term) for term in likes.others]
            best, term = max(impacts, key=lambda each: each[0])
            own = 0.0 if likes.own is None else float(segment.impacts(likes.own, at)[0])
            if best > own:
                said = "" if likes.own is None else f"{self._terms[likes.own]} → "
                score = (best - own) * likes.weight * self._weight("synonyms")
                yield Share("synonyms", f"{said}{self._terms[term]}", "", score)

    def _of_letters(self, segment: Segment, tool: int) -> Iterator[Share]:
        if self._need.letters is None:
            return
        lists = segment.lists
        words = lists.name_word[lists.name_starts[tool] : lists.name_starts[tool + 1]]
        norm = float(lists.name_norm[tool]) * PARTS["letters"] * self._scale
        for word in cast("list[int]", words.tolist()):
            if like := float(self._need.letters[word]):
                yield Share("letters", self._name_words[word], "name", like * norm)


def _posting(segment: Segment, term: int, tool: int) -> int | None:
    """The place of a tool in the list of a term; None where it hasn't the term."""
    if term >= len(segment.df):
        return None
    begin, end = int(segment.lists.starts[term]), int(segment.lists.starts[term + 1])
    at = begin + int(segment.lists.tool[begin:end].searchsorted(tool))
    return at if at < end and int(segment.lists.tool[at]) == tool else None
