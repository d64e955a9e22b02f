"""Pages of a stored result: by lines or items, selected and searched, each within a budget."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from toolcrib.broker.results.measuring import encoded, media_bytes
from toolcrib.broker.results.preview import SMALLEST_BUDGET
from toolcrib.broker.results.select import select
from toolcrib.broker.results.shape import shape
from toolcrib.broker.results.units import LONGEST_LINE, Kind, as_text, units_of
from toolcrib.broker.results.view import View
from toolcrib.catalog import JsonObject
from toolcrib.errors import UsageError, shown
from toolcrib.patterns import PatternError, compile_pattern

GREP_SECONDS = 5.0
"""How long a search goes on; it then says how far it came."""

_UNITS_A_LOOK = 500
_LONGEST_PATTERN = 500
_RESERVED = 400


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is asked for of a stored result.

    Attributes:
        offset: Lines or items to leave out at the beginning.
        limit: Most lines or items; None takes as many as fit.
        select: A JMESPath expression that is applied first; empty takes everything.
        grep: A regular expression (Rust's `regex` syntax, without regard to case): only lines or items that it
            matches; empty takes all.
        budget: Most bytes of JSON; None sets no bound.
    """

    offset: int = 0
    limit: int | None = None
    select: str = ""
    grep: str = ""
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a stored result.

    Attributes:
        handle: Of the result.
        tool_id: The tool, or other target, whose result it is.
        kind: What is counted: `lines` of a text, or of JSON that is indented; `items` of an array.
        values: The lines or items.
        offset: Of the first one looked at.
        total: Lines or items altogether.
        next_offset: Where to go on, or None at the end.
        content: The page as content blocks, with a line about what is left.
    """

    handle: str
    tool_id: str
    kind: Kind
    values: tuple[Any, ...]
    offset: int
    total: int
    next_offset: int | None
    content: tuple[JsonObject, ...]


def read_page(
    view: View, handle: str, tool_id: str, wanted: Excerpt, clock: Callable[[], float] = time.monotonic
) -> Page:
    """One page of a result.

    Raises:
        UsageError: The selection or the pattern can't be used, or the offset is beyond the end.
    """
    value = select(wanted.select, view.value) if wanted.select else view.value
    budget = None if wanted.budget is None else max(wanted.budget, SMALLEST_BUDGET)
    # The same in all pages of one budget, so that offsets mean the same.
    longest = LONGEST_LINE if budget is None else min(LONGEST_LINE, budget // 16)
    if view.block(value) is not None:
        value = [value]
    kind, units = units_of(value, longest)
    if wanted.offset and wanted.offset >= len(units):
        raise UsageError(f"There are only {len(units):,} {kind}.", hint=f"Give an offset below {len(units):,}.")
    filling = _Filling(view, kind, wanted, None if budget is None else budget - _RESERVED)
    following = _fill(filling, units, wanted, clock)
    next_offset = following if following < len(units) else None
    told = _told(kind, wanted, len(filling.values), len(units), next_offset, filling.is_late)
    return Page(
        handle,
        tool_id,
        kind,
        tuple(filling.values),
        wanted.offset,
        len(units),
        next_offset,
        (*filling.blocks(), {"type": "text", "text": told}),
    )


class _Filling:
    """A page while it is being filled.

    Args:
        view: Of the result.
        kind: What its units are.
        wanted: What is asked for.
        room: Bytes of JSON that are left; None sets no bound.
    """

    def __init__(self, view: View, kind: Kind, wanted: Excerpt, room: int | None) -> None:
        self._view = view
        self._kind: Kind = kind
        self._wanted = wanted
        self._room = room
        self._left = room
        self._parts: list[str | JsonObject] = []
        self.values: list[Any] = []
        self.is_late = False

    def add(self, index: int, unit: Any) -> bool:
        """Take a unit in; False where it has no room any more."""
        block = self._view.block(unit)
        part: str | JsonObject = block if block is not None else self._line(index, unit)
        cost = media_bytes(part) if isinstance(part, dict) else len(encoded(part))
        if self._room is not None and cost > self._room and isinstance(part, str):
            part = self._too_large(index, unit, cost)
            cost = len(encoded(part))
        if self._left is not None:
            # An image that no page has room for has a page of its own.
            if cost > self._left and self.values:
                return False
            self._left -= cost
        self._parts.append(part)
        self.values.append(unit)
        return True

    def blocks(self) -> list[JsonObject]:
        """What was taken in, lines of text that follow each other in one block."""
        blocks: list[JsonObject] = []
        lines: list[str] = []
        for part in [*self._parts, None]:
            if isinstance(part, str):
                lines.append(part)
                continue
            if lines:
                blocks.append({"type": "text", "text": "\n".join(lines)})
                lines = []
            if part is not None:
                blocks.append(part)
        return blocks

    def _line(self, index: int, unit: Any) -> str:
        text = as_text(self._kind, unit)
        return f"{index}: {text}" if self._wanted.grep else text

    def _too_large(self, index: int, unit: Any, cost: int) -> str:
        """What is shown of a single unit that takes more than a page: what it is, and how it can be read."""
        place = f"{self._wanted.select} | [{index}]" if self._wanted.select else f"[{index}]"
        about = shape(unit, max(100, (self._room or 0) // 3))
        return f"{index}: too large for a page, {cost:,} bytes; read it with select={place!r}. Shape: {about}"


def _fill(filling: _Filling, units: Sequence[Any], wanted: Excerpt, clock: Callable[[], float]) -> int:
    """Fill a page, and tell the offset of the first unit that was not looked at or had no room."""
    matches = _matcher(wanted.grep) if wanted.grep else None
    deadline = clock() + GREP_SECONDS
    for index in range(wanted.offset, len(units)):
        if wanted.limit is not None and len(filling.values) >= wanted.limit:
            return index
        unit = units[index]
        if matches is not None:
            if index % _UNITS_A_LOOK == 0 and clock() > deadline:
                filling.is_late = True
                return index
            if not matches(unit if isinstance(unit, str) else encoded(unit).decode()):
                continue
        if not filling.add(index, unit):
            return index
    return len(units)


def _matcher(grep: str) -> Callable[[str], bool]:
    try:
        if len(grep) > _LONGEST_PATTERN:
            raise PatternError(f"it is longer than {_LONGEST_PATTERN} characters")
        return compile_pattern(grep, ignore_case=True)
    except PatternError as error:
        raise UsageError(
            f"The regular expression {shown(grep)} can't be used: {str(error).rstrip('.')}.",
            hint="Write a simpler one, without look-around and backreferences.",
        ) from None


def _told(kind: Kind, wanted: Excerpt, count: int, total: int, next_offset: int | None, is_late: bool) -> str:
    """The line about what a page shows and what is left."""
    if wanted.grep:
        reached = total if next_offset is None else next_offset
        text = f"({count:,} {kind} match of {wanted.offset:,} to {reached:,}, of {total:,}"
    elif count == 0:
        text = f"(no {kind}"
    else:
        text = f"({kind} {wanted.offset:,} to {wanted.offset + count - 1:,} of {total:,}"
    if next_offset is not None:
        why = "the search took long; " if is_late else ""
        return f"{text}; {why}go on with offset={next_offset})"
    return f"{text}; the end)"
