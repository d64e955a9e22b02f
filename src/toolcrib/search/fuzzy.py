"""The known word that an unknown one may be a misspelling of."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.documents import Vocabulary
from toolcrib.search.sorting import Bools, Longs

Letters = NDArray[np.uint32]

_SHORTEST = 4
_LONGEST = 24
_STEM = 5
_LONGEST_ENDING = 6


class Spelling:
    """Finds words of a vocabulary that are one slip away: a letter too many, too few or another, or two swapped.

    Words are compared as they are written: a slip may keep a word from being stemmed, or stem it to another.

    Args:
        vocabulary: The words; there may be more of them later.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._sorted = 0
        self._shelves: defaultdict[int, list[str]] = defaultdict(list)
        self._letters: dict[int, Letters] = {}

    def nearest(self, word: str, tools: Longs) -> str | None:
        """The word that was probably meant by one whose term is unknown; None when none is near.

        One of the same letters is preferred, then one with the same first letter, then the one whose term most
        tools have, then the first in the alphabet; a word of four letters needs one of the first two. Where no
        word is near, a known term that it begins with will do: the slip may be in an ending that no tool has
        ("generatign").

        Args:
            word: The word as it was written; one with anything but letters is never taken for a misspelling.
            tools: [terms] How many tools have each known term; those that none has are passed over.
        """
        if not _SHORTEST <= len(word) <= _LONGEST or not word.isalpha():
            return None
        self._sort_in()
        words, spelled = self._vocabulary.words, self._vocabulary.spelled
        letters = sorted(word)
        found = [
            (sorted(near) != letters, near[0] != word[0], -int(tools[number]), near)
            for near in self._near(word)
            if (number := words[spelled[near]]) < len(tools) and tools[number]
        ]
        if len(word) == _SHORTEST:
            found = [each for each in found if not (each[0] and each[1])]
        if found:
            return min(found)[-1]
        shortest = max(_STEM, len(word) - _LONGEST_ENDING)
        stems = (word[:end] for end in range(len(word) - 1, shortest - 1, -1))
        return next((stem for stem in stems if stem in words and words[stem] < len(tools) and tools[words[stem]]), None)

    def _near(self, word: str) -> list[str]:
        """The words one slip away."""
        return [near for length in range(len(word) - 1, len(word) + 2) for near in self._one_slip_away(word, length)]

    def _sort_in(self) -> None:
        if self._sorted == len(self._vocabulary.spelled):
            return
        for word in islice(self._vocabulary.spelled, self._sorted, None):
            if _SHORTEST - 1 <= len(word) <= _LONGEST + 1:
                self._shelves[len(word)].append(word)
        self._sorted = len(self._vocabulary.spelled)

    def _one_slip_away(self, word: str, length: int) -> list[str]:
        """The words of a length that differ from another by one slip.

        What they share at their beginnings and ends is counted: all of the shorter one when a letter is too
        many, all but a letter when it is another, all but two when these are swapped.
        """
        shelf = self._shelves.get(length)
        if not shelf:
            return []
        letters, wanted = self._letters_of(length), _letters([word])[0]
        least = min(len(word), length)
        head = _run(letters[:, :least] == wanted[:least])
        tail = _run((letters[:, length - least :] == wanted[len(word) - least :])[:, ::-1])
        if length != len(word):
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
