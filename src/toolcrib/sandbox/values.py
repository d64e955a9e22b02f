"""`plain`: values of a script as JSON values, within a budget.

What a script returns is hostile: a list that holds itself, one of forty levels that share their halves, one
nested a hundred thousand deep. Every walk here counts what it visits and stops.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

MOST_BITS = 3_322
"""Bits of an integer at most: a thousand digits."""
MOST_KEY = 200
"""Characters of a key that was made from something else than text."""

Opened = Callable[[object], object]
"""Turns an object of a back-end's own into something this module knows, or returns it as it is."""


class NotPlainError(Exception):
    """A value has no JSON form, or exceeds its budget; the text says why, for the script's writer."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A JSON value, and what was left out of it.

    Attributes:
        value: The value.
        cut: What was left out, in words; empty when nothing was.
    """

    value: Any
    cut: str = ""


def _as_is(value: object) -> object:
    return value


def plain(value: object, *, nodes: int, depth: int, size: int, opened: Opened = _as_is) -> Plain:
    """Any value as JSON; what does not fit is left out and said.

    Tuples and sets become arrays; dates, decimals and the like text; other objects their type's name.

    Args:
        value: What a script returned.
        nodes: Values at most, keys not counted.
        depth: Objects and arrays inside each other at most.
        size: Bytes about, as JSON.
        opened: Opens objects of the back-end's own.
    """
    walk = _Walk(nodes, depth, size, opened, strict=False)
    made = walk.of(value, 0)
    return Plain(made, walk.cut)


def plain_arguments(value: object, *, size: int, opened: Opened = _as_is) -> Any:
    """Arguments of a call as JSON, whole.

    Raises:
        NotPlainError: Something in them has no JSON form, or they are too large.
    """
    return _Walk(size, 64, size, opened, strict=True).of(value, 0)


class _Walk:
    """One walk through one value."""

    def __init__(self, nodes: int, depth: int, size: int, opened: Opened, *, strict: bool) -> None:
        self._nodes = nodes
        self._size = size
        self._limits = (nodes, depth, size)
        self._depth = depth
        self._opened = opened
        self._strict = strict
        self.cut = ""

    def of(self, value: object, level: int) -> Any:
        value = self._opened(value)
        self._nodes -= 1
        self._size -= 2
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, (int, float)):
            return self._number(value)
        if isinstance(value, dict):
            return self._object(cast("dict[object, object]", value), level)
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._array(cast("list[object]", value), level)
        return self._other(value)

    def _spent(self) -> bool:
        return self._nodes <= 0 or self._size <= 0

    def _too_much(self, what: str) -> None:
        if self._strict:
            raise NotPlainError(what)
        self.cut = self.cut or what

    def _text(self, text: str) -> str:
        length = len(text)
        if not text.isascii():
            if any("\ud800" <= char <= "\udfff" for char in text[: max(self._size, 0)]):
                if self._strict:
                    raise NotPlainError("holds half of a surrogate pair, which UTF-8 can't carry")
                text = text.encode("utf-8", "replace").decode()
            length = len(text.encode())
        if length > self._size:
            self._too_much(f"is larger than {self._limits[2]:,} bytes")
            text = text.encode()[: max(self._size, 0)].decode("utf-8", "ignore") + "…"
        self._size -= length
        return text

    def _number(self, value: float) -> Any:
        if isinstance(value, float):
            self._size -= 8
            if math.isfinite(value):
                return float(value)
            if self._strict:
                raise NotPlainError(f"holds {value}, which JSON has no number for")
            return str(value)
        self._size -= 1 + value.bit_length() // 4
        if value.bit_length() <= MOST_BITS:
            return int(value)
        self._too_much("holds an integer of more than a thousand digits")
        return "an integer of more than a thousand digits"

    def _object(self, value: dict[object, object], level: int) -> Any:
        if level >= self._depth:
            self._too_much(f"is nested deeper than {self._limits[1]} levels")
            return "{…}" if value else {}
        made: dict[str, Any] = {}
        for key, item in value.items():
            if self._spent():
                self._too_much(self._exhausted())
                break
            name = self._key(key)
            made[name] = self.of(item, level + 1)
        return made

    def _key(self, key: object) -> str:
        if isinstance(key, str):
            return self._text(key)
        if self._strict:
            raise NotPlainError(f"holds an object with a key that is no string, but of type {type(key).__name__}")
        if isinstance(key, tuple):
            return self._text(", ".join(self._key(part) for part in cast("tuple[object, ...]", key)[:8])[:MOST_KEY])
        word = {True: "true", False: "false"}[key] if isinstance(key, bool) else "null" if key is None else None
        return word or str(self._number(key) if isinstance(key, (int, float)) else self._other(key))[:MOST_KEY]

    def _array(self, value: list[object], level: int) -> Any:
        if level >= self._depth:
            self._too_much(f"is nested deeper than {self._limits[1]} levels")
            return "[…]" if value else []
        made: list[Any] = []
        for item in value:
            if self._spent():
                self._too_much(self._exhausted())
                break
            made.append(self.of(item, level + 1))
        return made

    def _exhausted(self) -> str:
        if self._size <= 0:
            return f"is larger than {self._limits[2]:,} bytes"
        return f"holds more than {self._limits[0]:,} values"

    def _other(self, value: object) -> Any:
        if isinstance(value, (datetime, date, time)):
            return self._text(value.isoformat())
        if isinstance(value, (Decimal, UUID, timedelta)):
            return self._text(str(value))
        if isinstance(value, (bytes, bytearray)):
            if self._strict:
                raise NotPlainError("holds bytes; send them as text, such as base64")
            return self._text(value[: max(self._size, 0)].decode("utf-8", "replace"))
        if self._strict:
            raise NotPlainError(f"holds a {type(value).__name__}, which has no form in JSON")
        return f"<{type(value).__name__[:MOST_KEY]}>"
