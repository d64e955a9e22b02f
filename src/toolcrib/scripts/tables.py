"""The tables of runs, and the statements over them; the only module here that needs SQLAlchemy."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)

from toolcrib.scripts.record import RunHead, merged
from toolcrib.store.queries import is_live, members

VERSION = 3
METADATA = MetaData()

_RUNS = Table(
    "runs",
    METADATA,
    Column("id", String, primary_key=True),
    Column("instance", String, nullable=False),
    Column("principal", String, nullable=False),
    Column("conversation", String, nullable=False),
    Column("language", String, nullable=False),
    Column("sandbox", String, nullable=False),
    Column("code", Text, nullable=False),
    Column("is_whole", Boolean, nullable=False),
    Column("parent", String, nullable=False, index=True),
    Column("asked", String, nullable=False, index=True),
    Column("script", String, nullable=False),
    Column("retry_of", String, nullable=False, index=True),
    Column("status", String, nullable=False),
    Column("output", Text, nullable=False),
    Column("value", Text),
    Column("cut", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("line", Integer),
    Column("calls", Text, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("snapshot", LargeBinary),
    Column("seal", String, nullable=False),
)
_BY_TIME = (_RUNS.c.started_at, _RUNS.c.id)
Index("runs_by_started_at", *_BY_TIME)
for _name in ("principal", "status", "script"):
    Index(f"runs_by_{_name}", _RUNS.c[_name], *_BY_TIME)
_RESULTS = Table(
    "run_results",
    METADATA,
    Column("run", String, primary_key=True),
    Column("call_id", String, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("tool", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("state", String, nullable=False),
    Column("result", Text),
    Column("expires_at", Float, nullable=False, index=True),
)


_BEGINS = 200
_HEAD = [name for name in RunHead.__dataclass_fields__ if name != "begins"]


def add(connection: Connection, run: dict[str, Any]) -> None:
    """Insert a run."""
    connection.execute(insert(_RUNS).values(run))


def end(connection: Connection, run: str, values: dict[str, Any]) -> None:
    """Record how a run ended; what it called is added to what was told of it before it slept."""
    before = connection.execute(select(_RUNS.c.calls).where(_RUNS.c.id == run)).scalar_one_or_none() or "[]"
    values = {**values, "calls": merged(before, values["calls"])}
    connection.execute(update(_RUNS).where(_RUNS.c.id == run).values(values))


def wake(connection: Connection, run: str, seal: str, instance: str) -> bool:
    """Let an instance take up a run that sleeps, if what it goes on from is still the one with that seal; whether
    it was."""
    asleep = (_RUNS.c.id == run, _RUNS.c.status == "suspended", _RUNS.c.seal == seal)
    return connection.execute(update(_RUNS).where(*asleep).values(status="running", instance=instance)).rowcount == 1


def running(connection: Connection, run: str) -> list[tuple[str, str]]:
    """The runs that count as running, of one and those that repeat it: id, and instance."""
    these = (_RUNS.c.status == "running", or_(_RUNS.c.id == run, _RUNS.c.retry_of == run))
    return [(row.id, row.instance) for row in connection.execute(select(_RUNS.c.id, _RUNS.c.instance).where(*these))]


def repeated(connection: Connection, run: str) -> str:
    """The run that a run repeats; empty for none."""
    return connection.execute(select(_RUNS.c.retry_of).where(_RUNS.c.id == run)).scalar_one_or_none() or ""


def unfinished(connection: Connection, asked: str, principal: str, parents: Sequence[str], since: float) -> str:
    """The oldest run for the same that is to be gone on with, and that no run since was begun to go on with: one that
    sleeps, or, of runs that are parts of others, one that failed. Empty for none."""
    taken = select(_RUNS.c.retry_of).where(_RUNS.c.asked == asked, _RUNS.c.parent.in_(parents))
    sleeps = and_(_RUNS.c.status == "suspended", _RUNS.c.ended_at > since)
    failed = and_(_RUNS.c.status == "failed", _RUNS.c.parent != "", _RUNS.c.parent != parents[0])
    these = (_RUNS.c.asked == asked, _RUNS.c.principal == principal, _RUNS.c.parent.in_(parents))
    wanted = select(_RUNS.c.id).where(*these, or_(sleeps, failed), _RUNS.c.id.not_in(taken))
    return connection.execute(wanted.order_by(_RUNS.c.started_at).limit(1)).scalar_one_or_none() or ""


def find(connection: Connection, run: str, principal: str) -> dict[str, Any] | None:
    """A principal's run, or None."""
    row = connection.execute(select(_RUNS).where(_RUNS.c.id == run, _RUNS.c.principal == principal)).first()
    return None if row is None else members(row)


