"""A journal of very many calls: pages are as quick and as long as ever."""

import sqlite3
import time
from contextlib import closing
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

SECONDS = 10.0
"""What a page may take, also on a machine that is busy; of the calls, only those that it shows cost anything."""

PATHS = ("", "?span=month", "calls", "calls?state=failed&tool=notes.*", "calls?text=nothing+like+it", "servers", "runs")

INSERT = """
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
INSERT INTO calls (id, instance, method, tool, server, effect, principal, conversation, origin, face, run, digest,
  arguments, verdict, rule, approval, approved_by, labels, attempts, started_at, ended_at, duration_ms, state,
  result_bytes, result_tokens, error, repeated_by)
SELECT printf('bulk-%d', n), 'gone', 'tools/call', printf('notes.tool_%d', n % 40), 'notes', 'read', 'local',
  printf('conversation-%d', n % 500), 'direct', 'stdio', '', printf('%032x', n), '{"note": 1}', 'allow', '', '', '',
  '[]', 1, ?2 - n % 864000, ?2 - n % 864000 + 0.02, 20.0 + n % 90,
  CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'done' END, 300, 90, '', ''
FROM numbers
"""


@pytest.mark.parametrize("rows", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
async def test_a_journal_of_many_calls(own_house: Any, visit: Any, rows: int) -> None:
    database = own_house.crib.state_dir / "toolcrib.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(INSERT, (rows, time.time()))
    async with visit(own_house) as tab:
        for path in PATHS:
            begun = time.perf_counter()
            await tab.open(path)
            assert time.perf_counter() - begun < SECONDS, path
        await tab.open("calls")
        await tab.page.get_by_role("link", name="Older calls").click()
        await tab.page.get_by_role("link", name="Newest calls").click()
