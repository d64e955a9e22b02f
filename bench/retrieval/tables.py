"""The figures for a person."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.report import Target
from bench.retrieval.metrics import NAMES
from bench.retrieval.targets import AVERAGED, mean, shown, value

Row = Mapping[str, Any]


def print_strategy(strategy: str, rows: Sequence[Row], results: Sequence[Row]) -> None:
    """One table of ranks, then what else was measured of the same strategy."""
    mine = [row for row in rows if row["strategy"] == strategy]
    head = ("set", "queries", *NAMES[:2], "(95 %)", *NAMES[2:])
    lines = [_ranks(shown((row["set"], row.get("kind", ""))), row) for row in mine]
    means = {name: mean(rows, strategy, name) for name in NAMES}
    if means["R@5"] is not None:
        lines.append(("mean of ten", "", *_middle([f"{means[name]:.1f}" for name in NAMES], "")))
    print_table(f"{strategy}: share of needed tools found, in percent", head, lines)
    given = [result for result in results if result["strategy"] == strategy]
    print_table(
        f"{strategy}: cost",
        ("set", "tools", "index s", "vectors s", "query p50 ms", "p95 ms", "process MB", "of it index MB"),
        [(r["set"], f"{r['tools']:,}", *map(str, _cost(r["cost"]))) for r in given],
    )
    print_table(
        f'{strategy}: "probably nothing here does this"',
        ("set", "requests", "queries", "AUC", "marked %", "possible ones marked %"),
        [
            (
                r["set"],
                a["requests"],
                str(a["queries"]),
                str(a.get("AUC", "")),
                str(a.get("marked", "")),
                str(a["wrongly_marked"]),
            )
            for r in given
            for a in r["abstention"]
        ],
    )
    print_table(
        f"{strategy}: median tokens of an answer with eight hits, by detail",
        ("set", *given[0]["tokens"]),
        [(r["set"], *(f"{count:g}" for count in r["tokens"].values())) for r in given],
    )
    for result in given:
        _print_extras(result)


def print_peers(rows: Sequence[Row], names: Iterable[str], left_out: Mapping[str, str]) -> None:
    """R@5 of every strategy and peer, column by column; `~` where a slow peer answered only a part."""
    names = list(names)
    columns = list(dict.fromkeys((row["set"], row.get("kind", "")) for row in rows))
    lines: list[tuple[str, ...]] = []
    for column in columns:
        reached = [value(rows, name, column, "R@5") for name in names]
        asked = [value(rows, name, column, "queries") or 0 for name in names]
        part = ["~" if count < max(asked) else "" for count in asked]
        cells = ("" if each is None else f"{sign}{each:.1f}" for each, sign in zip(reached, part, strict=True))
        lines.append((shown(column), *cells))
    if all(column in columns for column in AVERAGED):
        means = [mean(rows, name, "R@5") for name in names]
        lines.append(("mean of ten", *("" if each is None else f"{each:.1f}" for each in means)))
    print_table("R@5 beside the peers, in percent", ("set", *names), lines)
    for name, reason in left_out.items():
        sys.stdout.write(f"left out: {name}: {reason}\n")


def print_targets(targets: Iterable[Target]) -> None:
    """What was to be reached, beside what was."""
    lines = [
        (
            each.name,
            f"{each.value:g}",
            f"{'≤' if each.better == 'lower' else '≥'} {each.target:g}",
            each.unit,
            "met" if each.met else "NOT MET",
        )
        for each in targets
    ]
    print_table("targets", ("what", "value", "target", "unit", ""), lines)


def print_table(title: str, head: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """A table whose first column is text and whose others are figures; nothing when it has no lines."""
    if not lines:
        return
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    sys.stdout.write(f"\n{title}\n")
    for line in (head, *lines):
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
        ]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _ranks(name: str, row: Row) -> tuple[str, ...]:
    low, high = row["R@5 interval"]
    return (name, str(row["queries"]), *_middle([f"{row[each]:.1f}" for each in NAMES], f"{low:.0f}–{high:.0f}"))


def _middle(values: Sequence[str], between: str) -> tuple[str, ...]:
    return (*values[:2], between, *values[2:])


def _cost(cost: Row) -> list[float | str]:
    columns = ("index_s", "vectors_s", "query_p50_ms", "query_p95_ms", "memory_mb", "memory_of_index_mb")
    return [cost.get(key, "") for key in columns]


def _print_extras(result: Row) -> None:
    if typos := result.get("typos"):
        sys.stdout.write(
            f"\n{result['strategy']}, {result['set']}, one edit in each word of four letters or more: "
            f"R@5 {typos['R@5']:.1f} in place of {typos['R@5 clean']:.1f}, {typos['lost']:.1f} points lost\n"
        )
    if steps := result.get("steps"):
        print_table(
            f"{result['strategy']}, {result['set']}: the steps of a task on lines of their own, against the whole task",
            ("hits", "tools", "recall: steps", "whole", "complete: steps", "whole"),
            [
                (
                    row["hits"],
                    str(row["tools"]),
                    *(f"{row[f'{way} {what}']:.1f}" for what in ("recall", "complete") for way in ("steps", "whole")),
                )
                for row in steps
            ],
        )
