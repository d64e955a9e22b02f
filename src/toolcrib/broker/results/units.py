"""A value in units that can be counted, shown and searched: lines of a text, items of an array."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast

from pydantic_core import PydanticSerializationError, to_json

from toolcrib.broker.results.measuring import encoded

LONGEST_LINE = 2_000
"""Characters after which a line is broken, so that a text without line ends has pages too."""

Kind = Literal["lines", "items"]


def units_of(value: Any, longest_line: int = LONGEST_LINE) -> tuple[Kind, Sequence[Any]]:
    """The units of a value: an array's items; a text's lines; for anything else the lines of its JSON, indented.

    Args:
        value: Any JSON value that nests no deeper than `DEEPEST`.
        longest_line: Characters after which a line is broken.
    """
    if isinstance(value, list):
        return "items", cast("list[Any]", value)
    text = value if isinstance(value, str) else _indented(value)
    return "lines", list(_lines(text, longest_line))


def as_text(kind: Kind, unit: Any) -> str:
    """A unit as it is shown: a line as it is, an item as compact JSON."""
    return cast("str", unit) if kind == "lines" else encoded(unit).decode()


def beginning(value: Any, characters: int) -> str:
    """The first characters of a value as text or JSON, without making the rest of it."""
    if isinstance(value, str):
        return value[:characters]
    parts: list[str] = []
    left = characters
    try:
        for part in json.JSONEncoder(ensure_ascii=False, separators=(", ", ": ")).iterencode(value):
            parts.append(part[:left])
            left -= len(part)
            if left <= 0:
                break
    except RecursionError:
        return ""
    return "".join(parts)


def _lines(text: str, longest: int) -> Iterator[str]:
    for line in text.split("\n"):
        if len(line) <= longest:
            yield line
        else:
            yield from (line[at : at + longest] for at in range(0, len(line), longest))


def _indented(value: Any) -> str:
    try:
        return to_json(value, indent=1, inf_nan_mode="constants").decode()
    except PydanticSerializationError:  # half a surrogate pair
        return json.dumps(value, indent=1)
