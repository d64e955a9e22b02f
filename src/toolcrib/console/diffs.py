"""How two definitions differ, line by line, as a page shows it: canonical JSON, hidden characters made visible."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolcrib.broker import ToolChange
from toolcrib.console.rendering import plain

MOST_LINES = 600
"""Lines of one difference that are shown."""

_AROUND = 3
_MOST_COMPARED = 4_000
"""Lines of a definition that is compared line by line."""
_MOST_DIFFERING = 1_000
"""Lines from the first that differs to the last: what it costs to compare them grows faster than their number."""
_MOST_MARKED = 100
"""Lines in which it is marked what differs within them."""
_MOST_WORDS = 60
"""Words of a line, from the first that differs to the last, that are compared one by one."""
_LONGEST_LINE = 4_000
_ENDS = 200
"""Characters at both ends of what long lines have in common."""
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_LINE_END = re.compile(r"((?<!\\)(?:\\\\)*\\n)(?=[^\"])")

Parts = list[tuple[str, bool]]

Kind = Literal["same", "removed", "added", "left out"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line.

    Attributes:
        kind: What became of it; `left out` stands for lines that are the same, or too many.
        parts: Its text in parts, each with whether it is what differs within the line.
    """

    kind: Kind
    parts: Sequence[tuple[str, bool]]

    @property
    def sign(self) -> str:
        """What stands before it."""
        return {"removed": "-", "added": "+"}.get(self.kind, " ")


def diff_of(change: ToolChange) -> list[DiffLine]:
    """How a tool's definition has changed."""
    before, after = _lines(change.before), _lines(change.after)
    compared = None if before is None or after is None else _compared(before, after)
    if compared is None:
        lines = [_plainly(line) for each in change.differences for line in each.lines()][:MOST_LINES]
        if len(lines) == MOST_LINES:  # no more of them are told
            lines.append(DiffLine("left out", [("… and there is more …", False)]))
        return lines
    lines = list(compared)
    if len(lines) > MOST_LINES:
        return [*lines[:MOST_LINES], _left_out(len(lines) - MOST_LINES)]
    return lines


def _lines(definition: Mapping[str, Any]) -> list[str] | None:
    """A definition as lines of JSON, members in alphabetical order; texts of several lines are broken where they break.
    None where it is too deep or too long to be compared so."""
    try:
        text = json.dumps(definition, indent=2, sort_keys=True, ensure_ascii=False)
    except RecursionError:
        return None
    lines: list[str] = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        first, *others = _LINE_END.sub("\\1\n", line).split("\n")
        lines += [first, *(indent + each for each in others)]
        if len(lines) > _MOST_COMPARED:
            return None
    return lines


def _compared(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine] | None:
    """What differs between two texts, with some of the lines around it; None where too much does."""
    start, end = _in_common(before, after)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(old), len(new)) > _MOST_DIFFERING:
        return None
    return _grouped(before, after, start, old, new)


def _grouped(
    before: Sequence[str], after: Sequence[str], start: int, old: Sequence[str], new: Sequence[str]
) -> Iterator[DiffLine]:
    # Lines that recur as often as closing brackets do cost the square of their number, and tell nothing.
    codes = difflib.SequenceMatcher(None, old, new, autojunk=True).get_opcodes()
    shifted = [(kind, a + start, b + start, c + start, d + start) for kind, a, b, c, d in codes]
    reached, marked = 0, 0
    for kind, first, last, other_first, other_last in shifted:
        if kind == "equal":
            continue
        yield from _between(before, reached, first)
        removed, added = before[first:last], after[other_first:other_last]
        pairs: list[tuple[Parts, Parts]] = []
        alike = len(removed) == len(added)
        # What is too long to be shown whole is shown where it differs.
        if alike or max(map(len, (*removed, *added))) > _LONGEST_LINE:
            pairs = [_within(*pair) for pair in zip(removed[: _MOST_MARKED - marked], added, strict=False)]
            marked += len(pairs)
        yield from _as_lines("removed", removed, [each for each, _ in pairs])
        yield from _as_lines("added", added, [each for _, each in pairs])
        reached = last
    if reached:
        yield from _as_lines("same", before[reached : reached + _AROUND])
        if (left := len(before) - reached - _AROUND) > 0:
            yield _left_out(left)


def _between(before: Sequence[str], reached: int, first: int) -> Iterator[DiffLine]:
    """The lines between one difference, or the beginning, and the next: all of few, else those beside both."""
    head = min(reached + _AROUND, first) if reached else reached
    tail = max(first - _AROUND, head)
    yield from _as_lines("same", before[reached:head])
    if tail > head:
        yield _left_out(tail - head)
    yield from _as_lines("same", before[tail:first])


def _as_lines(kind: Kind, lines: Sequence[str], marked: Sequence[Parts] = ()) -> Iterator[DiffLine]:
    """Lines as they are shown; the first of them in parts, where these are known."""
    for at, line in enumerate(lines):
        parts = marked[at] if at < len(marked) else [(line, False)]
        shorten = len(line) > _LONGEST_LINE and at < len(marked)
        yield DiffLine(
            kind,
            [
                (_shortened(text) if shorten and not differs else plain(text, _LONGEST_LINE), differs)
                for text, differs in parts
            ],
        )


def _shortened(text: str) -> str:
    """What two long lines have in common, without its middle."""
    left_out = len(text) - 2 * _ENDS
    if left_out <= 0:
        return plain(text)
    return f"{plain(text[:_ENDS])} … {left_out:,} characters that are the same … {plain(text[-_ENDS:])}"


def _in_common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many parts both begin with, and how many of the others both end with."""
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    end = next((at for at in range(most - start) if old[-1 - at] != new[-1 - at]), most - start)
    return start, end


def _within(before: str, after: str) -> tuple[Parts, Parts]:
    """Two lines in parts: what both have, and what differs."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    start, end = _in_common(old, new)
    parts: tuple[Parts, Parts] = ([], [])
    whole = ((old, parts[0]), (new, parts[1]))
    for words, into in whole:
        _add(into, words[:start], differs=False)
    middle = old[start : len(old) - end], new[start : len(new) - end]
    if max(map(len, middle)) > _MOST_WORDS:
        codes = [("replace", 0, len(middle[0]), 0, len(middle[1]))]
    else:
        codes = difflib.SequenceMatcher(None, *middle, autojunk=False).get_opcodes()
    for kind, first, last, other_first, other_last in codes:
        _add(parts[0], middle[0][first:last], differs=kind != "equal")
        _add(parts[1], middle[1][other_first:other_last], differs=kind != "equal")
    for words, into in whole:
        _add(into, words[len(words) - end :], differs=False)
    return parts


def _add(parts: Parts, words: Sequence[str], *, differs: bool) -> None:
    if words:
        parts.append(("".join(words), differs))


def _plainly(line: str) -> DiffLine:
    """A line of `Difference.lines`."""
    text = line.lstrip()
    kind: Kind = "removed" if text.startswith("-") else "added" if text.startswith("+") else "same"
    return DiffLine(kind, [(text[1:] if kind != "same" else line, False)])


def _left_out(lines: int) -> DiffLine:
    return DiffLine("left out", [(f"… {lines:,} more {'line' if lines == 1 else 'lines'} …", False)])
