"""Inverted lists in numpy: BM25F impacts of words, adjacent pairs of words, and the words of names.

Robertson, Zaragoza and Taylor's BM25F (CIKM 2004): the counts of a term are weighted and divided by the
relative length of their field before they add up and saturate.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from toolcrib.catalog.visible import VisibleSet
from toolcrib.search.documents import FIELDS, Batch
from toolcrib.search.fields import WEIGHTS
from toolcrib.search.sorting import Bools, Bytes, Doubles, Floats, Ints, Longs, changes, pair_lists, rarest_lists

if TYPE_CHECKING:
    from toolcrib.search.view import Likes

K1 = 1.2
B = 0.75
_FEW = 1_000
_WIDTH = len(FIELDS)
_PAIR_FIELDS = FIELDS.index("rest") + 1
_WEIGHTS = np.array([WEIGHTS[name] for name in FIELDS])


@dataclass(frozen=True, slots=True)
class Lists:
    """The arrays of a segment, as they are built, merged and stored. `n` tools, `v` terms.

    Attributes:
        server: [n] Number of each tool's server.
        lengths: [n, fields] Tokens in each field.
        averages: [fields + 1] The average lengths that the impacts were made with; last, of names in words.
        starts: [v + 1] Where each term's postings begin.
        tool: [postings] Tool, ascending within a term.
        impact: [postings] Saturated weight of the term in the tool, 0 to 1.
        fields: [postings] In how many fields the term occurs.
        entry_field: [entries] Field of each occurrence, posting by posting.
        entry_count: [entries] How often it occurs there, at most 255.
        pair: [pairs] Two adjacent terms as one number, ascending.
        pair_starts: [pairs + 1] Where each pair's tools begin.
        pair_tool: The tools of each pair, ascending.
        name_starts: [n + 1] Where the words of each name begin.
        name_word: Numbers of the words of each name.
        name_norm: [n] What a name's length leaves of a match in it.
        rarest_starts: [words of names + 1] Where the tools begin of whose names each word is the rarest.
        rarest_tool: [n] These tools.
    """

    server: Ints
    lengths: Ints
    averages: Doubles
    starts: Longs
    tool: Ints
    impact: Floats
    fields: Bytes
    entry_field: Bytes
    entry_count: Bytes
    pair: Longs
    pair_starts: Longs
    pair_tool: Ints
    name_starts: Longs
    name_word: Ints
    name_norm: Floats
    rarest_starts: Longs
    rarest_tool: Ints


@dataclass(frozen=True, slots=True)
class _Loose:
    """The contents of a segment before they are sorted into lists; `entry` packs term, tool, field and count."""

    ids: list[str]
    server: Ints
    lengths: Ints
    entry: Longs
    pair: Longs
    pair_tool: Ints
    name_length: Longs
    name_word: Ints


class Segment:
    """Inverted lists over some tools; unchanging, but tools can be marked as gone.

    Args:
        ids: The tools' ids.
        lists: Their lists.
    """

    def __init__(self, ids: list[str], lists: Lists) -> None:
        self.ids = ids
        self.lists = lists
        self.live: Bools = np.ones(len(ids), dtype=np.bool_)
        self.living = len(ids)
        self.df: Longs = np.diff(lists.starts)
        self._masks: WeakKeyDictionary[VisibleSet, Bools] = WeakKeyDictionary()

    def drop(self, server: int) -> None:
        """Mark a server's tools as gone; document frequencies of words stay exact."""
        gone = (self.lists.server == server) & self.live
        if not gone.any():
            return
        self.live &= ~gone
        self.living = int(np.count_nonzero(self.live))
        at = np.flatnonzero(gone[self.lists.tool])
        terms = np.searchsorted(self.lists.starts, at, side="right") - 1
        self.df -= np.bincount(terms, minlength=len(self.df))

    def allowed(self, visible: VisibleSet | None) -> Bools:
        """[n] Which tools may be found; what a visible set leaves is computed once for each set."""
        if visible is None:
            return self.live
        mask = self._masks.get(visible)
        if mask is None:
            mask = np.fromiter((tool_id in visible for tool_id in self.ids), np.bool_, len(self.ids))
            self._masks[visible] = mask
        return mask & self.live

    def only(self, allowed: Bools) -> "Segment":
        """The same lists with these tools living alone, to be merged: document frequencies are not adjusted."""
        part = Segment(self.ids, self.lists)
        part.live, part.living = allowed, int(np.count_nonzero(allowed))
        return part

    def sum_words(self, weights: Mapping[int, float], scale: float) -> Doubles:
        """[n] The sum of weight times impact over terms, times `scale`."""
        total = np.zeros(len(self.ids))
        for term, weight in weights.items():
            tools, impact = self._postings(term)
            np.add.at(total, tools, impact.astype(np.float64) * (weight * scale))
        return total

    def sum_likes(self, likes: "Iterable[Likes]", scale: float) -> Doubles:
        """[n] How far, times `scale`, each tool's best word for each term has more impact than the term itself."""
        total, best = np.zeros(len(self.ids)), np.zeros(len(self.ids), np.float32)
        for each in likes:
            lists = [self._postings(term) for term in each.others]
            tools = np.concatenate([tools for tools, _ in lists])
            np.maximum.at(best, tools, np.concatenate([impact for _, impact in lists]))
            if each.own is not None:
                own, impact = self._postings(each.own)
                best[own] = np.maximum(best[own] - impact, 0)
            # A tool in several of the lists is given the same sum for each.
            total[tools] += best[tools] * (each.weight * scale)
            best[tools] = 0
        return total

    def _postings(self, term: int) -> tuple[Ints, Floats]:
        """The tools that have a term, and its impact in each."""
        if term >= len(self.df):
            return self.lists.tool[:0], self.lists.impact[:0]
        begin, end = self.lists.starts[term], self.lists.starts[term + 1]
        return self.lists.tool[begin:end], self.lists.impact[begin:end]

    def sum_pairs(self, weights: Mapping[int, float], scale: float) -> Doubles:
        """[n] The sum of the weights of the pairs that each tool has, times `scale`."""
        total = np.zeros(len(self.ids))
        begins, counts = self.pair_places(np.fromiter(weights, np.int64, len(weights)))
        for begin, count, weight in zip(begins.tolist(), counts.tolist(), weights.values(), strict=True):
            total[self.lists.pair_tool[begin : begin + count]] += weight * scale
        return total

    def sum_names(self, tools: Longs, weights: Doubles) -> Doubles:
        """[tools] The sum of the weights of the words of each name; `weights` by word, `tools` ascending."""
        words, ends = self._name_words(tools)
        sums = np.concatenate([[0.0], np.cumsum(weights[words])])
        return np.diff(sums[np.concatenate([[0], ends])])

    def whole_names(self, said: Bools) -> tuple[Longs, Longs]:
        """The tools of whose names every word is `said`, and how many words each name has; `said` by word."""
        lists = self.lists
        known = len(lists.rarest_starts) - 1
        starts, words = lists.rarest_starts, np.flatnonzero(said[:known]).tolist()
        spans = [lists.rarest_tool[starts[word] : starts[word + 1]] for word in words]
        tools = np.sort(np.concatenate([lists.rarest_tool[:0], *spans])).astype(np.int64)
        lengths = lists.name_starts[tools + 1] - lists.name_starts[tools]
        whole = self.sum_names(tools, said.astype(np.float64)) > lengths - 0.5
        return tools[whole], lengths[whole]

    def _name_words(self, tools: Longs) -> tuple[Ints, Longs]:
        """The words of the names of some tools, given ascending, and where those of each end."""
        lists = self.lists
        if len(tools) == len(self.ids):
            return lists.name_word, lists.name_starts[1:]
        begin = lists.name_starts[tools]
        lengths = lists.name_starts[tools + 1] - begin
        ends = np.cumsum(lengths)
        at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begin - ends + lengths, lengths)
        return lists.name_word[at], ends

    def pair_places(self, pairs: Longs) -> tuple[Longs, Longs]:
        """[pairs] Where the tools begin in which each two terms follow each other, and how many these are."""
        known, starts = self.lists.pair, self.lists.pair_starts
        if not len(known):
            return np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
        at = np.minimum(known.searchsorted(pairs), len(known) - 1)
        return starts[at], np.where(known[at] == pairs, starts[at + 1] - starts[at], 0)

    def name_word_counts(self, words: int) -> Longs:
        """[words] In how many names each word is."""
        kept = np.repeat(self.live, np.diff(self.lists.name_starts))
        return np.bincount(self.lists.name_word[kept], minlength=words)

    def impacts(self, term: int, tools: Ints | Longs) -> Floats:
        """[tools] The impact of a term in some tools; 0 where it isn't."""
        having, impact = self._postings(term)
        if not len(having):
            return np.zeros(len(tools), np.float32)
        at = having.searchsorted(tools)
        at[at == len(having)] = 0
        return impact[at] * (having[at] == tools)


