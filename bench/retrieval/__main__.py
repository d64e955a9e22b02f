"""How often search finds the right tool, how sure it is, and what it costs, over labelled sets of requests.

`--data` names a folder of sets, or one set; README.md of the sets tells their form. Each strategy is measured over
each set in a process of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.processes import ROOT, environment
from bench.report import arguments
from bench.retrieval.peers import measure_peers
from bench.retrieval.sets import set_folders
from bench.retrieval.tables import print_peers, print_strategy, print_targets
from bench.retrieval.targets import targets

_DEFAULT = ("keyword", "hybrid")
_DATA = ROOT.parent / "shared" / "data" / "retrieval"


def measure(folder: Path, strategy: str, most: int, kept: str) -> dict[str, Any]:
    """What is measured of a strategy over a set; `{"unavailable": reason}` or `{"failed": reason}` if nothing is."""
    command = [sys.executable, "-m", "bench.retrieval.worker", str(folder), strategy, str(most), kept]
    with tempfile.TemporaryDirectory() as state:
        env = environment(TOOLCRIB_STATE_DIR=state)
        ran = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        return {"failed": (ran.stderr.strip().splitlines() or [f"ended with {ran.returncode}"])[-1]}
    return json.loads(ran.stdout)


def measure_all(
    folders: Sequence[Path], strategies: Sequence[str], most: int, kept: str
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """What was measured, and why strategies, or single sets of one, were skipped."""
    results: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    for strategy in strategies:
        for folder in folders:
            sys.stderr.write(f"{strategy}: {folder.name} …\n")
            result = measure(folder, strategy, most, kept)
            if "unavailable" in result:
                skipped[strategy] = result["unavailable"]
                break
            if "failed" in result:
                skipped[f"{strategy}, {folder.name}"] = result["failed"]
                continue
            results.append(result)
    return results, skipped


def rows_of(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of all results, each with its set and strategy."""
    return [
        {"set": result["set"], **_kind(row), "strategy": result["strategy"], **row}
        for result in results
        for row in result["rows"]
    ]


def _kind(row: Mapping[str, Any]) -> dict[str, str]:
    return {"kind": row["kind"]} if "kind" in row else {}


def _names(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name.strip() for value in values for name in value.split(",") if name.strip()))


def _options() -> argparse.ArgumentParser:
    parser = arguments(__doc__ or "")
    parser.add_argument("--data", type=Path, default=_DATA, help="a folder of labelled sets, or one set")
    parser.add_argument("--strategy", action="append", default=[], help="repeated or with commas; keyword,hybrid")
    parser.add_argument("--sets", action="append", default=[], help="only these sets, repeated or with commas")
    parser.add_argument("--limit-queries", type=int, default=0, metavar="N", help="at most N requests a set")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep vectors there between runs; else they are new")
    parser.add_argument(
        "--peers",
        nargs="?",
        const="",
        metavar="NAMES",
        help="also the search of other projects, installed on demand: all, or those named with commas",
    )
    return parser


def main() -> None:
    options = _options().parse_args()
    folders = set_folders(options.data, _names(options.sets))
    strategies = _names(options.strategy) or list(_DEFAULT)
    kept = str(options.keep.resolve()) if options.keep else ""
    results, skipped = measure_all(folders, strategies, options.limit_queries, kept)
    rows = rows_of(results)
    peers = None
    if options.peers is not None:
        peers = measure_peers(folders, options.limit_queries, _names([options.peers]))
    peer_rows = [] if peers is None else peers.rows
    peer_names = [] if peers is None else list(peers.versions)
    met = targets(results, [*rows, *peer_rows], peer_names)
    if options.json:
        document = {
            "bench": "retrieval",
            "data": str(options.data),
            "cores": os.cpu_count(),
            "rows": [*rows, *peer_rows],
            "figures": [{key: each for key, each in result.items() if key != "rows"} for result in results],
            "skipped": skipped,
            "peers": None if peers is None else {"versions": peers.versions, "left_out": peers.left_out},
            "targets": [{**asdict(each), "met": each.met} for each in met],
        }
        json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
        sys.stdout.write("\n")
        return
    measured = [name for name in strategies if any(result["strategy"] == name for result in results)]
    for strategy in measured:
        print_strategy(strategy, rows, results)
    for strategy, reason in skipped.items():
        sys.stdout.write(f"\nskipped: {strategy}: {reason}\n")
    if peers is not None:
        print_peers([*rows, *peer_rows], [*measured, *peer_names], peers.left_out)
    print_targets(met)


if __name__ == "__main__":
    main()
