"""The tables of runs, and the statements over them; the only module here that needs SQLAlchemy."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    and_,
    delete,
    insert,
    or_,
    select,
    update,
)

from toolcrib.store.queries import is_live, members

VERSION = 2
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
    Column("parent", String, nullable=False),
    Column("asked", String, nullable=False, index=True),
    Column("retry_of", String, nullable=False),
    Column("status", String, nullable=False),
    Column("output", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("started_at", Float, nullable=False, index=True),
    Column("ended_at", Float),
    Column("snapshot", LargeBinary),
    Column("seal", String, nullable=False),
)
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


def add(connection: Connection, run: dict[str, Any]) -> None:
    """Insert a run."""
    connection.execute(insert(_RUNS).values(run))


def change(connection: Connection, run: str, values: dict[str, Any]) -> None:
    """Change members of a run."""
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


def newest(connection: Connection, principal: str | None, limit: int) -> list[dict[str, Any]]:
    """The newest runs, of one principal or of all, without their snapshots."""
    columns = [column for column in _RUNS.c if column.name != "snapshot"]
    wanted = select(*columns).order_by(_RUNS.c.started_at.desc()).limit(limit)
    if principal is not None:
        wanted = wanted.where(_RUNS.c.principal == principal)
    return [members(row) for row in connection.execute(wanted)]


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


def prune(connection: Connection, now: float, asleep: float, oldest: float) -> None:
    """Drop results that have expired, what runs go on from that fell asleep before `asleep`, and runs that began
    before `oldest`, with all that belongs to them; settle runs whose process is gone."""
    lost = (_RUNS.c.status == "running", ~is_live(_RUNS.c.instance, now))
    ended = {"status": "unknown", "detail": "Toolcrib ended while it ran.", "ended_at": now}
    connection.execute(update(_RUNS).where(*lost).values(ended))
    expired = (_RESULTS.c.expires_at <= now, _RESULTS.c.result.is_not(None))
    connection.execute(update(_RESULTS).where(*expired).values(result=None))
    late = (_RUNS.c.snapshot.is_not(None), _RUNS.c.ended_at <= asleep)
    connection.execute(update(_RUNS).where(*late).values(snapshot=None, seal=""))
    old = select(_RUNS.c.id).where(_RUNS.c.started_at < oldest)
    connection.execute(delete(_RESULTS).where(_RESULTS.c.run.in_(old)))
    connection.execute(delete(_RUNS).where(_RUNS.c.started_at < oldest))
