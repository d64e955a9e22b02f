"""Regular expressions that run in time linear in the text.

Python's own engine can be kept busy for hours by a few characters, in a pattern or in the text it is tried on. So
patterns from configurations, models and people run on the Rust engine that pydantic carries: without look-around
and backreferences, and without a way to blow up.
"""

from collections.abc import Callable
from typing import Annotated

Matches = Callable[[str], bool]
"""Says whether a pattern matches anywhere in a text; a text with lone surrogates, which UTF-8 can't carry, counts
as one without them."""


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
