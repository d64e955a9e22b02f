"""Small facts about parsed JSON: what kind a value is, how it is shown, how it is named by a pointer."""

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeGuard, cast

JsonObject = dict[str, Any]
"""A JSON object as parsed."""
Path = tuple[str | int, ...]
"""Keys and indices that lead to a place in a value."""

MOST_BITS = 3_322
"""Bits of an integer at most: a thousand digits. Python itself writes no more than 4,300."""


class NotJsonError(Exception):
    """A value can't be sent as JSON, or is nested too deep; its text says why, for a person."""


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a JSON array."""
    return isinstance(value, list)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a JSON number; in Python, True is an int too, and isn't meant here."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def kind(value: object) -> str:
    """The JSON kind of a value with its article, as a sentence needs it: `a string`, `an integer`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int):
        return "an integer"
    if isinstance(value, float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an object" if isinstance(value, dict) else "an array"


def pointer(path: Iterable[str | int]) -> str:
    """A path of keys and indices as a JSON Pointer (RFC 6901)."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def shown(value: object, limit: int = 60) -> str:
    """A value as JSON on one line of at most `limit` characters; a large one is cut or only described."""
    if isinstance(value, str):
        text = json.dumps(value[: limit + 1], ensure_ascii=False)
        return text if len(text) <= limit else f'{text[: limit - 2].rstrip(chr(92))}…"'
    if is_object(value) and len(value) > limit:
        return f"an object of {len(value)} members"
    if isinstance(value, (list, tuple)) and len(cast("list[Any]", value)) > limit:
        return f"an array of {len(cast('list[Any]', value))} items"
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


class Extent(NamedTuple):
    """How large a value is.

    Attributes:
        depth: 0 for a scalar, 1 for an object or array of scalars, and so on.
        size: Values in it, itself included.
    """

    depth: int
    size: int


def extent(value: object, limit: int) -> Extent:
    """How deep and large a value is; tuples count as arrays, as they do for `json.dumps`.

    Args:
        value: What to look at.
        limit: The greatest depth allowed.

    Raises:
        NotJsonError: Nested deeper than `limit`, or something in it has no JSON form.
    """
    level, size = 0, 0
    layer: list[object] = [value]
    while True:
        size += len(layer)
        deeper: list[object] = []
        containers = False
        for item in layer:
            if isinstance(item, str):
                if not item.isascii():
                    _check_text(item)
            elif is_object(item):
                containers = True
                _check_keys(item)
                deeper.extend(item.values())
            elif isinstance(item, (list, tuple)):
                containers = True
                deeper.extend(cast("list[object]", item))
            elif item is not None and item is not True and item is not False:
                _check_number(item)
        if not containers:
            return Extent(level, size)
        level += 1
        if level > limit:
            raise NotJsonError(f"is nested deeper than {limit} levels")
        layer = deeper


def _check_keys(value: JsonObject) -> None:
    for key in value:
        if type(key) is not str:
            raise NotJsonError(f"holds an object with the key {key!r}, which is no string")
        if not key.isascii():
            _check_text(key)


def _check_number(value: object) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJsonError(f"holds {value}, which JSON has no number for")
    elif not isinstance(value, int):
        raise NotJsonError(f"holds a {type(value).__name__}, which has no form in JSON")
    elif value.bit_length() > MOST_BITS:
        raise NotJsonError("holds an integer of more than a thousand digits")


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotJsonError("holds half of a surrogate pair, which UTF-8 can't carry") from None


def same(left: object, right: object) -> bool:
    """Whether two values are the same JSON: as `==`, but true is not 1 and 1 is not 1.0."""
    if type(left) is not type(right):
        return False
    if is_object(left) and is_object(right):
        return left.keys() == right.keys() and all(same(item, right[key]) for key, item in left.items())
    if is_array(left) and is_array(right):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def nodes(value: object) -> Iterator[JsonObject]:
    """Every object in a value, each before those inside it: as `objects`, without the paths."""
    waiting: list[object] = [value]
    while waiting:
        node = waiting.pop()
        if is_object(node):
            yield node
            waiting.extend(item for item in node.values() if is_object(item) or is_array(item))
        elif is_array(node):
            waiting.extend(item for item in node if is_object(item) or is_array(item))


def objects(value: object) -> Iterator[tuple[Path, JsonObject]]:
    """Every object in a value with its path, each before those inside it."""
    waiting: list[tuple[Path, JsonObject | list[Any]]] = []
    if is_object(value) or is_array(value):
        waiting.append(((), value))
    while waiting:
        path, node = waiting.pop()
        if is_object(node):
            yield path, node
            inside = node.items()
        else:
            inside = enumerate(node)
        for key, item in inside:
            if is_object(item) or is_array(item):
                waiting.append(((*path, key), item))
