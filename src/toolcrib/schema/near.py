"""`NearNames`: the names most like a misspelled or invented one, out of many thousands."""

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from heapq import nsmallest

from toolcrib.errors import SAME_LIKENESS

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
MOST_WORDS = 12
"""Words of a name that are looked for."""
MOST_HITS = 8_000
"""Places looked up; a word that is in more names than that says nothing."""
MOST_COMPARED = 24
"""Names compared letter by letter."""
LEAST_LIKENESS = 0.55
"""Share of letters in common, in order, below which a name is not like another."""


class NearNames:
    """Finds the names most like a given one.

    The words of the name (or, of a word that is nowhere, its groups of three letters) are looked for in
    one text of all names, so that no index need be built; rare ones count more. The best few are then
    compared letter by letter.

    Args:
        names: The names to choose from, such as tool ids.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find(self, name: str, limit: int) -> tuple[str, ...]:
        """Up to `limit` names that are like `name`, best first.

        Args:
            name: At most a few hundred characters.
            limit: How many to name.
        """
        scores: defaultdict[int, float] = defaultdict(float)
        for weight, lines in self._evidence(name):
            for line in lines:
                scores[line] += weight
        best = nsmallest(MOST_COMPARED, scores, key=lambda line: (-scores[line], line))
        words = _plain(name)
        matcher = SequenceMatcher(autojunk=False)
        matcher.set_seq2(words)
        likeness: list[tuple[float, str]] = []
        for line in best:
            candidate = self._names[line]
            tail = candidate.rpartition(".")[2]
            ratio = max(_ratio(matcher, _plain(candidate)), _ratio(matcher, _plain(tail)) - 0.02)
            if ratio >= LEAST_LIKENESS:
                likeness.append((-ratio, candidate))
        likeness.sort()
        # beside a slip of one letter, all else is far off
        return tuple(candidate for ratio, candidate in likeness[:limit] if ratio <= likeness[0][0] + SAME_LIKENESS)

    @cached_property
    def _text(self) -> str:
        return "\n".join(name.replace("\n", " ") for name in self._names).lower() + "\n"

    @cached_property
    def _ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self._text)]

    def _evidence(self, name: str) -> Iterator[tuple[float, set[int]]]:
        """What in the name speaks for which lines, with its weight: rarest first, within a bound."""
        found: list[tuple[int, str]] = []
        for word in list(dict.fromkeys(word.lower() for word in _WORD.findall(name)))[:MOST_WORDS]:
            parts = [word]
            if not self._text.count(word):
                parts = [word[at : at + 3] for at in range(min(len(word), 24) - 2)]
            found += [(count, part) for part in parts if (count := self._text.count(part))]
        hits = 0
        for count, part in sorted(found):
            hits += count
            if hits > MOST_HITS:
                return
            lines = {bisect_right(self._ends, match.start()) for match in re.finditer(re.escape(part), self._text)}
            yield len(part) * math.log(1 + len(self._names) / len(lines)), lines


def _plain(name: str) -> str:
    return " ".join(word.lower() for word in _WORD.findall(name))


def _ratio(matcher: SequenceMatcher[str], text: str) -> float:
    matcher.set_seq1(text)
    return matcher.ratio()
