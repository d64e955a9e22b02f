"""The tables of approvals and grants, and the statements over them; the only module here that needs SQLAlchemy."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    MetaData,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    update,
)

from toolcrib.store.queries import members

VERSION = 2
METADATA = MetaData()

_APPROVALS = Table(
    "approvals",
    METADATA,
    Column("id", String, primary_key=True),
    Column("status", String, nullable=False, index=True),
    Column("subject", String, nullable=False, index=True),
    Column("caller", String, nullable=False),
    Column("principal", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("definition", String, nullable=False),
    Column("rule", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("server", String, nullable=False),
    Column("effect", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("asked_by", String, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("traces", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("decided_at", Float),
    Column("decided_by", String, nullable=False),
    Column("scope", String, nullable=False),
    Column("seconds", Float),
    Column("most_seconds", Float, nullable=False),
    Column("bounds", Text, nullable=False),
    Column("spent", Boolean, nullable=False),
)
_GRANTS = Table(
    "grants",
    METADATA,
    Column("id", String, primary_key=True),
    Column("subject", String, nullable=False, index=True),
    Column("tool", String, nullable=False),
    Column("definition", String, nullable=False),
    Column("rule", String, nullable=False),
    Column("approval", String, nullable=False),
    Column("by", String, nullable=False),
    Column("bounds", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
)

_SKEW = 60.0
"""Seconds that a row may seem to be from the future: beyond, the clock was set back, and its age is not known."""

_KEPT = 24 * 3600.0
"""Seconds that an approval is kept after its end, to be looked up."""


def file(connection: Connection, values: dict[str, Any], now: float, most: int) -> dict[str, Any] | None:
    """Insert an approval, unless the same call of the same caller has one that was not spent: then that one.

    Returns:
        The row; None where `most` of the same principal are waiting already.
    """
    connection.execute(delete(_APPROVALS).where(_APPROVALS.c.expires_at < now - _KEPT))
    same = [_APPROVALS.c[name] == values[name] for name in ("subject", "digest", "definition", "rule")]
    open_ones = [_APPROVALS.c.status.in_(("waiting", "approved")), _APPROVALS.c.spent.is_(False), *_holding(now)]
    found = connection.execute(select(_APPROVALS).where(*same, *open_ones).with_for_update()).first()
    if found is not None:
        return members(found)
    theirs = (_APPROVALS.c.principal == values["principal"], _APPROVALS.c.status == "waiting", *_holding(now))
    waiting = select(func.count()).select_from(_APPROVALS).where(*theirs)
    if connection.execute(waiting).scalar_one() >= most:
        return None
    connection.execute(insert(_APPROVALS).values(values))
    return values


def take(connection: Connection, approval: str) -> dict[str, Any] | None:
    """An approval as it is; one that is approved is spent by this, and comes back unspent to exactly one."""
    spending = (_APPROVALS.c.id == approval, _APPROVALS.c.status == "approved", _APPROVALS.c.spent.is_(False))
    spent = connection.execute(update(_APPROVALS).where(*spending).values(spent=True)).rowcount == 1
    row = connection.execute(select(_APPROVALS).where(_APPROVALS.c.id == approval)).first()
    if row is None:
        return None
    return {**members(row), "spent": False} if spent else members(row)


def status(connection: Connection, approval: str) -> str | None:
    """The status of an approval; None where there is none."""
    return connection.execute(select(_APPROVALS.c.status).where(_APPROVALS.c.id == approval)).scalar_one_or_none()


def decide(
    connection: Connection, approval: str, values: dict[str, Any], grant: str, now: float
) -> tuple[bool, dict[str, Any] | None]:
    """Decide an approval that waits; whether this did it, and the row as it is then.

    What it grants beyond the call is there from then on, under the id `grant`.
    """
    this = (_APPROVALS.c.id == approval, _APPROVALS.c.status == "waiting", *_holding(now))
    done = connection.execute(update(_APPROVALS).where(*this).values(**values, decided_at=now)).rowcount == 1
    row = connection.execute(select(_APPROVALS).where(_APPROVALS.c.id == approval)).first()
    if row is None:
        return False, None
    if done and row.status == "approved" and row.scope != "call":
        seconds = row.most_seconds if row.seconds is None else min(row.seconds, row.most_seconds)
        granted = {name: getattr(row, name) for name in ("tool", "definition", "rule", "bounds")}
        granted |= {"id": grant, "approval": approval, "by": row.decided_by}
        granted |= {"subject": row.caller if row.scope == "caller" else row.subject}
        add_grant(connection, {**granted, "created_at": now, "expires_at": now + seconds})
    return done, members(row)


def close(connection: Connection, approval: str, into: str) -> None:
    """End an approval that still waits."""
    this = (_APPROVALS.c.id == approval, _APPROVALS.c.status == "waiting")
    connection.execute(update(_APPROVALS).where(*this).values(status=into))


def approvals(connection: Connection, now: float, everything: bool) -> list[dict[str, Any]]:
    """The approvals that wait, or all that are kept, oldest first."""
    chosen = select(_APPROVALS).order_by(_APPROVALS.c.created_at, _APPROVALS.c.id)
    if not everything:
        chosen = chosen.where(_APPROVALS.c.status == "waiting", *_holding(now))
    return [members(row) for row in connection.execute(chosen)]


def state(connection: Connection) -> tuple[Any, ...]:
    """What differs after each question, answer and grant, and when one of these ends."""
    asked, granted = _APPROVALS.c, _GRANTS.c
    waiting = select(func.count()).where(asked.status == "waiting").scalar_subquery()
    questions = select(func.count(), func.max(asked.created_at), func.max(asked.decided_at), waiting)
    grants = select(func.count(), func.max(granted.created_at)).select_from(_GRANTS)
    return (*connection.execute(questions).one(), *connection.execute(grants).one())


def add_grant(connection: Connection, values: dict[str, Any]) -> None:
    """Insert a grant, and forget those that have ended."""
    connection.execute(delete(_GRANTS).where(_GRANTS.c.expires_at <= values["created_at"]))
    connection.execute(insert(_GRANTS).values(values))


def grants(
    connection: Connection, now: float, subjects: Sequence[str] | None, tool: str | None
) -> list[dict[str, Any]]:
    """The grants that hold, of some subjects or all, for one tool or all, oldest first."""
    chosen = select(_GRANTS).where(_GRANTS.c.created_at <= now + _SKEW, _GRANTS.c.expires_at > now)
    if subjects is not None:
        chosen = chosen.where(_GRANTS.c.subject.in_(subjects))
    if tool is not None:
        chosen = chosen.where(_GRANTS.c.tool == tool)
    return [members(row) for row in connection.execute(chosen.order_by(_GRANTS.c.created_at, _GRANTS.c.id))]


def remove_grant(connection: Connection, grant: str) -> bool:
    """Delete a grant; whether it was there."""
    return connection.execute(delete(_GRANTS).where(_GRANTS.c.id == grant)).rowcount == 1


def end_subject(connection: Connection, subject: str) -> None:
    """Delete all grants of a subject."""
    connection.execute(delete(_GRANTS).where(_GRANTS.c.subject == subject))


def _holding(now: float) -> tuple[Any, Any]:
    return _APPROVALS.c.created_at <= now + _SKEW, _APPROVALS.c.expires_at > now
