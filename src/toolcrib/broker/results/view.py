"""A result as it is read in parts: the one value that is paged, selected from and searched."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic_core import PydanticSerializationError, to_json

from toolcrib.broker.results.media import is_media, without_data
from toolcrib.broker.results.values import content_of, parsed, repeats_structure
from toolcrib.catalog import JsonObject

DEEPEST = 200
"""Levels of nesting beyond which a text that is JSON is read as text: no deeper value comes over a connection."""


@dataclass(frozen=True, slots=True)
class View:
    """What there is to read of a result.

    Attributes:
        value: Text, or a JSON value. A result of several parts is an array of them. In the place of an image or a
            sound stands what is told of it.
        media: The blocks that such places stand for, by the identity of what stands there.
    """

    value: Any
    media: Mapping[int, JsonObject] = field(default_factory=dict[int, JsonObject])

    def block(self, value: Any) -> JsonObject | None:
        """The image or sound that a value stands for, or None."""
        return self.media.get(id(value))


def view_of(result: Mapping[str, Any]) -> View:
    """What there is to read of a result: of a tool, a resource or a prompt.

    The structured content comes first, then the blocks that don't repeat it; texts that are JSON are read as such.
    """
    contents = result.get("contents")
    if "content" in result or "structuredContent" in result:
        blocks = [block for block in content_of(result) if not repeats_structure(block, result)]
        first = [result["structuredContent"]] if "structuredContent" in result else []
    elif isinstance(contents, list):
        blocks = [_as_block(each) for each in cast("list[Any]", contents)]
        first = []
    else:
        return View({key: value for key, value in result.items() if key != "_meta"})
    media: dict[int, JsonObject] = {}
    parts = [*first, *(_part(block, media) for block in blocks)]
    return View(parts[0] if len(parts) == 1 else parts, media)


def from_bytes(content: bytes) -> JsonObject:
    """A stored result."""
    return cast("JsonObject", json.loads(content))


def _as_block(content: Any) -> JsonObject:
    """What a resource holds, as the block that a tool's result would hold it in."""
    return {"type": "resource", "resource": content}


def _part(block: JsonObject, media: dict[int, JsonObject]) -> Any:
    if is_media(block):
        told = without_data(block)
        media[id(told)] = block
        return told
    text = _text_of(block)
    return block if text is None else _structure_of(text)


def _text_of(block: JsonObject) -> str | None:
    resource = block.get("resource")
    holder = cast("JsonObject", resource) if isinstance(resource, dict) else block
    text = holder.get("text")
    return text if isinstance(text, str) and block.get("type") in ("text", "resource") else None


def _structure_of(text: str) -> Any:
    """A text as the object or array that it is the JSON of, unless that nests too deep to be handled."""
    value = parsed(text)
    return text if _depth(value) > DEEPEST else value


def _depth(value: Any) -> int:
    """How deep a value nests, as far as that matters."""
    try:
        # In a hundredth of the time, and no deeper than 255.
        to_json(value)
    except PydanticSerializationError:
        level, depth = [value], 0
        while level and depth <= DEEPEST:
            level = [inner for each in level for inner in _inner(each)]
            depth += 1
        return depth
    return 0


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("JsonObject", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()
