"""What the search must reach, beside what it reached; only for what was measured."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from bench.report import Target

Column = tuple[str, str]
"""A set, and the kind of its requests; the kind is empty for all."""


class Goal(NamedTuple):
    """What one column must reach in percent, with keyword search and with hybrid search."""

    keyword: float
    hybrid: float


STRATEGIES = ("keyword", "hybrid")

RECALL: Mapping[Column, Goal] = {
    ("mcp-union", "authored"): Goal(81, 90),
    ("mcp-union", "mcpverse"): Goal(33, 40),
    ("mcp-union", ""): Goal(53, 60),
    ("livemcpbench", ""): Goal(43, 46),
    ("etom", ""): Goal(93, 93),
    ("azure-mcp", ""): Goal(97, 98),
    ("toolbench-stable", ""): Goal(73, 75),
    ("seal-tools", ""): Goal(89, 92),
    ("metatool", ""): Goal(66, 76),
    ("mcpproxy-golden", ""): Goal(82, 88),
}
"""R@5 on the dev halves."""

MEAN = Goal(70, 74)

AVERAGED: Sequence[Column] = (
    ("mcp-union", "authored"),
    ("mcp-union", "mcpverse"),
    ("mcp-union", "livemcpbench"),
    *((name, "") for name, kind in RECALL if not kind and name != "mcp-union"),
)
"""The ten columns that the means are over, so that a small set counts like a large one."""

GAIN: Mapping[Column, Goal] = {
    ("mcp-union", "authored"): Goal(66.3, 74.6),
    ("mcp-union", "mcpverse"): Goal(11.0, 31.3),
    ("mcp-union", "livemcpbench"): Goal(21.1, 24.9),
    ("mcp-union", ""): Goal(41.7, 50.8),
    ("livemcpbench", ""): Goal(40.0, 42.3),
    ("etom", ""): Goal(87.9, 89.6),
    ("azure-mcp", ""): Goal(84.9, 90.5),
    ("toolbench-stable", ""): Goal(67.7, 68.8),
    ("seal-tools", ""): Goal(85.4, 85.4),
    ("metatool", ""): Goal(56.4, 67.4),
    ("mcpproxy-golden", ""): Goal(68.1, 83.0),
}
"""nDCG@10 on the dev halves: plain BM25 for keyword search; the best of BM25, MiniLM and their fusion for hybrid."""

_AREA = {"keyword": 0.97, "hybrid": 0.99}
_QUERY_MS = {("keyword", "etom"): 1.0, ("keyword", "mcp-union"): 2.0, ("hybrid", "mcp-union"): 15.0}
_TYPOS_LOST = 5.0

Results = Sequence[Mapping[str, Any]]


def value(rows: Iterable[Mapping[str, Any]], strategy: str, column: Column, measure: str) -> float | None:
    """What a strategy reached in a column; None where that was not measured."""
    for row in rows:
        if (row["strategy"], row["set"], row.get("kind", "")) == (strategy, *column):
            return row[measure]
    return None


def mean(rows: Sequence[Mapping[str, Any]], strategy: str, measure: str) -> float | None:
    """The mean over the ten columns; None where one of them was not measured."""
    values = [value(rows, strategy, column, measure) for column in AVERAGED]
    known = [each for each in values if each is not None]
    return round(statistics.mean(known), 2) if len(known) == len(values) else None


def targets(results: Results, rows: Sequence[Mapping[str, Any]], peers: Sequence[str] = ()) -> list[Target]:
    """The targets of what was measured.

    Args:
        results: What was measured of each strategy over each set.
        rows: The rows of the strategies, and of the peers.
        peers: The names under which peers are among the rows.
    """
    found: list[Target] = []
    for strategy in STRATEGIES:
        for measure, goals, mean_goal in (("R@5", RECALL, MEAN), ("nDCG@10", GAIN, None)):
            for column, goal in goals.items():
                reached = value(rows, strategy, column, measure)
                _add(found, f"{measure} {strategy}, {shown(column)}", reached, "%", getattr(goal, strategy))
            if mean_goal is not None:
                reached = mean(rows, strategy, measure)
                _add(found, f"{measure} {strategy}, mean of ten", reached, "%", getattr(mean_goal, strategy))
    for result in results:
        if result["strategy"] in STRATEGIES:
            found += _of_one(result)
    return found + _against_peers(rows, peers)


def shown(column: Column) -> str:
    """A column's name."""
    name, kind = column
    return f"{name} {kind}" if kind else f"{name} all" if name == "mcp-union" else name


def _of_one(result: Mapping[str, Any]) -> list[Target]:
    """The targets beside rank measures: confidence, typing errors, time, steps."""
    found: list[Target] = []
    strategy, name = result["strategy"], result["set"]
    if name == "etom":
        areas = {each["requests"]: each.get("AUC") for each in result["abstention"]}
        _add(found, f"AUC {strategy}, etom impossible requests", areas.get("impossible"), "", _AREA[strategy])
    if "typos" in result:
        _add(found, f"R@5 lost to typos, {strategy}, {name}", result["typos"]["lost"], "points", _TYPOS_LOST, "lower")
    budget = _QUERY_MS.get((strategy, name))
    if budget is not None:
        about = f"query p50 {strategy}, {result['tools']:,} tools"
        _add(found, about, result["cost"]["query_p50_ms"], "ms", budget, "lower")
    if name == "livemcpbench":
        for row in result.get("steps", ()):
            more = round(row["steps recall"] - row["whole recall"], 2)
            _add(found, f"steps over the whole task, {strategy}, {row['hits']}", more, "points", 0.01)
    return found


def _against_peers(rows: Sequence[Mapping[str, Any]], peers: Sequence[str]) -> list[Target]:
    """R@5 against the best peer, column by column; a peer that answered only a part of the requests is left out."""
    found: list[Target] = []
    columns = dict.fromkeys((row["set"], row.get("kind", "")) for row in rows)
    for strategy in STRATEGIES:
        for column in columns:
            reached = value(rows, strategy, column, "R@5")
            asked = value(rows, strategy, column, "queries")
            whole = [peer for peer in peers if value(rows, peer, column, "queries") == asked]
            theirs = [(each, peer) for peer in whole if (each := value(rows, peer, column, "R@5")) is not None]
            if reached is not None and theirs:
                best, peer = max(theirs)
                _add(found, f"R@5 {strategy} against the best peer ({peer}), {shown(column)}", reached, "%", best)
    return found


def _add(
    found: list[Target],
    name: str,
    reached: float | None,
    unit: str,
    target: float,
    better: Literal["lower", "higher"] = "higher",
) -> None:
    if reached is not None:
        found.append(Target(name, reached, unit, target, better))
