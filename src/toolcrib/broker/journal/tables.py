"""The journal's tables."""

from sqlalchemy import BigInteger, Column, Float, Index, Integer, MetaData, String, Table, Text, and_

VERSION = 1
METADATA = MetaData()

_SEQ = BigInteger().with_variant(Integer, "sqlite")  # only INTEGER is SQLite's own row number

CALLS = Table(
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
_C = CALLS.c
for _name in ("tool", "server", "state", "effect", "principal", "conversation", "started_at"):
    Index(f"calls_by_{_name}", _C[_name], _C.seq)
OF_A_RUN = _C.run != ""
Index("calls_by_run", _C.run, _C.seq, sqlite_where=OF_A_RUN, postgresql_where=OF_A_RUN)
UNSETTLED = and_(_C.state == "unknown", _C.repeated_by == "")
Index("calls_unsettled", _C.digest, _C.principal, sqlite_where=UNSETTLED, postgresql_where=UNSETTLED)
NOT_DONE = _C.state != "done"
Index("calls_not_done", _C.started_at, _C.state, sqlite_where=NOT_DONE, postgresql_where=NOT_DONE)

BEGINNINGS_VERSION = 1
OF_BEGINNINGS = MetaData()
"""Apart from the calls, since most of what is read of these needs none of it, and it is not kept as long."""

BEGINNINGS = Table(
    "call_results",
    OF_BEGINNINGS,
    Column("call", String, primary_key=True),
    Column("ended_at", Float, nullable=False, index=True),
    Column("beginning", Text, nullable=False),
)

DISCOVERY = Table(
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
