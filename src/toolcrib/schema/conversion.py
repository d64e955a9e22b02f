"""Converting one value to what a schema asks for, where that can't change its meaning."""

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from toolcrib.schema.jsonvalues import is_array, is_number, is_object

LONGEST_NUMBER = 40
"""Characters of a number written as a string at most."""
LONGEST_JSON = 500_000
"""Characters of a string that is read as JSON at most."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_TRUTH = {"true": True, "false": False}


def converted(value: object, types: Sequence[str], fits: Callable[[object], bool]) -> tuple[Any] | None:
    """A string as the number, boolean, object or array that it spells, in a tuple; None where it doesn't.

    Args:
        value: What was given.
        types: The JSON types allowed.
        fits: Whether a parsed value may be used; tells off what is nested too deep.
    """
    if not isinstance(value, str):
        return None
    if "integer" in types or "number" in types:
        number = _number(value, whole="number" not in types)
        if number is not None:
            return (number,)
    if "boolean" in types and value.lower() in _TRUTH:
        return (_TRUTH[value.lower()],)
    structure = parsed(value, fits)
    if structure and (("object" in types and is_object(structure[0])) or ("array" in types and is_array(structure[0]))):
        return structure
    return None


def parsed(value: object, fits: Callable[[object], bool]) -> tuple[Any] | None:
    """What a string holds as JSON, in a tuple; None if it is no JSON, or only a string or null again."""
    if not isinstance(value, str) or len(value) > LONGEST_JSON:
        return None
    try:
        found = json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return None if found is None or isinstance(found, str) or not fits(found) else (found,)


def matching_option(value: object, options: Sequence[Any]) -> tuple[Any] | None:
    """The one option that a string spells, in a tuple: its case may differ, or its quotes be too much."""
    if not isinstance(value, str):
        return None
    folded = value.casefold()
    found = [option for option in options if isinstance(option, str) and option.casefold() == folded]
    if not found:
        number, truth = _number(value, whole=False), _TRUTH.get(value.lower())
        found = [
            option
            for option in options
            if (is_number(option) and option == number) or (isinstance(option, bool) and option is truth)
        ]
    return (found[0],) if len(found) == 1 else None


def _number(text: str, *, whole: bool) -> int | float | None:
    match = _NUMBER.fullmatch(text) if len(text) <= LONGEST_NUMBER else None
    if match is None:
        return None
    if match[1] is None and match[2] is None:
        return int(text)
    number = float(text)
    return None if whole or not math.isfinite(number) else number


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