def build(batches: Sequence[Batch], words: int, averages: Doubles | None) -> Segment:
    """A segment of batches.

    Args:
        batches: One for each server.
        words: How many terms are numbered.
        averages: [fields + 1] Average lengths of another segment, so that scores compare; None takes its own.
    """
    ids = [tool_id for batch in batches for tool_id in batch.ids]
    count = len(ids)
    token = _joined(batch.tokens for batch in batches)
    lengths = _joined(batch.lengths for batch in batches)
    in_order = _joined(batch.in_order for batch in batches)
    place = np.repeat(np.arange(count * _WIDTH, dtype=np.int64), lengths)
    packed = np.sort(token.astype(np.int64) * (count * _WIDTH) + place)
    first = changes(packed)
    counts = np.minimum(np.diff(np.append(first, len(packed))), 255)
    pair, pair_tool = _pairs(token, lengths, in_order, place)
    loose = _Loose(
        ids=ids,
        server=np.repeat(np.array([each.server for each in batches], np.int32), [len(each.ids) for each in batches]),
        lengths=lengths.reshape(count, _WIDTH),
        entry=(packed[first] << 8) | counts,
        pair=pair,
        pair_tool=pair_tool,
        name_length=_joined(batch.name_lengths for batch in batches).astype(np.int64),
        name_word=_joined(batch.name_words for batch in batches),
    )
    return _assembled(loose, words, averages)


