"""An index at one moment, and a query as that index sees it."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log1p, sqrt
from typing import NamedTuple

import numpy as np

from toolcrib.catalog.visible import VisibleSet
from toolcrib.search.documents import Letters, Vocabulary, grams
from toolcrib.search.explanation import Sought
from toolcrib.search.fuzzy import Spelling
from toolcrib.search.index import Bools, Doubles, Longs, Segment, merge
from toolcrib.search.sorting import inverted
from toolcrib.search.synonyms import synonyms
from toolcrib.search.terms import Terms, spellings, surfaces, terms

# A word that many tools have tells little, and in a large catalog takes long to look up.
_USUAL = 0.2
_MOST_TOOLS = 20_000
_MOST_SEEN = 10_000
_NONE = np.zeros(0, np.int64)
_MOST_TERMS = 256
_MOST_PARTS = 16
"""Visible sets that leave something out whose own view is kept."""

Weights = dict[int, float]


class Likes(NamedTuple):
    """Terms that mean much the same as a term of the query.

    Attributes:
        weight: That of the term of the query.
        own: The number of that term; None when it is not known.
        others: The numbers of the others.
    """

    weight: float
    own: int | None
    others: Sequence[int]


@dataclass(frozen=True, slots=True)
class Need:
    """A query as the index sees it.

    Attributes:
        words: Weight of each known term, count and rarity in it.
        synonyms: What may stand for terms of the query.
        pairs: Rarity of each known pair of adjacent terms.
        letters: [words of names] Weight of the letters shared with each; None when none is shared.
        said: [words of names] Which are in the query.
        said_words: How many distinct words the query has.
        servers: [servers] Bonus for each server's name.
        ideal: The score of a tool that has every word, endlessly often.
        certainty: How far a score by words says that something was found, and not only the best of what is there.
    """

    words: Weights
    synonyms: Sequence[Likes]
    pairs: dict[int, float]
    letters: Doubles | None
    said: Bools
    said_words: int
    servers: Doubles
    ideal: float
    certainty: float


class View:
    """An index at one moment: its segments, and what is derived from all of them together.

    Args:
        segments: The segments, in the order of the tools.
        vocabulary: What their numbers stand for.
        spelling: Finds known terms for unknown ones.
    """

    def __init__(self, segments: Sequence[Segment], vocabulary: Vocabulary, spelling: Spelling) -> None:
        self.segments = segments
        self._vocabulary = vocabulary
        self._parts: dict[VisibleSet, View] = {}
        self.count = sum(segment.living for segment in segments)
        self._words = vocabulary.words
        self._spelling = spelling
        self._unknown = log1p((self.count + 0.5) / 0.5)
        self._others: dict[str, list[int]] = {}
        self._usual = min(max(_USUAL * self.count, 20), _MOST_TOOLS)
        df = np.zeros(len(self._words), np.int64)
        for segment in segments:
            df[: len(segment.df)] += segment.df
        self._df = df
        self._rarity = _rarity(df, self.count)
        self._names = _ServerNames(vocabulary.server_names, self._rarity)
        self._grams = _Grams(vocabulary.letters, segments, self.count)

    def among(self, visible: VisibleSet | None) -> "View":
        """The index as it would be without what is not visible. That must not show in which words are known, rare or
        mistyped, nor in how sure a hit is; so nothing of it is left in the lists."""
        allowed = [segment.allowed(visible) for segment in self.segments]
        if all(np.count_nonzero(each) == one.living for each, one in zip(allowed, self.segments, strict=True)):
            return self
        assert visible is not None
        part = self._parts.pop(visible, None)
        if part is None:
            left = [segment.only(mask) for segment, mask in zip(self.segments, allowed, strict=True)]
            part = View([merge(left, len(self._words), None)], self._vocabulary, self._spelling)
            if len(self._parts) >= _MOST_PARTS:
                del self._parts[next(iter(self._parts))]
        self._parts[visible] = part
        return part

    def need(self, query: str) -> Need:
        """A query's terms, looked up and weighted."""
        text, query = self._as_meant(terms(query), query)
        said = Counter(surfaces(query))
        sequence, counts = self._counted(text)
        words: Weights = {}
        rarity: Weights = {}
        weights: list[tuple[str, float, int | None]] = []
        ideal = total = 0.0
        for term, count in counts.items():
            number, share = self._known(term), sqrt(count)
            weight = self._unknown if number is None else float(self._rarity[number])
            ideal += share * weight
            total += weight
            if number is not None:
                rarity[number] = weight
                words[number] = share * weight
            weights.append((term, share * weight, number))
        return Need(
            words=words,
            synonyms=[each for one in weights for each in self._likes(*one, rarity)],
            pairs=self._pairs(sequence),
            letters=self._grams.weights(said),
            said=self._grams.said(said),
            said_words=len(said),
            servers=self._names.bonus(rarity, total),
            ideal=ideal,
            certainty=sqrt(ideal / log1p(max(self.count, 1))),
        )

    def read(self, query: str) -> tuple[str, list[Sought]]:
        """How a query is read: with its slips mended, and as which terms."""
        text, meant = self._as_meant(terms(query), query)
        words: dict[str, dict[str, None]] = {}
        for word, term in spellings(text.runs):
            words.setdefault(term, {})[word] = None
        found: list[Sought] = []
        for term, count in self._counted(text)[1].items():
            number = self._known(term)
            weight = self._unknown if number is None else float(self._rarity[number])
            tools = 0 if number is None else int(self._df[number])
            found.append(Sought(term, tuple(words.get(term, ())), sqrt(count) * weight, tools))
        return meant, found

    @property
    def terms(self) -> list[str]:
        """All terms, by their numbers."""
        return list(self._words)

    @property
    def name_words(self) -> list[str]:
        """All words of names, by their numbers."""
        return list(self._vocabulary.letters.words)

    def _counted(self, text: Terms) -> tuple[list[str], Counter[str]]:
        """The first terms of a text in order; and how often each is there, with further forms that are known."""
        sequence = text.sequence[:_MOST_TERMS]
        counts = Counter(sequence)
        counts.update(term for term in text.extras[:_MOST_TERMS] if self._known(term) is not None)
        return sequence, counts

    def _as_meant(self, text: Terms, query: str) -> tuple[Terms, str]:
        """A query with words that are near known ones in place of unknown ones."""
        unknown = {term for term in text.sequence if self._known(term) is None and term not in synonyms()}
        if not unknown:
            return text, query
        meant = " ".join(self._run_as_meant(run, unknown) for run in text.runs[:_MOST_TERMS])
        return terms(meant), meant

    def _run_as_meant(self, run: str, missing: Collection[str]) -> str:
        unknown = {word for word, term in spellings([run]) if term in missing}
        if not unknown:
            return run
        parts = surfaces(run)
        # A slip in the case of letters takes a word apart ("uBtton").
        whole = self._spelling.nearest(run.lower(), self._df) if len(parts) > 1 else None
        if whole is not None:
            return whole
        found = {word: near for word in unknown if (near := self._spelling.nearest(word, self._df)) is not None}
        return " ".join(found.get(part, part) for part in parts) if found else run

    def _likes(self, term: str, weight: float, own: int | None, said: Collection[int]) -> list[Likes]:
        """What may stand for a term; nothing that is said anyway."""
        others = self._others.get(term)
        if others is None:
            numbers = (self._known(other) for other in synonyms().get(term, ()))
            others = [number for number in numbers if number is not None and self._df[number] <= self._usual]
            self._others[term] = others
        unsaid = [number for number in others if number not in said]
        return [Likes(weight, own, unsaid)] if unsaid else []

    def _known(self, term: str) -> int | None:
        number = self._words.get(term)
        return number if number is not None and number < len(self._df) and self._df[number] else None

    def _pairs(self, sequence: Sequence[str]) -> dict[int, float]:
        numbers = [self._words.get(term) for term in sequence]
        wanted = {a << 32 | b for a, b in pairwise(numbers) if a is not None and b is not None}
        pairs = np.array(sorted(wanted), dtype=np.int64)
        df = np.zeros(len(pairs), np.int64)
        for segment in self.segments:
            df += segment.pair_places(pairs)[1]
        rarity = np.log1p((self.count - df + 0.5) / (df + 0.5))
        found = (df > 0) & (df <= self.count)
        return dict(zip(pairs[found].tolist(), rarity[found].tolist(), strict=True))


