"""How large a result is for whoever reads it, and results as bytes."""

from collections.abc import Collection, Mapping
from typing import Any, cast

from pydantic_core import PydanticSerializationError, to_json

from toolcrib.broker.results.media import is_media, without_data
from toolcrib.broker.results.values import content_of, repeats_structure
from toolcrib.catalog import JsonObject, to_line

MEDIA_WEIGHT = 100
"""Bytes of an image or sound that count as one: a model pays for an image by its area, some 1,600 tokens (5,800 bytes
of text) at most, whether it is sent as a hundred kilobytes or as two megabytes."""

_QUICK_VALUES = 2_000
_QUICK_CHARACTERS = 100_000


def encoded(value: Any) -> bytes:
    """A value as compact JSON; numbers that are not finite and halves of surrogate pairs survive.

    Raises:
        ValueError, RecursionError, TypeError: It has no form in JSON, or nests too deep.
    """
    try:
        return to_json(value, inf_nan_mode="constants")
    except PydanticSerializationError:
        return to_line(value)


def text_bytes(result: Mapping[str, Any]) -> int:
    """Bytes of JSON that a model reads as text: images and sounds are not, and of a text that repeats the structured
    content only one is.

    Raises:
        ValueError, RecursionError, TypeError: See `encoded`.
    """
    blocks = [without_data(block) for block in content_of(result) if not repeats_structure(block, result)]
    return len(encoded({**result, "content": blocks} if "content" in result else result))


def media_bytes(block: Mapping[str, Any]) -> int:
    """What an image or a sound counts."""
    return len(encoded(block)) // MEDIA_WEIGHT if is_media(block) else 0


def is_small(value: Any) -> bool:
    """Whether a value is quickly gone through, so that it need not be handed to a thread."""
    left = [value]
    values = characters = 0
    while left:
        each = left.pop()
        inner: Collection[Any] = ()
        if isinstance(each, str):
            characters += len(each)
        elif isinstance(each, dict):
            inner = cast("JsonObject", each).values()
        elif isinstance(each, list):
            inner = cast("list[Any]", each)
        values += len(inner)
        if values > _QUICK_VALUES or characters > _QUICK_CHARACTERS:
            return False
        left += inner
    return True
