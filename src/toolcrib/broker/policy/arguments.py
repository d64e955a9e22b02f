"""Tests of the arguments of a call."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from toolcrib.config import ArgumentTest
from toolcrib.patterns import Matches, compile_pattern

_KEPT_PATTERNS = 4_096


def passes(test: ArgumentTest, arguments: Mapping[str, Any]) -> bool:
    """Whether arguments pass a test. A value that is not there passes only `exists: false`."""
    return failure(test, arguments) is None


def failure(test: ArgumentTest, arguments: Mapping[str, Any]) -> str | None:
    """Why arguments fail a test, in words that follow the name of the argument; None when they pass."""
    found, value = _value_at(test.at, arguments)
    if not found:
        return None if test.exists is False else "is not there"
    if test.exists is False:
        return "is there"
    if test.tests_equality and not equal(value, test.equals):
        return "is another value"
    if test.one_of is not None and not any(equal(value, each) for each in test.one_of):
        return "is none of the values"
    if test.pattern is not None and not (isinstance(value, str) and _compiled(test.pattern)(value)):
        return "does not match the pattern" if isinstance(value, str) else "is no text"
    if test.minimum is None and test.maximum is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return "is no number"
    if test.minimum is not None and not value >= test.minimum:
        return "is less than the minimum"
    if test.maximum is not None and not value <= test.maximum:
        return "is more than the maximum"
    return None


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON: true is not 1, and 1 is 1.0, as a server may take it."""
    waiting = [(left, right)]
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, bool) or isinstance(other, bool):
            if one is not other:
                return False
        elif isinstance(one, dict) and isinstance(other, Mapping):
            members, others = cast("dict[str, Any]", one), cast("Mapping[str, Any]", other)
            if members.keys() != others.keys():
                return False
            waiting += [(item, others[key]) for key, item in members.items()]
        elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
            items, beside = cast("list[Any]", one), cast("list[Any]", other)
            if len(items) != len(beside):
                return False
            waiting += zip(items, beside, strict=True)
        elif one != other:
            return False
    return True


def _value_at(pointer: str, arguments: Mapping[str, Any]) -> tuple[bool, Any]:
    """Whether there is a value at a JSON Pointer, and the value."""
    value: Any = arguments
    for key in _keys(pointer):
        if isinstance(value, Mapping):
            members = cast("Mapping[str, Any]", value)
            if key not in members:
                return False, None
            value = members[key]
        elif isinstance(value, list):
            items = cast("list[Any]", value)
            # RFC 6901, 4: digits without a leading zero; `-` is the place behind the last item.
            if not (key.isascii() and key.isdigit()) or (key != "0" and key[0] == "0") or len(key) > 9:
                return False, None
            if int(key) >= len(items):
                return False, None
            value = items[int(key)]
        else:
            return False, None
    return True, value


@lru_cache(_KEPT_PATTERNS)
def _keys(pointer: str) -> tuple[str, ...]:
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


@lru_cache(_KEPT_PATTERNS)
def _compiled(pattern: str) -> Matches:
    return compile_pattern(pattern)