def merge(segments: Sequence[Segment], words: int, averages: Doubles | None) -> Segment:
    """One segment of the living tools of several; arguments as in `build`."""
    total = sum(segment.living for segment in segments)
    begins = np.cumsum([0, *(segment.living for segment in segments)]).tolist()
    parts = [_loosened(segment, begin, total) for segment, begin in zip(segments, begins, strict=False)]
    loose = _Loose(
        ids=[tool_id for part in parts for tool_id in part.ids],
        server=np.concatenate([part.server for part in parts]),
        lengths=np.concatenate([part.lengths for part in parts]),
        entry=np.sort(np.concatenate([part.entry for part in parts])),
        pair=np.concatenate([part.pair for part in parts]),
        pair_tool=np.concatenate([part.pair_tool for part in parts]),
        name_length=np.concatenate([part.name_length for part in parts]),
        name_word=np.concatenate([part.name_word for part in parts]),
    )
    return _assembled(loose, words, averages)


def grown(segments: Sequence[Segment], batches: Sequence[Batch], words: int) -> list[Segment]:
    """At most two segments that hold what the given ones and the batches do: a large one, and the newer tools.

    The newer ones are merged into the large one when all are few, or when they are an eighth of it; so are
    its gaps when half of its tools are gone. Only then are the average lengths taken anew.
    """
    segments = [segment for segment in segments if segment.living]
    if not segments:
        return [build(batches, words, None)]
    base, *newer = segments
    if batches:
        newer.append(build(batches, words, base.lists.averages))
    added = sum(segment.living for segment in newer)
    gaps = len(base.ids) - base.living
    changed = added or gaps
    if changed and (base.living + added <= _FEW or added * 8 >= base.living or gaps >= base.living):
        return [merge([base, *newer], words, None)]
    return [base, merge(newer, words, base.lists.averages)] if len(newer) > 1 else [base, *newer]


def packed(segments: Sequence[Segment], words: int) -> Segment:
    """One segment of all living tools."""
    if not segments:
        return build([], words, None)
    if len(segments) == 1 and segments[0].living == len(segments[0].ids):
        return segments[0]
    return merge(segments, words, None)


