"""The journal's tables and the statements over them; the only module here that needs SQLAlchemy to import."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Float,
    Index,
    Insert,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Text,
    and_,
    bindparam,
    delete,
    func,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from toolcrib.broker.call import Unsettled
from toolcrib.broker.journal.entry import Discovery, Entry, Filter
from toolcrib.broker.journal.writing import Row
from toolcrib.store.queries import is_live

VERSION = 1
METADATA = MetaData()

_SEQ = BigInteger().with_variant(Integer, "sqlite")  # only INTEGER is SQLite's own row number

_CALLS = Table(
    "calls",
    METADATA,
    Column("seq", _SEQ, primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("instance", String, nullable=False),
    Column("method", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("server", String, nullable=False),
    Column("effect", String, nullable=False),
    Column("principal", String, nullable=False),
    Column("conversation", String, nullable=False),
    Column("origin", String, nullable=False),
    Column("face", String, nullable=False),
    Column("run", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("arguments", Text),
    Column("verdict", String, nullable=False),
    Column("rule", String, nullable=False),
    Column("approval", String, nullable=False),
    Column("approved_by", String, nullable=False),
    Column("labels", String, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("duration_ms", Float),
    Column("state", String, nullable=False),
    Column("result_bytes", BigInteger),
    Column("result_tokens", BigInteger),
    Column("error", Text, nullable=False),
    Column("repeated_by", String, nullable=False),
)
_C = _CALLS.c
for _name in ("tool", "server", "state", "effect", "principal", "conversation", "started_at"):
    Index(f"calls_by_{_name}", _C[_name], _C.seq)
_OF_A_RUN = _C.run != ""
Index("calls_by_run", _C.run, _C.seq, sqlite_where=_OF_A_RUN, postgresql_where=_OF_A_RUN)
_UNSETTLED = and_(_C.state == "unknown", _C.repeated_by == "")
Index("calls_unsettled", _C.digest, _C.principal, sqlite_where=_UNSETTLED, postgresql_where=_UNSETTLED)

_DISCOVERY = Table(
    "discovery",
    METADATA,
    Column("principal", String, primary_key=True),
    Column("conversation", String, primary_key=True),
    Column("answers", Integer, nullable=False),
    Column("spent", BigInteger, nullable=False),
    Column("all_definitions", BigInteger, nullable=False),
    Column("first_at", Float, nullable=False),
    Column("last_at", Float, nullable=False, index=True),
)

_ENDED = ("ended_at", "duration_ms", "state", "result_bytes", "result_tokens", "error")
_END = update(_CALLS).where(_C.id == bindparam("call")).values({name: bindparam(f"new_{name}") for name in _ENDED})
_EARLIER = (
    select(_C.id, _C.started_at)
    .where(_C.digest == bindparam("digest"), _C.principal == bindparam("principal"), _UNSETTLED)
    .order_by(_C.seq.desc())
    .limit(1)
)
_REPEAT = (
    update(_CALLS)
    .where(_C.digest == bindparam("of_digest"), _C.principal == bindparam("of_principal"), _UNSETTLED)
    .values(repeated_by=bindparam("call"))
)


def _insert(dialect: str, table: Table) -> Any:
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)


def _put(dialect: str) -> Insert:
    """Inserts a call. One that is there already, since it waited or is sent again, begins anew under its number."""
    made = _insert(dialect, _CALLS)
    kept = {"seq", "id", "arguments", "digest", "repeated_by", "attempts", "started_at"}
    changes = {column.name: made.excluded[column.name] for column in _CALLS.c if column.name not in kept}
    attempts = _C.attempts + made.excluded.attempts
    return cast("Insert", made.on_conflict_do_update(index_elements=["id"], set_={**changes, "attempts": attempts}))


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


def recover(connection: Connection, now: float) -> int:
    """Settle what instances left under way whose lease has ended; how many calls that were.

    What was sent has an unknown outcome; what waited before it was sent was given up.
    """
    left = and_(_C.state.in_(("started", "waiting")), ~is_live(_C.instance, now))
    note = "Toolcrib ended before the answer came."
    lost = update(_CALLS).where(left, _C.attempts > 0).values(state="unknown", error=note)
    unsent = update(_CALLS).where(left, _C.attempts == 0).values(state="cancelled", error="Toolcrib ended meanwhile.")
    return connection.execute(lost).rowcount + connection.execute(unsent).rowcount


def newest(connection: Connection, wanted: Filter, limit: int, before: int | None = None) -> list[Entry]:
    """The newest entries that a filter fits, newest first.

    Args:
        connection: The database.
        wanted: The filter.
        limit: How many.
        before: Only those with a lower number.
    """
    conditions = _conditions(connection, wanted)
    if before is not None:
        conditions.append(_C.seq < before)
    tools = _tools(connection, wanted.tool)
    if tools is not None and not tools:
        return []
    order = (_C.started_at.desc(), _C.seq.desc()) if _by_time(wanted) else (_C.seq.desc(),)
    if tools is None:
        return _entries(connection, select(_CALLS).where(*conditions).order_by(*order).limit(limit))
    # A sort over all calls of several tools would take long: the newest of each are among those wanted.
    numbers: list[int] = []
    for start in range(0, len(tools), _MOST_PARTS):
        parts = [
            select(select(_C.seq).where(_C.tool == tool, *conditions).order_by(_C.seq.desc()).limit(limit).subquery())
            for tool in tools[start : start + _MOST_PARTS]
        ]
        numbers += connection.execute(union_all(*parts)).scalars()
    chosen = sorted(numbers, reverse=True)[:limit]
    return _entries(connection, select(_CALLS).where(_C.seq.in_(chosen)).order_by(_C.seq.desc()))


def oldest(connection: Connection, wanted: Filter, after: int, limit: int) -> list[Entry]:
    """The oldest entries beyond a number that a filter fits, oldest first."""
    conditions = [*_conditions(connection, wanted), _C.seq > after]
    tools = _tools(connection, wanted.tool)
    if tools is not None:
        conditions.append(_C.tool.in_(tools))
    return _entries(connection, select(_CALLS).where(*conditions).order_by(_C.seq).limit(limit))


def by_ids(connection: Connection, beginnings: Sequence[str]) -> list[Entry]:
    """The entries whose id begins with one of these."""
    if not beginnings:
        return []
    fits = [_C.id.startswith(each, autoescape=True) for each in beginnings]
    return _entries(connection, select(_CALLS).where(or_(*fits)).order_by(_C.seq))


def last_number(connection: Connection) -> int:
    """The highest number of an entry; 0 without any."""
    return connection.execute(select(func.coalesce(func.max(_C.seq), 0))).scalar_one()


def add_discovery(connection: Connection, rows: Sequence[Row]) -> None:
    """Add to what finding tools has cost conversations."""
    if not rows:
        return
    made = _insert(connection.dialect.name, _DISCOVERY)
    have, new = _DISCOVERY.c, made.excluded
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
    rows = connection.execute(select(_DISCOVERY).order_by(_DISCOVERY.c.last_at.desc()).limit(limit))
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
        connection.execute(delete(_DISCOVERY).where(_DISCOVERY.c.last_at < before))
    if most is not None:
        beyond = select(_C.seq).where(_C.seq <= last_number(connection) - most, settled)
        found.update(connection.execute(beyond.order_by(_C.seq).limit(limit)).scalars())
    chosen = sorted(found)[:limit]
    if chosen:
        connection.execute(delete(_CALLS).where(_C.seq.in_(chosen)))
    return len(chosen)


_MOST_PARTS = 100
"""Statements in one union; SQLite takes 500."""


def _entries(connection: Connection, chosen: Select[Any]) -> list[Entry]:
    return [Entry.of(row) for row in connection.execute(chosen).mappings()]


def _by_time(wanted: Filter) -> bool:
    """Whether the time is the only filter, so that its index gives the order."""
    others = (wanted.server, wanted.state, wanted.effect, wanted.run, wanted.caller, wanted.tool)
    return wanted.since is not None and not any(others)


def _conditions(connection: Connection, wanted: Filter) -> "list[ColumnElement[bool]]":
    equal: dict[str, str] = {"run": wanted.run, "state": wanted.state, "effect": wanted.effect, "server": wanted.server}
    if wanted.caller:
        is_conversation = connection.execute(select(_C.seq).where(_C.conversation == wanted.caller).limit(1)).first()
        equal["conversation" if is_conversation else "principal"] = wanted.caller
    conditions: list[ColumnElement[bool]] = [_C[name] == value for name, value in equal.items() if value]
    if wanted.run:
        conditions.append(_OF_A_RUN)
    if wanted.since is not None:
        conditions.append(_C.started_at >= wanted.since)
    return conditions


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