class _ServerNames:
    """Which servers a query names, and how much of each name and of the query that is."""

    def __init__(self, names: Sequence[Sequence[int]], rarity: Doubles) -> None:
        server = np.repeat(np.arange(len(names)), [len(name) for name in names])
        term = np.array([number for name in names for number in name], dtype=np.int64)
        self._mass = np.bincount(server, weights=rarity[term], minlength=len(names))
        self._starts, self._server = inverted(term, server, len(rarity))

    def bonus(self, rarity: Weights, total: float) -> Doubles:
        """[servers] The named share of each server's name, times its share of the query."""
        named = np.zeros(len(self._mass))
        for term, weight in rarity.items():
            named[self._server[self._starts[term] : self._starts[term + 1]]] += weight
        return named * named / np.maximum(self._mass * total, 1e-9)


class _Grams:
    """Likeness of words by their runs of three and four letters, as BM25 sees them."""

    def __init__(self, letters: Letters, segments: Sequence[Segment], count: int) -> None:
        self._seen: dict[str, tuple[Longs, int]] = {}
        self._numbers = letters.grams
        self._word_numbers = letters.words
        self._words = len(letters.ends)
        ends = np.array(letters.ends, dtype=np.int64)
        lengths = np.diff(ends, prepend=0)
        gram_of = np.array(letters.gram_of, dtype=np.int32)
        word = np.repeat(np.arange(self._words, dtype=np.int32), lengths)
        used = np.zeros(self._words)
        for segment in segments:
            used += segment.name_word_counts(self._words)
        df = np.bincount(gram_of, weights=used[word], minlength=len(letters.grams))
        self._rarity = _rarity(np.minimum(df, count), count)
        self._live = df > 0  # those of removed tools alone are as unknown as those that never were
        self._unknown = log1p((count + 0.5) / 0.5)
        self._starts, self._word = inverted(gram_of, word, len(letters.grams))

    def said(self, words: Iterable[str]) -> Bools:
        """[words of names] Which of them are given."""
        found = np.zeros(self._words, np.bool_)
        numbers = (self._word_numbers.get(word, self._words) for word in words)
        found[[number for number in numbers if number < self._words]] = True
        return found

    def weights(self, words: Mapping[str, int]) -> Doubles | None:
        """[words of names] How much of the letters of the given words, with counts, each has; 1 is all."""
        known = [self._of_word(word) for word in words]
        times = np.repeat(list(words.values()), [len(numbers) for numbers, _ in known])
        counts = np.bincount(np.concatenate([numbers for numbers, _ in known] or [_NONE]), times)
        said = np.flatnonzero(counts)
        if not len(said):
            return None
        shares = np.sqrt(counts[said]) * self._rarity[said]
        unknown = sum(sqrt(count) * missing for count, (_, missing) in zip(words.values(), known, strict=True))
        begin, lengths = self._starts[said], self._starts[said + 1] - self._starts[said]
        ends = np.cumsum(lengths)
        having = self._word[np.arange(ends[-1]) + np.repeat(begin - ends + lengths, lengths)]
        each = np.repeat(shares / (shares.sum() + unknown * self._unknown), lengths)
        total = np.bincount(having, weights=each, minlength=self._words)
        return np.asarray(total, dtype=np.float64)

    def _of_word(self, word: str) -> tuple[Longs, int]:
        """The numbers of the letter runs of a word that are known, and how many are not."""
        found = self._seen.get(word)
        if found is None:
            numbers = [self._numbers.get(gram, -1) for gram in grams(word)]
            known = np.array([number for number in numbers if number >= 0 and self._live[number]], dtype=np.int64)
            found = known, len(numbers) - len(known)
            if len(self._seen) < _MOST_SEEN:
                self._seen[word] = found
        return found


def _rarity(df: Doubles | Longs, count: int) -> Doubles:
    """BM25's idf, never negative, of what occurs in `df` of `count` tools."""
    return np.log1p((count - df + 0.5) / (df + 0.5))
