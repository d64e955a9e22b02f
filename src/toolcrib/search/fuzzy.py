"""The known term that an unknown one may be a misspelling of."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import islice

from toolcrib.search.documents import Numbering

_SHORTEST = 5
_LIKENESS = 0.65


class Spelling:
    """Finds terms of a vocabulary by likeness: the same first letter, one letter more or less, most pairs shared.

    Likeness is Dice's coefficient of the sets of adjacent letters, and has to reach 0.65.

    Args:
        words: The vocabulary; it may grow.
    """

    def __init__(self, words: Numbering) -> None:
        self._words = words
        self._sorted = 0
        self._shelves: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        self._pairs: dict[tuple[str, int], list[frozenset[str]]] = {}

    def nearest(self, term: str, used: Callable[[int], bool]) -> int | None:
        """The number of the term most like the given one, of those `used`; None when none is alike.

        Of equally like terms the first in the alphabet is taken.
        """
        if len(term) < _SHORTEST or not term.isalpha():
            return None
        self._sort_in()
        wanted = _pairs(term)
        best, found = _LIKENESS, ""
        for length in (len(term) - 1, len(term), len(term) + 1):
            for known, pairs in self._shelf(term[0], length):
                likeness = 2 * len(wanted & pairs) / (len(wanted) + len(pairs))
                if likeness < best or (likeness == best and found and known > found):
                    continue
                if used(self._words[known]):
                    best, found = likeness, known
        return self._words[found] if found else None

    def _sort_in(self) -> None:
        for word in islice(self._words, self._sorted, None):
            if len(word) >= _SHORTEST - 1:
                self._shelves[word[0], len(word)].append(word)
        self._sorted = len(self._words)

    def _shelf(self, letter: str, length: int) -> Iterable[tuple[str, frozenset[str]]]:
        words = self._shelves.get((letter, length), [])
        pairs = self._pairs.setdefault((letter, length), [])
        pairs.extend(_pairs(word) for word in words[len(pairs) :])
        return zip(words, pairs, strict=True)


def _pairs(word: str) -> frozenset[str]:
    return frozenset(word[at : at + 2] for at in range(len(word) - 1))