def page(
    connection: Connection, equal: Mapping[str, str], before: tuple[float, str] | None, limit: int
) -> list[dict[str, Any]]:
    """The newest runs whose columns have these values, newest first, without what is long.

    Args:
        connection: The database.
        equal: Values by the names of their columns.
        before: When a run began, and its id: only those before it.
        limit: How many.
    """
    columns = [_RUNS.c[name] for name in _HEAD]
    wanted = select(*columns, func.substr(_RUNS.c.code, 1, _BEGINS).label("begins"))
    wanted = wanted.where(*(_RUNS.c[name] == value for name, value in equal.items()))
    if before is not None:
        wanted = wanted.where(tuple_(*_BY_TIME) < before)
    wanted = wanted.order_by(*(column.desc() for column in _BY_TIME)).limit(limit)
    return [members(row) for row in connection.execute(wanted)]


def whole(connection: Connection, run: str) -> dict[str, Any] | None:
    """A run without what it goes on from, or None."""
    columns = [column for column in _RUNS.c if column.name != "snapshot"]
    row = connection.execute(select(*columns).where(_RUNS.c.id == run)).first()
    return None if row is None else members(row)


def keep_results(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Insert what calls of runs came to, in place of earlier answers to the same calls."""
    for row in rows:
        connection.execute(delete(_RESULTS).where(_RESULTS.c.run == row["run"], _RESULTS.c.call_id == row["call_id"]))
    connection.execute(insert(_RESULTS), list(rows))


def results(connection: Connection, run: str, now: float) -> list[dict[str, Any]]:
    """What the calls of a run came to, in order; of what has expired, that it was made."""
    rows = connection.execute(select(_RESULTS).where(_RESULTS.c.run == run).order_by(_RESULTS.c.number))
    found = [members(row) for row in rows]
    return [row if row["expires_at"] > now else {**row, "result": None} for row in found]


def result(connection: Connection, run: str, call_id: str, now: float) -> dict[str, Any] | None:
    """What one call of a run came to, while that is kept."""
    this = (_RESULTS.c.run == run, _RESULTS.c.call_id == call_id, _RESULTS.c.expires_at > now)
    row = connection.execute(select(_RESULTS).where(*this)).first()
    return None if row is None else members(row)


def settle(connection: Connection, now: float, dead: Sequence[str] = ()) -> None:
    """Settle the runs that were left under way by instances which are gone: whose lease has ended, or that are known
    to be dead."""
    ended = {"status": "unknown", "detail": "Toolcrib ended while it ran.", "ended_at": now}
    connection.execute(update(_RUNS).where(*_lost(now, dead)).values(ended))


def is_something_lost(connection: Connection, now: float, dead: Sequence[str]) -> bool:
    """Whether `settle` would find anything."""
    return connection.execute(select(_RUNS.c.id).where(*_lost(now, dead)).limit(1)).first() is not None


def _lost(now: float, dead: Sequence[str]) -> tuple[ColumnElement[bool], ...]:
    return _RUNS.c.status == "running", or_(~is_live(_RUNS.c.instance, now), _RUNS.c.instance.in_(dead))


def prune(connection: Connection, now: float, asleep: float, oldest: float) -> None:
    """Drop results that have expired, what runs go on from that fell asleep before `asleep`, and runs that began
    before `oldest`, with all that belongs to them; settle runs whose process is gone."""
    settle(connection, now)
    expired = (_RESULTS.c.expires_at <= now, _RESULTS.c.result.is_not(None))
    connection.execute(update(_RESULTS).where(*expired).values(result=None))
    late = (_RUNS.c.snapshot.is_not(None), _RUNS.c.ended_at <= asleep)
    connection.execute(update(_RUNS).where(*late).values(snapshot=None, seal=""))
    old = select(_RUNS.c.id).where(_RUNS.c.started_at < oldest)
    connection.execute(delete(_RESULTS).where(_RESULTS.c.run.in_(old)))
    connection.execute(delete(_RUNS).where(_RUNS.c.started_at < oldest))
