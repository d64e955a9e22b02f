"""Listing a large journal: its newest entries, all of them or those that a filter fits."""

import asyncio
import random
import statistics
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.report import Target
from toolcrib.broker import Filter
from toolcrib.broker.journal import listing, queries, tables
from toolcrib.store import open_store

_BATCH = 20_000
_LISTED = 50
_ROUNDS = 15
_STATES = {"done": 950, "failed": 35, "denied": 10, "cancelled": 3, "unknown": 2}
_EFFECTS = {"read": 70, "write": 20, "unknown": 8, "destructive": 2}
_BEGAN = 1_800_000_000.0


def add_options(parser: ArgumentParser) -> None:
    """The options of this part."""
    parser.add_argument("--rows", type=int, default=1_000_000, help="entries of the journal")


def measure(options: Namespace) -> dict[str, Any]:
    """Milliseconds of listing the newest entries by filter: the median, and the first time."""
    with TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        path = Path(folder) / "toolcrib.db"
        seconds = _fill(path, options.rows)
        listings = asyncio.run(_list(path, options.rows))
        return {
            "rows": options.rows,
            "megabytes": round(path.stat().st_size / 1e6),
            "rows_written_per_second": round(options.rows / seconds),
            "newest_ms": listings,
        }


def targets(figures: Mapping[str, Any]) -> list[Target]:
    """The budgets of the figures."""
    what = f"journal of {figures['rows']:,} rows: its newest {_LISTED}"
    return [Target(f"{what}, {name}", each["median"], "ms", 50) for name, each in figures["newest_ms"].items()]


def filters(rows: int) -> dict[str, Filter]:
    """The filters that are measured, by what they are called."""
    ends = _BEGAN + rows
    return {
        "all": Filter(),
        "of a tool": Filter(tool="s7.tool3"),
        "of a rare tool": Filter(tool="rare.once"),
        "of tools by a glob": Filter(tool="s7.*"),
        "of most tools by a glob": Filter(tool="*.tool*"),
        "of a server": Filter(server="s11"),
        "that failed": Filter(state="failed"),
        "of unknown outcome": Filter(state="unknown"),
        "that are destructive": Filter(effect="destructive"),
        "of a run": Filter(run="run17"),
        "of a caller": Filter(caller="conversation42"),
        "of a principal": Filter(caller="guest"),
        "of the last hour": Filter(since=ends - 3600),
        "of the last half": Filter(since=ends - rows / 2),
        "of a server that failed": Filter(server="s11", state="failed"),
        "of a server of unknown outcome": Filter(server="s11", state="unknown"),
        "of tools by a glob that failed in the last half": Filter(tool="s*", state="failed", since=ends - rows / 2),
        "none": Filter(server="s11", state="waiting"),
    }


def _fill(path: Path, rows: int) -> float:
    store = open_store(path)
    store.ensure("journal", tables.VERSION, tables.METADATA)
    made = _rows(rows)
    begin = time.perf_counter()
    while batch := list(islice(made, _BATCH)):
        with store.transaction(write=True) as connection:
            queries.put_calls(connection, batch)
    seconds = time.perf_counter() - begin
    store.close()
    return seconds


def _rows(count: int) -> Iterator[dict[str, Any]]:
    """Made-up calls: 400 tools of 40 servers, few of them used much; a call a second."""
    chance = random.Random(7)
    servers = [f"s{number}" for number in range(40)]
    weights = [1 / (place + 1) for place in range(len(servers))]
    for number in range(count):
        server = chance.choices(servers, weights)[0]
        tool = f"{server}.tool{int(chance.paretovariate(1.2)) % 10}"
        if number == count // 3:
            server, tool = "rare", "rare.once"
        began = _BEGAN + number
        yield {
            "id": f"{chance.getrandbits(64):016x}",
            "instance": "i",
            "method": "tools/call",
            "tool": tool,
            "server": server,
            "effect": chance.choices(list(_EFFECTS), list(_EFFECTS.values()))[0],
            "principal": "guest" if chance.random() < 0.02 else "local",
            "conversation": f"conversation{number // 200}",
            "origin": "direct",
            "face": "stdio",
            "run": f"run{number // 1000}" if chance.random() < 0.2 else "",
            "digest": f"{chance.getrandbits(128):032x}",
            "arguments": '{"query":"the quick brown fox","limit":10,"project":"toolcrib"}',
            "verdict": "allow",
            "rule": "",
            "approval": "",
            "approved_by": "",
            "labels": "[]",
            "attempts": 1,
            "started_at": began,
            "ended_at": began + 0.2,
            "duration_ms": 200.0,
            "state": chance.choices(list(_STATES), list(_STATES.values()))[0],
            "result_bytes": 1200,
            "result_tokens": 334,
            "error": "",
            "repeated_by": "",
        }


async def _list(path: Path, rows: int) -> dict[str, dict[str, float]]:
    """The time of each listing, by a store that was opened for it alone."""
    found: dict[str, dict[str, float]] = {}
    for name, wanted in filters(rows).items():
        store = open_store(path)
        times: list[float] = []
        for _ in range(_ROUNDS):
            begin = time.perf_counter()
            await store.read(listing.newest, wanted, None, _LISTED, listing.BOUND)
            times.append((time.perf_counter() - begin) * 1000)
        store.close()
        found[name] = {"median": round(statistics.median(times), 2), "first": round(times[0], 2)}
    return found
