"""The table of pins and the statements over it; the only module here that needs SQLAlchemy to import."""

import json
from collections.abc import Sequence, Set
from typing import Any

from sqlalchemy import Column, Connection, Float, MetaData, String, Table, Text, select
from sqlalchemy.dialects import postgresql, sqlite

from toolcrib.broker.changes.pin import Pin, PinKey

VERSION = 1
METADATA = MetaData()

_PINS = Table(
    "pins",
    METADATA,
    Column("server", String, primary_key=True),
    Column("tool", String, primary_key=True),
    Column("digest", String, nullable=False),
    Column("definition", Text, nullable=False),
    Column("pinned_at", Float, nullable=False),
)
_C = _PINS.c


def digests(connection: Connection) -> dict[PinKey, str]:
    """The digest of every pin."""
    rows = connection.execute(select(_C.server, _C.tool, _C.digest))
    return {(row.server, row.tool): row.digest for row in rows}


def pin(connection: Connection, key: PinKey) -> Pin | None:
    """One pin, or None."""
    row = connection.execute(select(_PINS).where(_C.server == key[0], _C.tool == key[1])).first()
    if row is None:
        return None
    return Pin(row.server, row.tool, row.digest, json.loads(row.definition), row.pinned_at)


def put(connection: Connection, pins: Sequence[Pin], anew: Set[PinKey]) -> dict[PinKey, str]:
    """Store pins, and give the digests that hold then.

    Of two instances that pin a tool at once the first counts, unless the key is one of `anew`.
    """
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    holding: dict[PinKey, str] = {}
    for each in pins:
        row = _row(each)
        insert = dialect.insert(_PINS).values(row)
        if each.key in anew:
            changed = {name: row[name] for name in ("digest", "definition", "pinned_at")}
            connection.execute(insert.on_conflict_do_update(index_elements=["server", "tool"], set_=changed))
        else:
            connection.execute(insert.on_conflict_do_nothing())
        holds = select(_C.digest).where(_C.server == each.server, _C.tool == each.tool)
        holding[each.key] = connection.execute(holds).scalar_one()
    return holding


def _row(pin: Pin) -> dict[str, Any]:
    return {
        "server": pin.server,
        "tool": pin.tool,
        "digest": pin.digest,
        "definition": json.dumps(pin.definition),
        "pinned_at": pin.pinned_at,
    }
