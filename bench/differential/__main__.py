"""Measures whether anything is lost on the way: `python -m bench.differential [--calls N] [--seed N] [--json]`.

A settled sequence of calls over the ten real servers that `make real` installs is made straight by the SDK's client,
and then through Toolcrib: by its profile `all` in both eras, by `call_tool`, and from scripts. Each way has servers of
its own that begin with the same files, so each call has one right answer: the server's own. Content, structured
content, errors and the number of progress reports are compared.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from bench.differential.comparing import differences
from bench.differential.plan import Planned, planned
from bench.differential.servers import INSTALLED, entries, furnish, pages
from bench.differential.ways import Answer, Kind, Mode, names_of, way
from bench.report import Target, arguments, emit

CALLS = 500
SEED = 20_261_130

WAYS: list[tuple[str, Kind, Mode]] = [
    ("all", "all", "auto"),
    ("all_handshake", "all", "legacy"),
    ("call_tool", "call_tool", "auto"),
    ("script", "script", "auto"),
]


async def compare(calls: int, seed: int, place: Path, only: Collection[str] = ()) -> dict[str, Any]:
    """Make the calls by every way; what came of it.

    Args:
        calls: How many by each way.
        seed: Settles them.
        place: An empty folder.
        only: The keys of the servers to call; all of them unless given.
    """
    found: dict[str, list[str]] = {}
    with pages() as address:
        servers = {key: entry for key, entry in entries(INSTALLED, place / "work").items() if not only or key in only}
        plan = planned(seed, calls, place / "work", address, servers)
        names = names_of(servers)

        async def run(name: str, kind: Kind, mode: Mode) -> list[Answer]:
            furnish(place / "work")
            async with way(kind, mode, servers, place / name, names) as call:
                return [await call(each) for each in plan]

        straight = await run("direct", "direct", "auto")
        for name, kind, mode in WAYS:
            answers = await run(name, kind, mode)
            found[name] = [
                f"call {number}, {_told(each)}: {difference}"
                for number, (each, direct, other) in enumerate(zip(plan, straight, answers, strict=True))
                for difference in differences(kind, direct, other)
            ]
    failed = sum(each.error is not None or bool((each.result or {}).get("isError")) for each in straight)
    return {
        "calls": len(plan),
        "by_server": dict(Counter(each.server for each in plan)),
        "tools": len({(each.server, each.tool) for each in plan}),
        "errors": failed,
        "progress_reports": sum(each.progress for each in straight),
        "differences": found,
    }


def _told(call: Planned) -> str:
    return f"{call.server} {call.tool} {str(call.arguments)[:200]}"


def main() -> int:
    """Run and print; 1 where anything differs."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--calls", type=int, default=CALLS, help="calls by each way")
    parser.add_argument("--seed", type=int, default=SEED, help="settles the calls")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        figures = asyncio.run(compare(given.calls, given.seed, Path(folder).resolve()))
    found: dict[str, list[str]] = figures["differences"]
    targets = [Target(f"differences by {name}", len(each), "calls", 0) for name, each in found.items()]
    if not given.json:
        figures["differences"] = {name: "".join(f"\n    {line}" for line in each) for name, each in found.items()}
    emit("differential", figures, targets, as_json=given.json)
    return 0 if all(target.met for target in targets) else 1


if __name__ == "__main__":
    raise SystemExit(main())
