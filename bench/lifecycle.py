"""What hundreds of servers cost, and what is left of them: starts, a cap on how many run, crashes, a kill.

The servers that run are the stub servers of the tests; those that are only configured are recorded catalogs.
Processes are counted by walking /proc, so all of this needs Linux.
"""

import asyncio
import os
import platform
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.gateway_start import measure_start
from bench.lifecycle_cap import measure_cap, measure_kill
from bench.lifecycle_soak import Soak, measure_soak
from bench.lifecycle_starts import measure_probe, measure_storm
from bench.report import Spread, Target, arguments, data_option, emit, read_catalogs


def measure(options: Namespace) -> dict[str, Any]:
    """All figures; the soak comes first, whose memory is this process's own."""
    figures: dict[str, Any] = {
        "machine": f"Python {platform.python_version()}, mcp {version('mcp')}, {os.cpu_count()} cores"
    }
    with TemporaryDirectory(prefix="toolcrib-bench-") as name:
        folder = Path(name)
        soak = Soak(options.calls, options.soak_servers, options.flaky, options.seed)
        figures["soak"] = asyncio.run(measure_soak(folder, soak))
        figures["cap"] = asyncio.run(measure_cap(folder, options.running, options.cap))
        figures["kill"] = measure_kill(folder, options.cap)
        figures["storm"] = asyncio.run(measure_storm(folder, options.storm))
        figures["probe"] = asyncio.run(measure_probe(folder, options.probe_wait))
    start = measure_start(read_catalogs(options.data), options.servers, options.starts)
    figures["start"] = {key: asdict(value) if isinstance(value, Spread) else value for key, value in start.items()}
    return figures


def targets(figures: Mapping[str, Any]) -> list[Target]:
    """The budgets of the figures."""
    start, cap, kill, soak = (figures[name] for name in ("start", "cap", "kill", "soak"))
    storm, probe = figures["storm"], figures["probe"]
    many = f"{start['servers']} servers configured"
    called = f"{cap['servers']} servers called once, {cap['cap']} may run"
    soaked = f"soak of {soak['calls']:,} calls, {soak['flaky']} of {soak['servers']} servers flaky"
    return [
        Target(f"{many}: first tools/list, against a bare server", start["over_bare"], "×", 1.3),
        Target(f"{many}: first search after that", start["first_search_ms"]["median"], "ms", 500),
        Target(f"{many}: servers started by then", start["children"], "processes", 0),
        Target(f"{many}: memory", start["memory_mb"], "MB", 130),
        Target(f"{called}: most at one time", cap["most_processes"], "processes", cap["cap"]),
        Target(f"{called}: calls without an answer", cap["unanswered"], "calls", 0),
        Target(f"{called}: left after close", cap["left_after_close"], "processes", 0),
        Target(f"kill -9 with {kill['processes']} processes: until none is left", kill["seconds"], "s", 2),
        Target(f"{soaked}: calls without a result or clear error", len(soak["unclear"]), "calls", 0),
        Target(f"{soaked}: calls past their deadline", soak["late"], "calls", 0),
        Target(f"{soaked}: memory at the end, against a tenth of the way", soak["memory_ratio"], "×", 1.1),
        *(Target(f"{soaked}: {held} left over", count, held, 0) for held, count in soak["leaked"].items()),
        Target(f"{soaked}: left after close", soak["left_after_close"], "processes", 0),
        Target(f"{storm['calls']} first calls at once: starts beyond the first", storm["starts"] - 1, "starts", 0),
        Target(f"{storm['calls']} first calls at once: without an answer", storm["unanswered"], "calls", 0),
        Target("a server silent to the probe: probes in three starts", probe["probes"], "probes", 1),
        Target(
            "a server silent to the probe: a later start, against the wait",
            round(probe["later_start_seconds"] / probe["wait_seconds"], 3),
            "×",
            0.5,
        ),
    ]


def _options() -> ArgumentParser:
    parser = arguments(__doc__ or "")
    data_option(parser)
    parser.add_argument("--servers", type=int, default=300, help="servers configured for the start")
    parser.add_argument("--starts", type=int, default=5, help="starts measured")
    parser.add_argument("--running", type=int, default=50, help="servers called once each")
    parser.add_argument("--cap", type=int, default=10, help="how many of them may run")
    parser.add_argument("--calls", type=int, default=10_000, help="calls of the soak")
    parser.add_argument("--soak-servers", type=int, default=20, help="servers of the soak")
    parser.add_argument("--flaky", type=int, default=5, help="how many of them misbehave at random")
    parser.add_argument("--seed", type=int, default=7, help="of all chance in the soak")
    parser.add_argument("--storm", type=int, default=200, help="first calls at once")
    parser.add_argument("--probe-wait", type=float, default=3.0, help="seconds that the era probe waits")
    return parser


def main() -> None:
    options = _options().parse_args()
    figures = measure(options)
    emit("lifecycle", figures, targets(figures), as_json=options.json)


if __name__ == "__main__":
    main()
