"""Where the definitions of one source's tools are kept: as compact JSON, in memory or in a snapshot file.

Thousands of definitions as Python objects take some hundred megabytes; as JSON text they take a tenth, and in
a file nothing. Each read parses afresh, so that no two readers share a mutable object.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from pydantic_core import from_json

from toolcrib.catalog.tool import JsonObject
from toolcrib.errors import StoreError


def to_line(value: Any) -> bytes:
    """A value as one line of compact JSON in UTF-8; lone surrogates survive as escapes."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


class Definitions(Protocol):
    """The tool definitions of one source, by position."""

    @property
    def names(self) -> Sequence[str]:
        """The tools' own names, in the server's order."""
        ...

    def read(self, index: int) -> JsonObject:
        """A fresh copy of the definition at that position."""
        ...


class MemoryDefinitions:
    """Definitions kept in memory as JSON text.

    Args:
        maps: The definitions as parsed. An entry without a string as its name is left out; of equal names the last
            one counts, at the place of the first.
    """

    def __init__(self, maps: Iterable[Mapping[str, Any]]) -> None:
        kept: dict[str, bytes] = {}
        for item in maps:
            name = item.get("name")
            if isinstance(name, str):
                kept[name] = to_line(item)
        self.names = list(kept)
        self.lines = list(kept.values())

    def read(self, index: int) -> JsonObject:
        """A fresh copy of the definition at that position."""
        return parse_line(self.lines[index])


class FileDefinitions:
    """Definitions left in a snapshot file, read one at a time.

    Args:
        path: The file.
        names: The tools' names, in order.
        spans: Offset and length in bytes of each definition.
    """

    def __init__(self, path: Path, names: Sequence[str], spans: Sequence[tuple[int, int]]) -> None:
        self.path = path
        self.names = names
        self.spans = spans

    def read(self, index: int) -> JsonObject:
        """A fresh copy of the definition at that position.

        Raises:
            StoreError: The file is gone or was changed by something else.
        """
        offset, length = self.spans[index]
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                return parse_line(file.read(length))
        except (OSError, ValueError) as error:
            raise StoreError(
                f"The snapshot {self.path.name} can't be read: {error}.",
                hint="Delete it; the server is listed again when it is next needed.",
            ) from error


def parse_line(line: bytes) -> JsonObject:
    """One JSON object from its text.

    Raises:
        ValueError: The text is not a JSON object.
    """
    try:
        value = from_json(line, allow_inf_nan=False)
    except ValueError:
        value = json.loads(line)  # lone surrogates and depths that the quick parser refuses
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return cast("JsonObject", value)
