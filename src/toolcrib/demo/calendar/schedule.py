"""Recurring events, overlaps and gaps: arithmetic on moments, without any storage."""

import itertools
from calendar import monthrange
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

WEEKDAYS = ("mo", "tu", "we", "th", "fr", "sa", "su")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of time, the end not included."""

    start: datetime
    end: datetime

    def overlaps(self, other: "Span") -> bool:
        """Whether both share a moment."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class WorkingHours:
    """When people work.

    Attributes:
        start: Minutes after midnight at which a day begins.
        end: Minutes after midnight at which it ends.
        weekdays: Days of the week, 0 for Monday.
        zone: The clock that both are read from.
    """

    start: int
    end: int
    weekdays: frozenset[int]
    zone: timezone


def occurrences(first: Span, rule: dict[str, Any] | None, window: Span) -> list[Span]:
    """When an event takes place within a window.

    Args:
        first: Its first occurrence.
        rule: `frequency` (daily, weekly, monthly), `interval`, and optionally `weekdays` (weekly), `count` or
            `until` (a day); None for an event that takes place once. A month without the day is left out,
            as in RFC 5545.
        window: Occurrences that overlap it are answered.
    """
    length = first.end - first.start
    found: list[Span] = []
    for number, start in enumerate(_starts(first.start, rule)):
        ended = rule is not None and (
            number >= rule.get("count", number + 1) or start.date().isoformat() > rule.get("until", "9999")
        )
        if ended or start >= window.end:
            break
        span = Span(start, start + length)
        if span.overlaps(window):
            found.append(span)
    return found


def gaps(busy: Iterable[Span], window: Span, hours: WorkingHours, shortest: timedelta) -> Iterator[Span]:
    """The free stretches within working hours, in order.

    Args:
        busy: What is taken, in any order.
        window: Where to look.
        hours: The working hours.
        shortest: Gaps below this length are left out.
    """
    taken = sorted(busy)
    local, last = window.start.astimezone(hours.zone).date(), window.end.astimezone(hours.zone).date()
    while local <= last:
        if local.weekday() in hours.weekdays:
            midnight = datetime.combine(local, time(), hours.zone)
            opening = max(midnight + timedelta(minutes=hours.start), window.start)
            closing = min(midnight + timedelta(minutes=hours.end), window.end)
            yield from (span for span in _free(taken, opening, closing) if span.end - span.start >= shortest)
        local += timedelta(days=1)


def _free(taken: Sequence[Span], opening: datetime, closing: datetime) -> Iterator[Span]:
    reached = opening
    for span in taken:
        if span.start >= closing:
            break
        if span.start > reached:
            yield Span(reached, span.start)
        reached = max(reached, span.end)
    if reached < closing:
        yield Span(reached, closing)


def _starts(first: datetime, rule: dict[str, Any] | None) -> Iterator[datetime]:
    if rule is None:
        yield first
        return
    interval = int(rule.get("interval", 1))
    if rule["frequency"] == "daily":
        for step in itertools.count(0, interval):
            yield first + timedelta(days=step)
    elif rule["frequency"] == "weekly":
        days = sorted({WEEKDAYS.index(day) for day in rule.get("weekdays", ())} or {first.weekday()})
        monday = first - timedelta(days=first.weekday())
        for week in itertools.count(0, interval):
            for day in days:
                start = monday + timedelta(weeks=week, days=day)
                if start >= first:
                    yield start
    else:
        for month in itertools.count(first.month - 1, interval):
            year, index = first.year + month // 12, month % 12 + 1
            if first.day <= monthrange(year, index)[1]:
                yield datetime.combine(date(year, index, first.day), first.timetz())
