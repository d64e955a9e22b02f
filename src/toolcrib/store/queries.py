"""The store's own tables and the statements over them; the only module here that needs SQLAlchemy to import."""

from dataclasses import asdict
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    Row,
    String,
    Table,
    delete,
    func,
    insert,
    inspect,
    select,
    update,
)

from toolcrib.store.instances import Instance, ServerState

VERSION = 1
METADATA = MetaData()

_VERSIONS = Table(
    "schema_versions",
    MetaData(),
    Column("component", String, primary_key=True),
    Column("version", Integer, nullable=False),
)
_INSTANCES = Table(
    "instances",
    METADATA,
    Column("id", String, primary_key=True),
    Column("pid", Integer, nullable=False),
    Column("host", String, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False, index=True),
)
_STATES = Table(
    "server_states",
    METADATA,
    Column("instance", String, ForeignKey("instances.id", ondelete="CASCADE"), primary_key=True),
    Column("server", String, primary_key=True),
    Column("state", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("since", Float, nullable=False),
    Column("era", String, nullable=False),
    Column("pid", Integer),
)

_CREATION_LOCK = 0x746F6F6C63726962  # "toolcrib": PostgreSQL's advisory locks are numbers


def component_version(connection: Connection, component: str) -> int | None:
    """The version of a component's tables, or None where there are none."""
    if not inspect(connection).has_table(_VERSIONS.name):
        return None
    return connection.execute(
        select(_VERSIONS.c.version).where(_VERSIONS.c.component == component)
    ).scalar_one_or_none()


def create_component(connection: Connection, component: str, version: int, metadata: MetaData) -> int:
    """Create a component's tables unless another process just did; the version that is there then."""
    if connection.dialect.name == "postgresql":  # SQLite's writers wait for each other anyway
        connection.execute(select(func.pg_advisory_xact_lock(_CREATION_LOCK)))
    found = component_version(connection, component)
    if found is not None:
        return found
    _VERSIONS.create(connection, checkfirst=True)
    metadata.create_all(connection)
    connection.execute(insert(_VERSIONS).values(component=component, version=version))
    return version


def add_instance(connection: Connection, instance: Instance) -> None:
    """Insert an instance."""
    connection.execute(insert(_INSTANCES).values(asdict(instance)))


def extend_lease(connection: Connection, instance: str, expires_at: float) -> bool:
    """Move the end of an instance's lease; False when the instance is gone."""
    moved = update(_INSTANCES).where(_INSTANCES.c.id == instance).values(expires_at=expires_at)
    return connection.execute(moved).rowcount == 1


def remove_instance(connection: Connection, instance: str) -> None:
    """Delete an instance and its servers' states."""
    connection.execute(delete(_INSTANCES).where(_INSTANCES.c.id == instance))


def instances(connection: Connection, now: float, live: bool) -> list[Instance]:
    """The instances whose lease holds, or those whose lease has ended, oldest first."""
    ends = _INSTANCES.c.expires_at
    chosen = select(_INSTANCES).where(ends > now if live else ends <= now)
    rows = connection.execute(chosen.order_by(_INSTANCES.c.started_at, _INSTANCES.c.id))
    return [Instance(**members(row)) for row in rows]


def is_live(instance: ColumnElement[str], now: float) -> ColumnElement[bool]:
    """Whether the instance that a column names holds a lease."""
    return instance.in_(select(_INSTANCES.c.id).where(_INSTANCES.c.expires_at > now))


def reclaim(connection: Connection, instance: str, now: float) -> list[ServerState] | None:
    """Delete an instance whose lease has ended and return its servers' states; None when it has not ended."""
    expired = select(_INSTANCES.c.id).where(_INSTANCES.c.id == instance, _INSTANCES.c.expires_at <= now)
    if connection.execute(expired.with_for_update()).first() is None:
        return None
    rows = connection.execute(select(_STATES).where(_STATES.c.instance == instance))
    states = [ServerState(**members(row)) for row in rows]
    remove_instance(connection, instance)
    return states


def put_state(connection: Connection, state: ServerState) -> bool:
    """Insert or replace one server's state; `since` moves only when the state itself changes.

    False when the instance is gone.
    """
    owner = select(_INSTANCES.c.id).where(_INSTANCES.c.id == state.instance)
    if connection.execute(owner.with_for_update()).first() is None:
        return False
    this = (_STATES.c.instance == state.instance, _STATES.c.server == state.server)
    earlier = connection.execute(select(_STATES.c.state, _STATES.c.since).where(*this)).first()
    values = asdict(state)
    if earlier is None:
        connection.execute(insert(_STATES).values(values))
    else:
        if earlier.state == state.state:
            values["since"] = earlier.since
        connection.execute(update(_STATES).where(*this).values(values))
    return True


def live_states(connection: Connection, now: float) -> list[ServerState]:
    """The server states of all instances whose lease holds, by server."""
    joined = select(_STATES).join(_INSTANCES).where(_INSTANCES.c.expires_at > now)
    rows = connection.execute(joined.order_by(_STATES.c.server, _STATES.c.since, _STATES.c.instance))
    return [ServerState(**members(row)) for row in rows]


def members(row: Row[Any]) -> dict[str, Any]:
    """A row's values by the names of their columns."""
    return {str(name): value for name, value in row._mapping.items()}  # pyright: ignore[reportPrivateUsage]  the documented access by name
