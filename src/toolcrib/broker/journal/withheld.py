"""What is kept out of the record of a call's arguments: what the call came to may say it again."""

from collections.abc import Iterator, Sequence
from typing import Any

from toolcrib.broker.call import Call
from toolcrib.redact import MIN_SECRET, REDACTED, looks_secret, spellings
from toolcrib.schema.jsonvalues import is_array, is_object

_MOST_LOOKED_AT = 20_000
"""Members and items of one call's arguments."""


class TooManyError(Exception):
    """There are more values than are looked at."""


def given_of(call: Call) -> Any:
    """What stands for a call's arguments in its record."""
    return call.arguments if call.method in {"tools/call", "prompts/get"} else call.params


def withheld(call: Call, paths: Sequence[str]) -> list[str]:
    """The texts among a call's arguments that its record does not keep, in each spelling, longest first.

    Those are what the pointers lead to, and members whose name says that their value is secret. What is shorter than
    the shortest secret is left out: it stands in any text.

    Args:
        call: The call.
        paths: JSON Pointers into its arguments; `*` stands for any member or item.

    Raises:
        TooManyError: The arguments hold more than is looked at.
    """
    given = given_of(call)
    budget = iter(range(_MOST_LOOKED_AT))
    found = set(_named(given, budget))
    for path in paths:
        for part in _at(given, path.split("/")[1:], budget):
            found.update(_leaves(part, budget))
    return sorted({each for text in found for each in spellings(text)}, key=len, reverse=True)


def without(text: str, hidden: Sequence[str]) -> str:
    """A text without some others, which are tried in their order."""
    for each in hidden:
        text = text.replace(each, REDACTED)
    return text


def _at(value: Any, path: Sequence[str], budget: Iterator[int]) -> Iterator[Any]:
    """What a pointer leads to."""
    if not path:
        yield value
        return
    name = path[0].replace("~1", "/").replace("~0", "~")
    for key, each in _parts(value, budget):
        if name in ("*", str(key)):
            yield from _at(each, path[1:], budget)


def _named(value: Any, budget: Iterator[int]) -> Iterator[str]:
    """The texts under names that look secret."""
    waiting = [value]
    while waiting:
        for key, each in _parts(waiting.pop(), budget):
            if isinstance(key, str) and looks_secret(key):
                yield from _leaves(each, budget)
            else:
                waiting.append(each)


def _leaves(value: Any, budget: Iterator[int]) -> Iterator[str]:
    """The texts and numbers of a value that are long enough to be told from others."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        waiting += [each for _, each in _parts(part, budget)]
        if isinstance(part, str | int | float) and not isinstance(part, bool) and len(str(part)) >= MIN_SECRET:
            yield str(part)


def _parts(value: Any, budget: Iterator[int]) -> Iterator[tuple[str | int, Any]]:
    parts = value.items() if is_object(value) else enumerate(value) if is_array(value) else ()
    for part in parts:
        if next(budget, None) is None:
            raise TooManyError
        yield part
