"""The beginning of what a call came to: made of the first bytes of its result, when there is time for it."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from pydantic_core import from_json

from toolcrib.broker.journal.withheld import without
from toolcrib.broker.journal.writing import OVERLAP, storable
from toolcrib.broker.results.view import view_of
from toolcrib.redact import mapped
from toolcrib.schema.jsonvalues import is_array, is_object

MOST_CHARACTERS = 1_000
"""Of one result."""

BYTES_OF_A_RESULT = MOST_CHARACTERS + OVERLAP
"""First bytes of a result's compact JSON that are held until its record is written."""

_UNSEEN = 256
"""Characters at the end of what was held that are not kept: of a secret that is broken off there, redaction may not
know the rest."""


def beginning_of(first: bytes, redacted: Callable[[Any], Any], hidden: Sequence[str] = ()) -> str:
    """How a result begins, as a person reads it: texts as they are, else JSON; of images what is told of them.

    Args:
        first: The first bytes of the result as compact JSON.
        redacted: Takes secrets out of a JSON value.
        hidden: Texts that are not kept either, in the order in which they are looked for.

    Returns:
        A text to be stored; empty where there is nothing to be read.
    """
    try:
        # The last member or text may be broken off, also within a letter.
        found = from_json(first.decode("utf-8", "ignore"), allow_partial="trailing-strings")
    except ValueError:
        return ""
    is_whole = len(first) < BYTES_OF_A_RESULT
    if not is_object(found):
        return ""
    view = view_of(found)
    if not is_whole:  # of an image that is broken off, nobody knows here how large it is
        for part in [view.value, *(view.value if is_array(view.value) else ())]:
            if is_object(part) and view.block(part) is not None:
                part.pop("bytes", None)
    value, _ = _start_of(view.value, MOST_CHARACTERS)
    if value in ("", [], {}, None):
        return ""
    if not is_whole and any(len(each) > _UNSEEN for each in hidden):
        return ""  # one of them may be broken off where nobody can tell it any more
    shown = mapped(redacted(value), lambda text: without(text, hidden), 0) if hidden else redacted(value)
    text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, indent=1)
    known = len(text) if is_whole or value is not view.value else max(0, len(text) - _UNSEEN)
    kept = text[: min(MOST_CHARACTERS, known)]
    return storable(kept if is_whole and len(kept) == len(text) and value == view.value else f"{kept}…")


def _start_of(value: Any, room: int) -> tuple[Any, int]:
    """A copy of the members and items that a value begins with, and how many characters are left then. Texts stay
    whole, so that no secret in them is broken."""
    if is_object(value):
        members: dict[str, Any] = {}
        for name, each in value.items():
            if room <= 0:
                break
            members[name], room = _start_of(each, room - len(name))
        return members, room
    if is_array(value):
        items: list[Any] = []
        for each in value:
            if room <= 0:
                break
            item, room = _start_of(each, room - 1)
            items.append(item)
        return items, room
    return value, room - (len(value) if isinstance(value, str) else 4)
