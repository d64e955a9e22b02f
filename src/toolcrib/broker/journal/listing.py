"""The newest entries that a filter fits, page by page, quickly also in a large journal.

A database can walk one index at a time. Which one matters: of a million calls, a thousand may have failed, and most
be of one server. So the conditions are counted first, each over its own index and not beyond a bound, and the
narrowest is walked; the others are put so that their indices can't be chosen. Where all are wide, the newest entries
are likely to fit: as many as the bound says are looked at, and the next look begins behind them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, literal, or_, select, tuple_, union_all

from toolcrib.broker.journal.entry import Entry, Filter, Place
from toolcrib.broker.journal.tables import CALLS, OF_A_RUN

_C = CALLS.c

BOUND = 20_000
"""Entries that can be looked through in a few hundredths of a second."""

_PARTS = 100
"""Statements in one union; SQLite takes 500."""

_SEARCHED = ("tool", "arguments", "error")


@dataclass(frozen=True, slots=True)
class Look:
    """What one look into the journal found.

    Attributes:
        entries: Those that fit, newest first.
        reached: Where the look was broken off, before there were enough; None where it was not.
    """

    entries: list[Entry]
    reached: Place | None = None


def newest(connection: Connection, wanted: Filter, before: Place | None, limit: int, bound: int) -> Look:
    """The newest entries that a filter fits, newest first; where it is about times, by their time.

    Args:
        connection: The database.
        wanted: The filter.
        before: Where the look before this one ended; None begins with the newest.
        limit: How many.
        bound: About how many entries are looked at.
    """
    tools = _tools(connection, wanted.tool)
    equal = _equal(connection, wanted)
    if equal is None or (tools is not None and not tools):
        return Look([])
    if tools is not None and len(tools) == 1:
        equal["tool"], tools = tools[0], None
    walk = _Walk(wanted, equal, before)
    walked, is_narrow = walk.narrowest(connection, bound)
    reached = None if is_narrow else walk.edge(connection, walked, bound)
    chosen = walk.entries(walked, reached)
    if tools is not None:
        chosen = chosen.where(_masked("tool").in_(tools))
    found = entries(connection, chosen.limit(limit))
    if len(found) >= limit or reached is None:
        return Look(found)
    if tools is not None and not walk.is_conditional:
        numbers = _newest_of(connection, tools, before, limit)
        return Look(entries(connection, select(CALLS).where(_C.seq.in_(numbers)).order_by(_C.seq.desc())))
    return Look(found, reached)


def oldest(connection: Connection, wanted: Filter, after: int, limit: int) -> list[Entry]:
    """The oldest entries beyond a number that a filter fits, oldest first."""
    equal = _equal(connection, wanted)
    if equal is None:
        return []
    conditions = [*_Walk(wanted, equal, None).conditions(None), _C.seq > after]
    tools = _tools(connection, wanted.tool)
    if tools is not None:
        conditions.append(_masked("tool").in_(tools))
    return entries(connection, select(CALLS).where(*conditions).order_by(_C.seq).limit(limit))


def entries(connection: Connection, chosen: Select[Any]) -> list[Entry]:
    """The rows of a statement as entries."""
    return [Entry.of(row) for row in connection.execute(chosen).mappings()]


def _equal(connection: Connection, wanted: Filter) -> dict[str, str] | None:
    """The columns that have to have a value; None where one would have to have two."""
    names = ("run", "state", "effect", "server", "principal", "conversation")
    equal = {name: value for name in names if (value := getattr(wanted, name))}
    if wanted.caller:
        is_conversation = connection.execute(select(_C.seq).where(_C.conversation == wanted.caller).limit(1)).first()
        name = "conversation" if is_conversation else "principal"
        if equal.setdefault(name, wanted.caller) != wanted.caller:
            return None
    return equal


class _Walk:
    """The way from the newest entry to the oldest, over one index.

    Args:
        wanted: The filter.
        equal: The columns that have to have a value.
        before: Where it begins; None for the newest entry.

    Attributes:
        is_conditional: Whether there is any condition beside the tool.
    """

    def __init__(self, wanted: Filter, equal: dict[str, str], before: Place | None) -> None:
        self._equal = equal
        self._by_time = wanted.by_time
        self._since, self._until = wanted.since, wanted.until
        self._text = wanted.text
        self._before = before
        self.is_conditional = bool(equal) or self._by_time or bool(wanted.text)

    def narrowest(self, connection: Connection, bound: int) -> tuple[str | None, bool]:
        """The condition that fewest entries fit, by its column, and whether those are no more than the bound; where
        all are wide, the time if it gives the order, else any, else none."""
        counts: dict[str, int] = {}
        for name in (*(["started_at"] if self._by_time else []), *self._equal):
            some = select(literal(1)).select_from(CALLS).where(*self._plain(name)).limit(bound + 1).subquery()
            counts[name] = connection.execute(select(func.count()).select_from(some)).scalar_one()
        if not counts:
            return None, False
        name = min(counts, key=lambda each: counts[each])
        if counts[name] <= bound:
            return name, True
        return next(iter(counts)), False

    def edge(self, connection: Connection, walked: str | None, bound: int) -> Place | None:
        """The last entry of those that the bound allows to be looked at; None where there are no more than those."""
        conditions = [] if walked is None else self._plain(walked)
        if walked is None and self._before is not None:
            conditions = [_C.seq < self._before.seq]
        last = select(_C.started_at, _C.seq).where(*conditions).order_by(*self._order(walked))
        row = connection.execute(last.offset(bound - 1).limit(1)).first()
        return None if row is None else Place(row.seq, row.started_at)

    def entries(self, walked: str | None, reached: Place | None) -> Select[Any]:
        """The entries that fit, as far as the edge."""
        conditions = self.conditions(walked)
        if self._before is not None:
            conditions.append(self._beyond(self._before, walked))
        if reached is not None:
            conditions.append(
                tuple_(_C.started_at, _C.seq) >= (reached.started_at, reached.seq)
                if self._by_time
                else _C.seq >= reached.seq
            )
        return select(CALLS).where(*conditions).order_by(*self._order(walked))

    def conditions(self, walked: str | None) -> list[ColumnElement[bool]]:
        """All conditions, put so that only the index of one column can be used."""
        conditions: list[ColumnElement[bool]] = []
        for name, value in self._equal.items():
            conditions += _is(name, value) if name == walked else [_masked(name) == value]
        conditions += self._within(_C.started_at if walked == "started_at" else _C.started_at + 0.0)
        if self._text:
            # Arguments are kept as JSON, in which some characters are written otherwise.
            written = {self._text, json.dumps(self._text, ensure_ascii=False)[1:-1]}
            fits = [_C[name].icontains(each, autoescape=True) for name in _SEARCHED for each in sorted(written)]
            conditions.append(or_(*fits))
        return conditions

    def _plain(self, name: str) -> list[ColumnElement[bool]]:
        """One condition alone, from where the walk begins, by the index of its column."""
        own = self._within(_C.started_at) if name == "started_at" else _is(name, self._equal[name])
        if self._before is None or (self._by_time and name != "started_at"):
            return own
        return [*own, self._beyond(self._before, name)]

    def _within(self, moment: ColumnElement[float]) -> list[ColumnElement[bool]]:
        since = [] if self._since is None else [moment >= self._since]
        return since if self._until is None else [*since, moment < self._until]

    def _beyond(self, place: Place, walked: str | None) -> ColumnElement[bool]:
        if not self._by_time:
            return _C.seq < place.seq
        moment = _C.started_at if walked == "started_at" else _C.started_at + 0.0
        return tuple_(moment, _C.seq) < (place.started_at, place.seq)

    def _order(self, walked: str | None) -> list[ColumnElement[Any]]:
        if not self._by_time:
            return [_C.seq.desc()]
        return [(_C.started_at if walked == "started_at" else _C.started_at + 0.0).desc(), _C.seq.desc()]


def _is(name: str, value: str) -> list[ColumnElement[bool]]:
    return [_C[name] == value, OF_A_RUN] if name == "run" else [_C[name] == value]


def _masked(name: str) -> ColumnElement[str]:
    """A column in a form for which there is no index."""
    return _C[name].concat("")


def _newest_of(connection: Connection, tools: Sequence[str], before: Place | None, limit: int) -> list[int]:
    """The numbers of the newest entries of some tools: a sort over all their calls would take long, but the newest of
    each are among those wanted."""
    numbers: list[int] = []
    older = [] if before is None else [_C.seq < before.seq]
    for start in range(0, len(tools), _PARTS):
        parts = [
            select(select(_C.seq).where(_C.tool == tool, *older).order_by(_C.seq.desc()).limit(limit).subquery())
            for tool in tools[start : start + _PARTS]
        ]
        numbers += connection.execute(union_all(*parts)).scalars()
    return sorted(numbers, reverse=True)[:limit]


def _tools(connection: Connection, glob: str) -> list[str] | None:
    """The tools on record that a glob fits; None where it fits all of them."""
    if not glob or glob == "*":
        return None
    if not any(mark in glob for mark in "*?["):
        return [glob]
    # From one tool to the next over the index: a plain DISTINCT would read all of it.
    first = select(func.min(_C.tool).label("tool")).cte("tools", recursive=True)
    following = select(select(func.min(_C.tool)).where(_C.tool > first.c.tool).scalar_subquery())
    known = first.union_all(following.where(first.c.tool.is_not(None)))
    found = connection.execute(select(known.c.tool).where(known.c.tool.is_not(None))).scalars().all()
    chosen = [tool for tool in found if fnmatchcase(tool, glob)]
    return None if len(chosen) == len(found) else chosen
