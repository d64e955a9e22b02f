"""What is answered in place of a result that is too large: what it is, what it is made of, and how it begins."""

from typing import Any

from toolcrib.broker.results.kept import Kept
from toolcrib.broker.results.measuring import encoded, media_bytes
from toolcrib.broker.results.media import media_name
from toolcrib.broker.results.shape import shape
from toolcrib.broker.results.units import beginning
from toolcrib.broker.results.view import View
from toolcrib.catalog import JsonObject
from toolcrib.tokens import BYTES_PER_TOKEN

HANDLE_META = "toolcrib/handle"
"""Member of a result's `_meta`: the handle under which the whole result is kept."""

SMALLEST_BUDGET = 1_000
"""Bytes that a preview or page may always take; a smaller budget counts as this."""

_LONGEST = 4_000
_SHAPE = 1_500


def preview(
    view: View, result: JsonObject, handle: str, facts: Kept, text_size: int, budget: int, seconds: float
) -> JsonObject:
    """A result in place of a larger one, with the same mark as an error.

    Images and sounds that fit stay as they are; others are named.

    Args:
        view: What there is to read.
        result: The whole result.
        handle: Under which it is kept.
        facts: What is known of it.
        text_size: Bytes of JSON that a model would read as text.
        budget: Most bytes of JSON.
        seconds: How long it is kept.
    """
    budget = max(budget, SMALLEST_BUDGET)
    shown: list[JsonObject] = []
    named: list[str] = []
    left = budget
    for block in view.media.values():
        cost = media_bytes(block)
        if cost <= left // 2:
            shown.append(block)
            left -= cost
        else:
            named.append(media_name(block))
    room = min(left, _LONGEST)
    lines = [
        f"This {'error' if facts.is_error else 'result'} is too large to be shown whole: {facts.size:,} bytes"
        f"{_tokens(text_size)}. It is kept for {_duration(seconds)} as {handle}; "
        "read_result reads, selects from and searches it.",
    ]
    if named:
        lines.append(f"Not shown: {', '.join(named[:20])}{f' and {len(named) - 20} more' if len(named) > 20 else ''}.")
    lines += [f"Shape: {_shape(view.value, min(_SHAPE, room // 3))}", "It begins:"]
    text = "\n".join(lines)
    # Quotes and line ends take two bytes each in JSON, other scripts up to four.
    text += "\n" + _fitting(view.value, room - _json_bytes(text) - 300)
    answer: JsonObject = {"content": [{"type": "text", "text": text}, *shown], "_meta": {HANDLE_META: handle}}
    if "isError" in result:
        answer["isError"] = result["isError"]
    return answer


def _tokens(size: int) -> str:
    tokens = round(size / BYTES_PER_TOKEN, -2)
    return f", about {tokens:,.0f} tokens of text" if tokens else ""


def _shape(value: Any, characters: int) -> str:
    if isinstance(value, str):
        return f"text of {value.count(chr(10)) + 1:,} lines, {len(value):,} characters"
    return shape(value, characters)


def _fitting(value: Any, room: int) -> str:
    """The beginning of a value that takes no more than so many bytes as a JSON string."""
    text = beginning(value, max(0, room))
    while text and _json_bytes(text) > room:
        text = text[: min(len(text) - 1, len(text) * max(1, room) // _json_bytes(text))]
    return f"{text}…" if text else ""


def _json_bytes(text: str) -> int:
    return len(encoded(text))


def _duration(seconds: float) -> str:
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = round(seconds / length)
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return f"{seconds:.0f} seconds"
