"""The arguments of one call, held against what its caller has read before."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from toolcrib.broker.call import Call
from toolcrib.broker.dataflow.leaves import all_values, decoded, leaves, letters, listed_values
from toolcrib.broker.dataflow.seam import Trace

if TYPE_CHECKING:
    from toolcrib.broker.dataflow.segment import Origin, Segment

MOST_TRACES = 20
"""Traces of one call; those of the longest parts."""

EXCERPT = 80
"""Characters of an excerpt."""

_STRIDE = 1_024


class _View(NamedTuple):
    """A text of the arguments as it is, or as it reads when it is decoded.

    Attributes:
        pointer: Where in the arguments it stands.
        text: The text.
    """

    pointer: str
    text: str


class _Part(NamedTuple):
    """What a text of the arguments shares with a result.

    Attributes:
        length: Bytes of its letters.
        text: The text that it stands in.
        start: Where its letters begin among those of the text.
    """

    length: int
    text: str
    start: int


_Best = dict[tuple["Origin", str], _Part]
"""The longest part by the call that gave the result, and the place in the arguments."""


def search(call: Call, segments: "Sequence[Segment]") -> list[Trace]:
    """Which results a call's arguments hold parts of, the longest first.

    Args:
        call: The call.
        segments: What was read before.
    """
    views = _views(call) if segments else []
    best: _Best = {}
    _find_texts(views, segments, best)
    _find_values(views, segments, best)
    rows = sorted(best.items(), key=lambda row: -row[1].length)
    return [
        Trace(origin.tool_id, origin.call_id, pointer, _excerpt(part)) for (origin, pointer), part in rows[:MOST_TRACES]
    ]


def _views(call: Call) -> list[_View]:
    """The texts of the arguments; not those that the tool's own schema lists."""
    listed = listed_values(call.tool.input_schema) if call.tool is not None else frozenset[str]()
    params = call.params.get("arguments") if call.tool is not None else call.params
    return [
        _View(pointer, view)
        for pointer, text in leaves(params)
        if text not in listed
        for view in (text, *decoded(text))
    ]


def _find_texts(views: Sequence[_View], segments: "Sequence[Segment]", best: _Best) -> None:
    texts = [letters(view.text) for view in views]
    if not any(texts):
        return
    from toolcrib.broker.dataflow.fingerprints import GRAM
    from toolcrib.broker.dataflow.segment import parts_of

    rows = [row for row, text in enumerate(texts) if len(text) >= GRAM]
    if not rows:
        return
    starts: list[int] = []
    at = 0
    for row in rows:
        starts.append(at)
        at += len(texts[row]) + 1
    whole = b"\0".join(texts[row] for row in rows)
    hashes, places = parts_of(whole)
    for segment in segments:
        for shared in segment.shared_texts(whole, hashes, places):
            number = bisect_right(starts, shared.start) - 1
            pointer, text = views[rows[number]]
            _note(best, shared.origin, pointer, _Part(shared.length, text, shared.start - starts[number]))


def _find_values(views: Sequence[_View], segments: "Sequence[Segment]", best: _Best) -> None:
    pairs = {(view.pointer, value): view.text for view in views for value in all_values(view.text)}
    rows = list(pairs.items())
    hashes = [hash(value) for _, value in pairs]
    for segment in segments:
        for place, origin in segment.owners_of(hashes):
            (pointer, value), text = rows[place]
            _note(best, origin, pointer, _Part(len(value), text if value.startswith("=") else value, 0))


def _note(best: _Best, origin: "Origin", pointer: str, part: _Part) -> None:
    known = best.get((origin, pointer))
    if known is None or known.length < part.length:
        best[origin, pointer] = part


def _excerpt(part: _Part) -> str:
    """The beginning of the part as it stands in its text."""
    begin = _place(part.text, part.start)
    some = part.text[begin : begin + 2 * EXCERPT]
    end = bisect_left(range(len(some)), part.length, key=lambda end: len(letters(some[:end])))
    line = " ".join(some[:end].split())
    return line if len(line) < EXCERPT else f"{line[: EXCERPT - 1]}…"


def _place(text: str, letters_before: int) -> int:
    """Where in a text the letter stands that so many bytes of letters stand before."""
    at = 0
    while at < len(text):
        width = len(letters(text[at : at + _STRIDE]))
        if width > letters_before:
            break
        letters_before -= width
        at += _STRIDE
    some = text[at : at + _STRIDE]
    return at + bisect_right(range(len(some)), letters_before, key=lambda end: len(letters(some[: end + 1])))
