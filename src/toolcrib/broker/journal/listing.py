"""The newest entries that a filter fits, quickly also in a large journal.

A database can walk one index at a time. Which one matters: of a million calls, a thousand may have failed, and most
be of one server. So the conditions are counted first, each over its own index and not beyond a bound, and the
narrowest is walked; the others are put so that their indices can't be chosen. Where all are wide, the newest entries
are likely to fit, and they are tried first.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, literal, select, union_all

from toolcrib.broker.journal.entry import Entry, Filter
from toolcrib.broker.journal.tables import CALLS, OF_A_RUN

_C = CALLS.c

_NARROW = 1_000
"""Entries that can be looked through in a few milliseconds."""

_PARTS = 100
"""Statements in one union; SQLite takes 500."""


def newest(connection: Connection, wanted: Filter, limit: int) -> list[Entry]:
    """The newest entries that a filter fits, newest first; those of a time alone by their time.

    Args:
        connection: The database.
        wanted: The filter.
        limit: How many.
    """
    tools = _tools(connection, wanted.tool)
    if tools is not None and not tools:
        return []
    equal = _equal(connection, wanted)
    if tools is not None and len(tools) == 1:
        equal["tool"], tools = tools[0], None
    if wanted.since is not None and not equal and tools is None:
        recent = select(CALLS).where(_C.started_at >= wanted.since)
        return entries(connection, recent.order_by(_C.started_at.desc(), _C.seq.desc()).limit(limit))
    walked, is_narrow = _narrowest(connection, equal, wanted.since)
    conditions = _conditions(equal, wanted.since, walked)
    ordered = select(CALLS).where(*conditions).order_by(_C.seq.desc())
    if tools is None:
        return entries(connection, ordered.limit(limit))
    if not is_narrow:
        first = select(_C.seq, _C.tool).where(*conditions).order_by(_C.seq.desc()).limit(_NARROW).subquery()
        seen = select(first.c.seq).where(first.c.tool.in_(tools)).order_by(first.c.seq.desc()).limit(limit)
        numbers = connection.execute(seen).scalars().all()
        if len(numbers) < limit and not conditions:
            numbers = _newest_of(connection, tools, limit)
        if len(numbers) == limit or not conditions:
            return entries(connection, select(CALLS).where(_C.seq.in_(numbers)).order_by(_C.seq.desc()))
    return entries(connection, ordered.where(_masked("tool").in_(tools)).limit(limit))


def oldest(connection: Connection, wanted: Filter, after: int, limit: int) -> list[Entry]:
    """The oldest entries beyond a number that a filter fits, oldest first."""
    conditions = [*_conditions(_equal(connection, wanted), wanted.since, None), _C.seq > after]
    tools = _tools(connection, wanted.tool)
    if tools is not None:
        conditions.append(_masked("tool").in_(tools))
    return entries(connection, select(CALLS).where(*conditions).order_by(_C.seq).limit(limit))


def entries(connection: Connection, chosen: Select[Any]) -> list[Entry]:
    """The rows of a statement as entries."""
    return [Entry.of(row) for row in connection.execute(chosen).mappings()]


def _equal(connection: Connection, wanted: Filter) -> dict[str, str]:
    """The columns that have to have a value."""
    given = {"run": wanted.run, "state": wanted.state, "effect": wanted.effect, "server": wanted.server}
    if wanted.caller:
        is_conversation = connection.execute(select(_C.seq).where(_C.conversation == wanted.caller).limit(1)).first()
        given["conversation" if is_conversation else "principal"] = wanted.caller
    return {name: value for name, value in given.items() if value}


def _narrowest(connection: Connection, equal: dict[str, str], since: float | None) -> tuple[str | None, bool]:
    """The condition that fewest entries fit, by its column, and whether those are few; of wide ones any, but the
    time, whose index gives another order."""
    counts: dict[str, int] = {}
    conditions: dict[str, list[ColumnElement[bool]]] = {name: _is(name, value) for name, value in equal.items()}
    if since is not None:
        conditions["started_at"] = [_C.started_at >= since]
    for name, condition in conditions.items():
        some = select(literal(1)).select_from(CALLS).where(*condition).limit(_NARROW).subquery()
        counts[name] = connection.execute(select(func.count()).select_from(some)).scalar_one()
    if not counts:
        return None, False
    name = min(counts, key=lambda each: counts[each])
    if counts[name] < _NARROW:
        return name, True
    return next(iter(equal), None), False


def _conditions(equal: dict[str, str], since: float | None, walked: str | None) -> list[ColumnElement[bool]]:
    """All conditions, put so that only the index of one column can be used."""
    conditions: list[ColumnElement[bool]] = []
    for name, value in equal.items():
        conditions += _is(name, value) if name == walked else [_masked(name) == value]
    if since is not None:
        conditions.append((_C.started_at if walked == "started_at" else _C.started_at + 0.0) >= since)
    return conditions


def _is(name: str, value: str) -> list[ColumnElement[bool]]:
    return [_C[name] == value, OF_A_RUN] if name == "run" else [_C[name] == value]


def _masked(name: str) -> ColumnElement[str]:
    """A column in a form for which there is no index."""
    return _C[name].concat("")


def _newest_of(connection: Connection, tools: Sequence[str], limit: int) -> list[int]:
    """The numbers of the newest entries of some tools: a sort over all their calls would take long, but the newest of
    each are among those wanted."""
    numbers: list[int] = []
    for start in range(0, len(tools), _PARTS):
        parts = [
            select(select(_C.seq).where(_C.tool == tool).order_by(_C.seq.desc()).limit(limit).subquery())
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
