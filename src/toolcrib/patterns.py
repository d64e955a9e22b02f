"""Regular expressions that run in time linear in the text.

Python's own engine can be kept busy for hours by a few characters, in a pattern or in the text it is tried on. So
patterns from configurations, models and people run on the Rust engine that pydantic carries: without look-around
and backreferences, and without a way to blow up.
"""

from collections.abc import Callable, Iterator
from typing import Annotated

Matches = Callable[[str], bool]
"""Says whether a pattern matches anywhere in a text; a text with lone surrogates, which UTF-8 can't carry, counts
as one without them."""

_LONGEST_MATCH = 2_000
_MOST_MATCHES = 100
_PASSES = 3
"""A match that overlaps one that was replaced is found in the next pass."""
_SIDES = [(left, right) for left in (False, True) for right in (False, True)]
_ANY = "(?s:.)"
_BEFORE = rf"\A{_ANY}(?s:.*)"


class PatternError(ValueError):
    """A regular expression can't be used; its text says why, in words that follow a colon."""


def compile_pattern(pattern: str, *, ignore_case: bool = False) -> Matches:
    """A regular expression of Rust's `regex` syntax.

    Args:
        pattern: The expression.
        ignore_case: Whether upper and lower case are the same, unless the pattern says `(?-i)`.

    Raises:
        PatternError: It is none, or too large.
    """
    # pydantic takes a tenth of a second to load, which who uses no pattern may spare.
    from pydantic import StringConstraints, TypeAdapter
    from pydantic_core import SchemaError

    flags = "(?i)" if ignore_case else ""
    try:
        made = TypeAdapter(Annotated[str, StringConstraints(pattern=flags + encodable(pattern))])
    except SchemaError as error:
        # The engine draws the pattern and points at the place; its last line says what is wrong there.
        reason = str(error).splitlines()[-1].strip()
        raise PatternError(reason.removeprefix("SchemaError: ").removeprefix("error: ").rstrip(".")) from None
    is_match = made.validator.isinstance_python

    def matches(text: str) -> bool:
        return is_match(text if text.isascii() else encodable(text))

    return matches


def encodable(text: str) -> str:
    """The text without lone surrogates, which JSON can carry and UTF-8 can't."""
    return text.encode("utf-8", "ignore").decode()


class Replacer:
    """Replaces what a regular expression matches, matches that overlap included.

    The engine only tells whether a text matches; where is found by asking it about parts of the text, each shown
    with the characters around it, which `\\b`, `^` and `$` look at.

    Args:
        pattern: The expression, of Rust's `regex` syntax.

    Raises:
        PatternError: It is none, too large, or matches the empty text.
    """

    def __init__(self, pattern: str) -> None:
        self._anywhere = compile_pattern(pattern)
        if self._anywhere(""):
            raise PatternError("it matches the empty text, and so everything")
        self._within = {
            (left, right): compile_pattern(rf"{left * _BEFORE}(?:{pattern}){right * _ANY}") for left, right in _SIDES
        }
        self._whole = {
            (left, right): compile_pattern(rf"\A{left * _ANY}(?:{pattern}){right * _ANY}\z") for left, right in _SIDES
        }

    def replace(self, text: str, replacement: str) -> str:
        """The text with every match replaced; one with more than a hundred matches is replaced as a whole.

        Args:
            text: The text; lone surrogates are left out where it matches.
            replacement: What stands for a match.
        """
        for _ in range(_PASSES):
            if not self._anywhere(text):
                break
            text = self._once(encodable(text), replacement)
        return text

    def _once(self, text: str, replacement: str) -> str:
        parts: list[str] = []
        at = 0
        for start, end in self._spans(text):
            if len(parts) > 2 * _MOST_MATCHES:
                return replacement
            parts += (text[at:start], replacement)
            at = end
        return "".join((*parts, text[at:]))

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of the matches, from the left."""
        at = 0
        while at < len(text) and self._ends_by(text, at, len(text)):
            first_end = self._first_end(text, at)
            start = self._start(text, at, first_end)
            end = self._end(text, start, first_end)
            if end > start:
                yield start, end
            at = max(end, at + 1)

    def _ends_by(self, text: str, start: int, end: int) -> bool:
        """Whether a match that starts at `start` or later ends at `end` or before."""
        left, right = start > 0, end < len(text)
        return self._within[left, right](text[start - left : end + right])

    def _first_end(self, text: str, at: int) -> int:
        low, high = at, len(text)
        while low < high:
            middle = (low + high) // 2
            if self._ends_by(text, at, middle):
                high = middle
            else:
                low = middle + 1
        return low

    def _start(self, text: str, at: int, end: int) -> int:
        """The leftmost start of a match with that end; all that comes before a very long one counts as part of it."""
        for start in range(max(at, end - _LONGEST_MATCH), end + 1):
            if self._is_match(text, start, end):
                return start
        return at

    def _end(self, text: str, start: int, first_end: int) -> int:
        """The rightmost end of a match with that start; all that follows a very long one counts as part of it."""
        furthest = min(len(text), start + _LONGEST_MATCH)
        for end in range(furthest, first_end, -1):
            if self._is_match(text, start, end):
                return len(text) if end == furthest else end
        return first_end

    def _is_match(self, text: str, start: int, end: int) -> bool:
        left, right = start > 0, end < len(text)
        return self._whole[left, right](text[start - left : end + right])
