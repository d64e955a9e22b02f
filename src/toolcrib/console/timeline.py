"""The calls of a run on a time line: what the run told of them and what the journal has of them, put together."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolcrib.broker import Entry
from toolcrib.scripts import MadeCall, Run

_LEAST_WIDTH = 0.6
"""Per cent of the time line that a call takes at least, so that it can be seen."""


@dataclass(frozen=True, slots=True)
class TimelineCall:
    """One call of a run.

    Attributes:
        number: Its place in the run, from 1; None where the run did not tell of it.
        name: The tool's id, or one of the functions of scripts.
        line: Line of the script, where it is known.
        effect: What it may have done.
        state: How it stands.
        detail: What went wrong.
        call: Its id in the journal; empty where it is not there.
        seconds: How long it took, where the journal has it.
        begins: Seconds after the run began, where the journal has it.
        left: Where it begins on the time line, in per cent of it.
        width: How much of the time line it takes, in per cent.
    """

    number: int | None
    name: str
    line: int | None
    effect: str
    state: str
    detail: str
    call: str
    seconds: float | None = None
    begins: float | None = None
    left: float = 0.0
    width: float = 0.0


@dataclass(frozen=True, slots=True)
class Timeline:
    """The calls of a run in the order in which they began.

    Attributes:
        calls: The calls.
        seconds: How much time the line stands for.
    """

    calls: list[TimelineCall]
    seconds: float


def timeline(run: Run, entries: Sequence[Entry]) -> Timeline:
    """The calls of a run, with what the journal has of them.

    Args:
        run: The run.
        entries: Its calls in the journal, oldest first.
    """
    begin = run.started_at
    ends = [begin + 0.001, *(_end(each) for each in entries)]
    if run.ended_at is not None and run.status != "unknown":  # of those, when it was found out
        ends.append(run.ended_at)
    length = max(ends) - begin
    known = {each.id: each for each in entries}
    told = [_placed(each, known.pop(each.call, None), begin, length) for each in run.calls]
    # What Toolcrib was ended in, and what goes on, is in the journal alone.
    untold = [_placed(None, each, begin, length) for each in known.values()]
    return Timeline([*told, *untold], length)


def _placed(told: MadeCall | None, entry: Entry | None, begin: float, length: float) -> TimelineCall:
    if told is None:
        assert entry is not None
        made = (None, entry.tool, None, entry.effect, entry.state, entry.error, entry.id)
    else:
        detail = told.detail or (entry.error if entry is not None else "")
        made = (told.number, told.name, told.line, told.effect, told.state, detail, told.call)
    if entry is None:
        return TimelineCall(*made)
    begins = max(0.0, entry.started_at - begin)
    seconds = None if entry.duration_ms is None else entry.duration_ms / 1000
    width = min(100.0, max(_LEAST_WIDTH, (_end(entry) - entry.started_at) / length * 100))
    left = min(begins / length * 100, 100.0 - width)
    return TimelineCall(*made, seconds, begins, round(left, 2), round(width, 2))


def _end(entry: Entry) -> float:
    """When a call ended, as far as is known."""
    if entry.duration_ms is not None:
        return entry.started_at + entry.duration_ms / 1000
    return max(entry.started_at, entry.ended_at or 0.0)
