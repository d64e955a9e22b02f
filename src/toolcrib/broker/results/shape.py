"""The shape of a value: keys, types and lengths, on one line, whatever the size of the value."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, cast

from toolcrib.catalog import JsonObject

DEPTHS = (6, 4, 3, 2, 1)
"""Levels that are shown, fewer where more would be too long."""

_SAMPLED = 40
_KEYS = 24
_KEY_CHARACTERS = 60
_NAMES = {bool: "boolean", int: "integer", float: "number", type(None): "null"}


def shape(value: Any, characters: int) -> str:
    """What a value is made of, such as `{total: integer, items: [1,200 × {id: string, tags?: [0–3 × string]}]}`.

    Of long arrays the first items are looked at; `?` marks a member that not all of them have.

    Args:
        value: Any JSON value.
        characters: Most that the answer may have.
    """
    text = ""
    for depth in DEPTHS:
        text = _shape([value], depth)
        if len(text) <= characters:
            return text
    return f"{text[: characters - 1]}…"


def _shape(values: Sequence[Any], depth: int) -> str:
    """What these values, which stand in the same place, are made of."""
    kinds: dict[type, list[Any]] = {}
    for each in values:
        kinds.setdefault(cast("type[Any]", type(each)), []).append(each)
    texts: list[str] = []
    for kind, members in kinds.items():
        if kind is dict:
            texts.append(_objects(members, depth))
        elif kind is list:
            texts.append(_arrays(members, depth))
        elif kind is str:
            texts.append(_strings(members))
        else:
            texts.append(_NAMES.get(kind, kind.__name__))
    return " | ".join(texts)


def _objects(objects: Sequence[JsonObject], depth: int) -> str:
    keys: dict[str, None] = {}
    count = max(map(len, objects))
    for each in objects:
        keys.update(dict.fromkeys(_first(each, _KEYS)))
    if not keys:
        return "{}"
    if depth == 0:
        return f"{{{count:,} members}}"
    told: list[str] = []
    for key in _first(keys, _KEYS):
        holders = [each[key] for each in objects if key in each]
        mark = "?" if len(holders) < len(objects) else ""
        told.append(f"{_key(key)}{mark}: {_shape(holders, depth - 1)}")
    more = max(len(keys), count) - len(told)
    return f"{{{', '.join([*told, *([f'… {more:,} more'] if more > 0 else [])])}}}"


def _arrays(arrays: Sequence[list[Any]], depth: int) -> str:
    shortest, longest = min(map(len, arrays)), max(map(len, arrays))
    if longest == 0:
        return "[]"
    length = f"{longest:,}" if shortest == longest else f"{shortest:,}–{longest:,}"
    if depth == 0:
        return f"[{length} items]"
    sample = [item for each in arrays for item in each[:_SAMPLED]][:_SAMPLED]
    return f"[{length} × {_shape(sample, depth - 1)}]"


def _strings(texts: Sequence[str]) -> str:
    longest = max(map(len, texts))
    return "string" if longest <= 100 else f"string of {'' if len(texts) == 1 else 'up to '}{longest:,} characters"


def _key(key: str) -> str:
    shown = key if len(key) <= _KEY_CHARACTERS else f"{key[:_KEY_CHARACTERS]}…"
    return shown if shown.isidentifier() else json.dumps(shown, ensure_ascii=False)


def _first(keys: Iterable[str], most: int) -> list[str]:
    return [key for key, _ in zip(keys, range(most), strict=False)]
