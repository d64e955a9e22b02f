"""The statements by which the journal is written and kept; needs SQLAlchemy to import, as do `tables` and `listing`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Insert, Table, and_, bindparam, delete, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from toolcrib.broker.call import Unsettled
from toolcrib.broker.journal.entry import Discovery, Entry
from toolcrib.broker.journal.listing import entries
from toolcrib.broker.journal.tables import BEGINNINGS, CALLS, DISCOVERY, UNSETTLED
from toolcrib.broker.journal.writing import Row
from toolcrib.store.queries import is_live

_C = CALLS.c
_ENDED = ("ended_at", "duration_ms", "state", "result_bytes", "result_tokens", "error")
_END = update(CALLS).where(_C.id == bindparam("call")).values({name: bindparam(f"new_{name}") for name in _ENDED})
_EARLIER = (
    select(_C.id, _C.started_at)
    .where(_C.digest == bindparam("digest"), _C.principal == bindparam("principal"), UNSETTLED)
    .order_by(_C.seq.desc())
    .limit(1)
)
_REPEAT = (
    update(CALLS)
    .where(_C.digest == bindparam("of_digest"), _C.principal == bindparam("of_principal"), UNSETTLED)
    .values(repeated_by=bindparam("call"))
)


def _insert(dialect: str, table: Table) -> Any:
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)


def _put(dialect: str) -> Insert:
    """Inserts a call. One that is there already, since it waited or is sent again, begins anew under its number; that
    it waited, written late, takes nothing back from one that was sent since."""
    made = _insert(dialect, CALLS)
    kept = {"seq", "id", "arguments", "digest", "repeated_by", "attempts", "started_at"}
    changes = {column.name: made.excluded[column.name] for column in CALLS.c if column.name not in kept}
    attempts = _C.attempts + made.excluded.attempts
    sent_last = or_(made.excluded.attempts > 0, _C.attempts == 0)
    set_ = {**changes, "attempts": attempts}
    return cast("Insert", made.on_conflict_do_update(index_elements=["id"], set_=set_, where=sent_last))


_PUT = {dialect: _put(dialect) for dialect in ("sqlite", "postgresql")}


def begin_call(connection: Connection, row: Row) -> Unsettled | None:
    """Record a call that is about to be sent, and give an earlier one like it whose outcome is unknown."""
    connection.execute(_PUT[connection.dialect.name], row)
    wanted = {"digest": row["digest"], "principal": row["principal"]}
    earlier = connection.execute(_EARLIER, wanted).first()
    if earlier is None:
        return None
    connection.execute(_REPEAT, {"of_digest": row["digest"], "of_principal": row["principal"], "call": row["id"]})
    return Unsettled(earlier.id, earlier.started_at)


def put_calls(connection: Connection, rows: Sequence[Row]) -> None:
    """Record calls that have ended already, or wait, or were not sent."""
    if rows:
        connection.execute(_PUT[connection.dialect.name], rows)


def end_calls(connection: Connection, endings: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Record what became of calls, by their ids."""
    given = [{"call": call, **{f"new_{name}": ending[name] for name in _ENDED}} for call, ending in endings]
    if given:
        connection.execute(_END, given)


def put_beginnings(connection: Connection, rows: Sequence[Row]) -> None:
    """Record how results begin; of a call that has one already, anew."""
    if not rows:
        return
    made = _insert(connection.dialect.name, BEGINNINGS)
    anew = {name: made.excluded[name] for name in ("ended_at", "beginning")}
    connection.execute(made.on_conflict_do_update(index_elements=["call"], set_=anew), rows)


def beginning_of(connection: Connection, call: str) -> str:
    """How the result of a call begins; empty where that is not recorded."""
    found = select(BEGINNINGS.c.beginning).where(BEGINNINGS.c.call == call)
    return connection.execute(found).scalar() or ""


