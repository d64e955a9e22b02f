"""Pages of a list whose cursors stay good when the list changes between two of them."""

import base64
import binascii
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from pydantic_core import to_json

from toolcrib.catalog import JsonObject
from toolcrib.errors import UsageError

MOST_ENTRIES = 500
"""Entries of one page at most."""

MOST_BYTES = 600_000
"""Bytes of one page, unless a single entry has more: the SDK's clients take 1 MiB in one event of a stream."""

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where an entry stands in a list.

    Attributes:
        rank: Of its server.
        name: Its own, unique within the list.
    """

    rank: int
    name: str


@dataclass(frozen=True, slots=True)
class Row(Generic[_Key]):
    """An entry of a list: its place, and what finds it."""

    place: Place
    key: _Key


def page(
    kind: str, rows: Iterable[Row[_Key]], cursor: str | None, read: Callable[[Row[_Key]], JsonObject | None]
) -> tuple[list[JsonObject], str | None]:
    """The entries of one page, and the cursor of the next one.

    A cursor tells where the last page ended, so that an entry which comes or goes meanwhile moves no other one.

    Args:
        kind: What is listed; a cursor is good for nothing else.
        rows: All entries, in the order of their places.
        cursor: From the page before; None for the first one.
        read: An entry as it goes out; None leaves it out.

    Raises:
        UsageError: The cursor is none of this list's.
    """
    after = None if cursor is None else _place(kind, cursor)
    entries: list[JsonObject] = []
    size = 0
    last: Place | None = None
    for row in rows:
        if after is not None and row.place <= after:
            continue
        entry = read(row)
        if entry is None:
            continue
        size += _size(entry)
        if entries and (len(entries) == MOST_ENTRIES or size > MOST_BYTES):
            assert last is not None
            return entries, _cursor(kind, last)
        entries.append(entry)
        last = row.place
    return entries, None


def _size(entry: JsonObject) -> int:
    try:
        return len(to_json(entry))
    except ValueError:  # half of a surrogate pair; it is replaced when it goes out
        return len(json.dumps(entry))


def _cursor(kind: str, place: Place) -> str:
    text = json.dumps([kind, place.rank, place.name], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _place(kind: str, cursor: str) -> Place:
    try:
        value: Any = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        value = None
    if isinstance(value, list) and len(cast("list[Any]", value)) == 3:
        of, rank, name = cast("list[Any]", value)
        if of == kind and isinstance(rank, int) and isinstance(name, str):
            return Place(rank, name)
    raise UsageError(f"There is no such page of {kind}.", hint="Ask without a cursor for the first one.")