def field_weights(lengths: Ints, averages: Doubles) -> Doubles:
    """[..., fields] What one occurrence in each field counts for, before it saturates.

    Args:
        lengths: [..., fields] Tokens in each field.
        averages: [fields + 1] The average lengths; see `Lists`.
    """
    usual = averages[:-1]
    relative = np.where(usual > 0, lengths / np.where(usual > 0, usual, 1), 1)
    return np.asarray(_WEIGHTS / (1 - B + B * relative), dtype=np.float64)


def _joined(arrays: "Iterable[array[int]]") -> Ints:
    return np.concatenate([np.zeros(0, np.int32), *(np.frombuffer(a, dtype=np.int32) for a in arrays if a)])


def _pairs(token: Ints, lengths: Ints, in_order: Ints, place: Longs) -> tuple[Longs, Ints]:
    """Every two terms that follow each other within the name, the first sentence or the rest, with their tool."""
    begin = np.cumsum(lengths, dtype=np.int64) - lengths
    within = np.arange(len(token)) - begin[place] + 1
    at = np.flatnonzero((place % _WIDTH < _PAIR_FIELDS) & (within < in_order[place]))
    pair = (token[at].astype(np.int64) << 32) | token[at + 1]
    return pair, (place[at] // _WIDTH).astype(np.int32)


def _loosened(segment: Segment, begin: int, total: int) -> _Loose:
    """A segment's living tools, renumbered to begin at `begin` of `total`."""
    lists, live = segment.lists, segment.live
    renumbered = np.cumsum(live) - 1 + begin
    term = np.repeat(np.arange(len(lists.starts) - 1), np.diff(lists.starts))
    kept = live[lists.tool]
    posting = (term[kept] * total + renumbered[lists.tool[kept]]) * _WIDTH
    kept_entries = np.repeat(kept, lists.fields)
    place = np.repeat(posting, lists.fields[kept]) + lists.entry_field[kept_entries]
    pair = np.repeat(lists.pair, np.diff(lists.pair_starts))
    pair_kept = live[lists.pair_tool]
    name_length = np.diff(lists.name_starts)
    return _Loose(
        ids=[segment.ids[at] for at in np.flatnonzero(live).tolist()],
        server=lists.server[live],
        lengths=lists.lengths[live],
        entry=(place << 8) | lists.entry_count[kept_entries],
        pair=pair[pair_kept],
        pair_tool=renumbered[lists.pair_tool[pair_kept]].astype(np.int32),
        name_length=name_length[live],
        name_word=lists.name_word[np.repeat(live, name_length)],
    )


def _assembled(loose: _Loose, words: int, averages: Doubles | None) -> Segment:
    count = len(loose.ids)
    if averages is None:
        averages = np.append(loose.lengths.sum(axis=0), loose.name_length.sum()) / max(count, 1)
    place = loose.entry >> 8
    field_of = place % _WIDTH
    posting_of = place // _WIDTH
    first = changes(posting_of)
    posting = posting_of[first]
    term, tool = np.divmod(posting, max(count, 1))
    entry_count = loose.entry & 255
    norms = field_weights(loose.lengths, averages)
    weighted = entry_count * norms[posting_of % max(count, 1), field_of]
    frequency = np.add.reduceat(weighted, first) if len(first) else np.zeros(0)
    pair, pair_starts, pair_tool = pair_lists(loose.pair, loose.pair_tool)
    rarest_starts, rarest_tool = rarest_lists(loose.name_word, loose.name_length)
    return Segment(
        loose.ids,
        Lists(
            server=loose.server,
            lengths=loose.lengths,
            averages=averages,
            starts=np.searchsorted(term, np.arange(words + 1)).astype(np.int64),
            tool=tool.astype(np.int32),
            impact=(frequency / (frequency + K1)).astype(np.float32),
            fields=np.diff(np.append(first, len(place))).astype(np.uint8),
            entry_field=field_of.astype(np.uint8),
            entry_count=entry_count.astype(np.uint8),
            pair=pair,
            pair_starts=pair_starts,
            pair_tool=pair_tool,
            name_starts=np.concatenate([[0], np.cumsum(loose.name_length)]),
            name_word=loose.name_word,
            rarest_starts=rarest_starts,
            rarest_tool=rarest_tool,
            name_norm=(1 / (1 + K1 * (1 - B + B * loose.name_length / averages[-1]))).astype(np.float32),
        ),
    )
