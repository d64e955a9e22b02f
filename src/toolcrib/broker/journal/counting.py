"""What the calls and the discovery of stretches of time add up to, quickly also in a large journal.

Every figure is exact but the latencies of a period with many calls. Calls are counted in the index of their time, and
those that are not simply done in one of their own, which stays small; so no row is read for a count. Latencies would
take reading and sorting all rows: of many, some are chosen by chance, by their numbers, which need no search.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from random import Random
from statistics import median
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from toolcrib.broker.journal.periods import MOST_MEASURED, Period
from toolcrib.broker.journal.tables import CALLS, DISCOVERY, NOT_DONE

_C = CALLS.c
_D = DISCOVERY.c
_CAME_BACK = ("done", "failed")


def periods(connection: Connection, edges: Sequence[float], principal: str) -> list[Period]:
    """What each stretch of time between two neighbouring edges adds up to.

    Args:
        connection: The database.
        edges: Moments in seconds since 1970, growing.
        principal: Only what this one did; empty for all.
    """
    return [_period(connection, start, end, principal) for start, end in pairwise(edges)]


def _period(connection: Connection, start: float, end: float, principal: str) -> Period:
    within = [_C.started_at >= start, _C.started_at < end]
    looked = [_D.last_at >= start, _D.last_at < end]
    if principal:
        within.append(_unindexed(_C.principal) == principal)
        looked.append(_unindexed(_D.principal) == principal)
    calls = connection.execute(select(func.count()).select_from(CALLS).where(*within)).scalar_one()
    states = select(_C.state, func.count()).where(*within, NOT_DONE).group_by(_C.state)
    found = sorted(_durations(connection, within, start, end, calls)) if calls else []
    sums = [func.coalesce(func.sum(each), 0) for each in (_D.answers, _D.spent, _D.all_definitions)]
    looks: Sequence[Any] = connection.execute(select(func.count(), *sums).where(*looked)).one()
    return Period(
        start,
        end,
        calls,
        {row[0]: row[1] for row in connection.execute(states)} if calls else {},
        median(found) if found else None,
        found[ceil(0.95 * len(found)) - 1] if found else None,
        len(found),
        *map(int, looks),
    )


def _durations(
    connection: Connection, within: Sequence[ColumnElement[bool]], start: float, end: float, calls: int
) -> list[float]:
    """How long calls of a period took that came back: all of a few, some of many."""
    came_back = _unindexed(_C.state).in_(_CAME_BACK)
    took = select(_C.duration_ms).where(*within, came_back, _C.duration_ms.is_not(None))
    if calls > MOST_MEASURED:
        numbers = _some_numbers(connection, start, end)
        took = took.where(_C.seq.in_(numbers))
    return list(connection.execute(took).scalars())


def _some_numbers(connection: Connection, start: float, end: float) -> list[int]:
    """Numbers of entries of a period, chosen by chance, the same ones each time. Numbers grow with time but for what
    was written behind, so those of the first and the last call enclose almost all; a few may be of no call."""
    begun = select(_C.seq).where(_C.started_at >= start, _C.started_at < end).limit(1)
    one = connection.execute(begun.order_by(_C.started_at, _C.seq)).scalar_one()
    other = connection.execute(begun.order_by(_C.started_at.desc(), _C.seq.desc())).scalar_one()
    numbers = range(min(one, other), max(one, other) + 1)
    return sorted(Random(numbers.start).sample(numbers, min(MOST_MEASURED, len(numbers))))


def _unindexed(column: ColumnElement[str]) -> ColumnElement[str]:
    """A column in a form for which there is no index: the time is the narrower condition, and a database's planner
    may take it for the wider one."""
    return column.concat("")