def recover(connection: Connection, now: float, dead: Sequence[str] = ()) -> int:
    """Settle what instances left under way that are gone; how many calls that were.

    What was sent has an unknown outcome; what waited before it was sent was given up.

    Args:
        connection: The database.
        now: Seconds since 1970: an instance whose lease has ended by then is gone.
        dead: Other instances that are gone.
    """
    left = _left(now, dead)
    note = "Toolcrib ended before the answer came."
    lost = update(CALLS).where(left, _C.attempts > 0).values(state="unknown", error=note)
    unsent = update(CALLS).where(left, _C.attempts == 0).values(state="cancelled", error="Toolcrib ended meanwhile.")
    return connection.execute(lost).rowcount + connection.execute(unsent).rowcount


def is_something_left(connection: Connection, now: float, dead: Sequence[str]) -> bool:
    """Whether `recover` would find anything."""
    return connection.execute(select(_C.seq).where(_left(now, dead)).limit(1)).first() is not None


def _left(now: float, dead: Sequence[str]) -> ColumnElement[bool]:
    gone = or_(~is_live(_C.instance, now), _C.instance.in_(dead))
    return and_(_C.state.in_(("started", "waiting")), gone)


def by_ids(connection: Connection, beginnings: Sequence[str]) -> list[Entry]:
    """The entries whose id begins with one of these."""
    if not beginnings:
        return []
    fits = [_C.id.startswith(each, autoescape=True) for each in beginnings]
    return entries(connection, select(CALLS).where(or_(*fits)).order_by(_C.seq))


def last_number(connection: Connection) -> int:
    """The highest number of an entry; 0 without any."""
    return connection.execute(select(func.coalesce(func.max(_C.seq), 0))).scalar_one()


def add_discovery(connection: Connection, rows: Sequence[Row]) -> None:
    """Add to what finding tools has cost conversations."""
    if not rows:
        return
    made = _insert(connection.dialect.name, DISCOVERY)
    have, new = DISCOVERY.c, made.excluded
    all_definitions = func.greatest if connection.dialect.name == "postgresql" else func.max
    connection.execute(
        made.on_conflict_do_update(
            index_elements=["principal", "conversation"],
            set_={
                "answers": have.answers + new.answers,
                "spent": have.spent + new.spent,
                "all_definitions": all_definitions(have.all_definitions, new.all_definitions),
                "last_at": new.last_at,
            },
        ),
        rows,
    )


def discoveries(connection: Connection, limit: int) -> list[Discovery]:
    """What finding tools has cost each conversation, the latest first."""
    rows = connection.execute(select(DISCOVERY).order_by(DISCOVERY.c.last_at.desc()).limit(limit))
    return [Discovery(**row) for row in rows.mappings()]


def prune(connection: Connection, before: float | None, most: int | None, limit: int) -> int:
    """Delete some of what is too old or too much; how many records that were. What is under way stays.

    Args:
        connection: The database.
        before: Delete what began earlier, in seconds since 1970.
        most: Delete the oldest beyond so many.
        limit: How many at most.
    """
    settled = _C.state.not_in(("started", "waiting"))
    found: set[int] = set()
    if before is not None:
        found.update(connection.execute(select(_C.seq).where(_C.started_at < before, settled).limit(limit)).scalars())
        connection.execute(delete(DISCOVERY).where(DISCOVERY.c.last_at < before))
    if most is not None:
        beyond = select(_C.seq).where(_C.seq <= last_number(connection) - most, settled)
        found.update(connection.execute(beyond.order_by(_C.seq).limit(limit)).scalars())
    chosen = sorted(found)[:limit]
    if chosen:
        calls = select(_C.id).where(_C.seq.in_(chosen))
        connection.execute(delete(BEGINNINGS).where(BEGINNINGS.c.call.in_(calls)))
        connection.execute(delete(CALLS).where(_C.seq.in_(chosen)))
    return len(chosen)


def forget_beginnings(connection: Connection, before: float, limit: int) -> int:
    """Delete how results began of calls that ended earlier, in seconds since 1970; how many, and no more than so
    many."""
    old = select(BEGINNINGS.c.call).where(BEGINNINGS.c.ended_at < before).limit(limit)
    return connection.execute(delete(BEGINNINGS).where(BEGINNINGS.c.call.in_(old))).rowcount
