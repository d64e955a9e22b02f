"""The known term that an unknown one may be a misspelling of."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.documents import Numbering
from toolcrib.search.sorting import Bools, Longs

Letters = NDArray[np.uint32]

_SHORTEST = 4
_LONGEST = 24
_STEM = 5
_LONGEST_ENDING = 6

_ENDINGS = (
    "ations",
    "ation",
    "ements",
    "ement",
    "ments",
    "ment",
    "ions",
    "ion",
    "ing",
    "ers",
    "er",
    "ed",
    "es",
    "al",
    "e",
)


class Spelling:
    """Finds terms of a vocabulary that are one slip away: a letter too many, too few or another, or two swapped.

    Args:
        words: The vocabulary; it may grow.
    """

    def __init__(self, words: Numbering) -> None:
        self._words = words
        self._sorted = 0
        self._shelves: defaultdict[int, list[str]] = defaultdict(list)
        self._letters: dict[int, Letters] = {}

    def nearest(self, term: str, tools: Longs) -> str | None:
        """The term that was probably meant by one that is unknown; None when none is near.

        A term of four letters has to begin with the same one. Of several, one with the same first letter is
        preferred, then the one that most tools have, then the first in the alphabet.

        Args:
            term: The unknown term; one with anything but letters is never taken for a misspelling.
            tools: [words] How many tools have each known word; words that none has are passed over.
        """
        if not _SHORTEST <= len(term) <= _LONGEST or not term.isalpha():
            return None
        self._sort_in()
        for candidates in self._candidates(term):
            found = [
                (known[0] != term[0], -int(tools[number]), known)
                for known in candidates
                if (number := self._words[known]) < len(tools) and tools[number]
            ]
            if found:
                return min(found)[2]
        return None

    def _candidates(self, term: str) -> Iterator[list[str]]:
        """Words that may have been meant, the likeliest ones first.

        The vocabulary is of stems, and a slip may keep a word from being stemmed: the slip may be in the stem
        ("replcement") or in the ending ("informatino").
        """
        yield self._near(term)
        for ending in _ENDINGS:
            base = term.removesuffix(ending)
            if base != term and len(base) >= _STEM:
                yield self._near(base)
        shortest = max(_STEM, len(term) - _LONGEST_ENDING)
        yield from ([term[:end]] for end in range(len(term) - 1, shortest - 1, -1) if term[:end] in self._words)

    def _near(self, term: str) -> list[str]:
        """The words one slip away; for a term of few letters, those with the same first one."""
        near = [known for length in range(len(term) - 1, len(term) + 2) for known in self._one_slip_away(term, length)]
        return [known for known in near if known[0] == term[0]] if len(term) == _SHORTEST else near

    def _sort_in(self) -> None:
        for word in islice(self._words, self._sorted, None):
            if _SHORTEST - 1 <= len(word) <= _LONGEST + 1:
                self._shelves[len(word)].append(word)
        self._sorted = len(self._words)

    def _one_slip_away(self, term: str, length: int) -> list[str]:
        """The words of a length that differ from a term by one slip.

        What they share at their beginnings and ends is counted: all of the shorter one when a letter is too
        many, all but a letter when it is another, all but two when these are swapped.
        """
        shelf = self._shelves.get(length)
        if not shelf:
            return []
        letters, wanted = self._letters_of(length), _letters([term])[0]
        least = min(len(term), length)
        head = _run(letters[:, :least] == wanted[:least])
        tail = _run((letters[:, length - least :] == wanted[len(term) - least :])[:, ::-1])
        if length != len(term):
            near = head + tail >= least
        else:
            near = head + tail >= length - 1
            for at in np.flatnonzero(head + tail == length - 2).tolist():
                begin = int(head[at])
                near[at] = bool((letters[at, begin : begin + 2] == wanted[begin : begin + 2][::-1]).all())
        return [shelf[at] for at in np.flatnonzero(near).tolist()]

    def _letters_of(self, length: int) -> Letters:
        shelf, known = self._shelves[length], self._letters.get(length)
        if known is None or len(known) < len(shelf):
            known = self._letters[length] = _letters(shelf)
        return known


def _letters(words: Sequence[str]) -> Letters:
    """[words, length] The letters of words of one length, as numbers."""
    return np.array(words, dtype=np.str_).view(np.uint32).reshape(len(words), -1)


def _run(equal: Bools) -> Longs:
    """[n] For how long each row is true from its beginning on."""
    first: Longs = equal.argmin(axis=1)
    first[equal.all(axis=1)] = equal.shape[1]
    return first
