"""What many clients at once cost over HTTP: errors, lost and crossed answers, memory, and time.

The same clients, in a process of their own, ask a bare server of the SDK and Toolcrib in front of it, in turns. Each
carries what tells its answer from any other. One at a time, FastMCP's proxy is measured beside them.
"""

import asyncio
import json
import os
import platform
import statistics
import sys
from argparse import ArgumentParser, Namespace
from contextlib import AsyncExitStack
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.gateway_calls import measure_calls
from bench.peers import NoPeerError, Peer, fastmcp
from bench.processes import BARE, ROOT, TOOLCRIB, cpu_seconds, environment, resident_mb, running, url_of
from bench.report import Target, arguments, emit

_TOOL = "bare.echo"
_SLICES = 6
"""Turns into which the time under load is cut."""

_WARM_UP = 1.0


async def under_load(clients: int, seconds: float) -> dict[str, Any]:
    """What the clients saw of a bare server and of Toolcrib, in turns.

    Args:
        clients: At the same time.
        seconds: That Toolcrib is under load, in all.
    """
    each = seconds / _SLICES
    seen: dict[str, list[dict[str, Any]]] = {"bare": [], "toolcrib": []}
    memory: list[float] = []
    with TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        async with AsyncExitStack() as stack:
            bare = await stack.enter_async_context(running([*BARE, "http"], environment()))
            urls = {"bare": await url_of(bare)}
            # A server of its own behind it, as slow and as busy as the bare one.
            behind = await stack.enter_async_context(running([*BARE, "http"], environment()))
            config = _write_config(Path(folder), await url_of(behind))
            command = [*TOOLCRIB, "serve", "--http", "127.0.0.1:0", "--json", "--config", config]
            gateway = await stack.enter_async_context(running(command, _own_state(Path(folder))))
            urls["toolcrib"] = await url_of(gateway)
            for name in urls:
                await _clients(urls[name], name, clients, _WARM_UP)
            memory.append(resident_mb(gateway.pid))
            pids = {"bare": [bare.pid], "toolcrib": [gateway.pid, behind.pid], "toolcrib alone": [gateway.pid]}
            begun = {name: sum(map(cpu_seconds, each)) for name, each in pids.items()}
            for turn in range(_SLICES):
                for name in ("bare", "toolcrib") if turn % 2 else ("toolcrib", "bare"):
                    seen[name].append(await _clients(urls[name], name, clients, each))
                memory.append(resident_mb(gateway.pid))
            spent = {name: sum(map(cpu_seconds, each)) - begun[name] for name, each in pids.items()}
    return _figures(seen, memory, spent)


async def _clients(url: str, name: str, clients: int, seconds: float) -> dict[str, Any]:
    tool = "echo" if name == "bare" else _TOOL
    command = [sys.executable, "-m", "bench.load.clients", url, tool, str(clients), str(seconds)]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=environment(), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"the clients of {name} ended with {process.returncode}")
    return json.loads(out)


def _figures(seen: dict[str, list[dict[str, Any]]], memory: list[float], spent: dict[str, float]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, turns in seen.items():
        errors: dict[str, int] = {}
        for turn in turns:
            for what, count in turn["errors"].items():
                errors[what] = errors.get(what, 0) + count
        figures[name] = {
            "answers": sum(turn["answers"] for turn in turns),
            "errors": errors,
            "crossed": sum(turn["crossed"] for turn in turns),
            "median_ms": round(statistics.median([each for turn in turns for each in turn["milliseconds"]]), 2),
            "largest_ms": round(max(each for turn in turns for each in turn["milliseconds"]), 1),
        }
    medians = {name: [statistics.median(turn["milliseconds"]) for turn in turns] for name, turns in seen.items()}
    pairs = zip(medians["toolcrib"], medians["bare"], strict=True)
    figures["over_bare"] = round(statistics.median(one / other for one, other in pairs), 2)
    # What doesn't depend on how many cores are free: the processes of a way share them with the clients.
    cpu = {name: 1000 * each / max(1, figures[name.split()[0]]["answers"]) for name, each in spent.items()}
    figures["cpu_ms_per_answer"] = {name: round(each, 2) for name, each in cpu.items()}
    figures["cpu_over_bare"] = round(cpu["toolcrib alone"] / cpu["bare"], 2) if cpu["bare"] else 0.0
    figures["memory_mb"] = memory
    half = len(memory) // 2
    figures["memory_growth_mb"] = round(statistics.mean(memory[half + 1 :]) - statistics.mean(memory[1 : half + 1]), 1)
    return figures


def _targets(load: dict[str, Any], single: dict[str, Any], clients: int) -> list[Target]:
    crib = load["toolcrib"]
    about = f"{clients} clients at once"
    targets = [
        Target(f"errors, {about}", sum(crib["errors"].values()), "errors", 0),
        Target(f"crossed answers, {about}", crib["crossed"], "answers", 0),
        Target(f"memory that it grew by, {about}", max(0.0, load["memory_growth_mb"]), "MB", 10),
        Target(f"a call, {about}, against the SDK under the same load", load["over_bare"], "×", 3),
        Target("a call, one at a time, against the SDK", single["toolcrib_over_direct"], "×", 2.2),
    ]
    if "toolcrib_over_fastmcp" in single:
        ratio = single["toolcrib_over_fastmcp"]
        targets.append(Target("a call, one at a time, against FastMCP's proxy", ratio, "×", 0.2))
    return targets


def measure(options: Namespace) -> tuple[dict[str, Any], list[Target]]:
    peer, about = _peer(wanted=options.peers)
    single = asyncio.run(measure_calls("http", "auto", peer, options.calls, options.rounds))
    load = asyncio.run(under_load(options.clients, options.seconds))
    figures = {
        "machine": f"Python {platform.python_version()}, mcp {version('mcp')}, {os.cpu_count()} cores",
        "peer": about,
        "clients": options.clients,
        "seconds": options.seconds,
        "one at a time": {name: each for name, each in single.items() if isinstance(each, float)},
        **load,
    }
    return figures, _targets(load, single, options.clients)


def _peer(*, wanted: bool) -> tuple[Peer | None, str]:
    if not wanted:
        return None, "left out (--no-peers)"
    try:
        peer = fastmcp()
    except NoPeerError as error:
        return None, f"left out: {error}"
    return peer, f"FastMCP {peer.version} on mcp {peer.sdk}, `fastmcp run`"


def _write_config(folder: Path, url: str) -> str:
    path = folder / "mcp.json"
    entry = {"url": url, "toolcrib": {"effects": {"echo": "read"}}}
    path.write_text(json.dumps({"mcpServers": {"bare": entry}}), encoding="utf-8")
    return str(path)


def _own_state(folder: Path) -> dict[str, str]:
    return environment(TOOLCRIB_STATE_DIR=str(folder / "state"), TOOLCRIB_CONFIG_DIR=str(folder / "config"))


def _options() -> ArgumentParser:
    parser = arguments(__doc__ or "")
    parser.add_argument("--clients", type=int, default=200, help="clients at the same time")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long Toolcrib is under load")
    parser.add_argument("--calls", type=int, default=300, help="calls one at a time, by each way")
    parser.add_argument("--rounds", type=int, default=5, help="rounds over which they are spread")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="leave FastMCP out")
    return parser


def main() -> None:
    options = _options().parse_args()
    figures, targets = measure(options)
    emit("load", figures, targets, as_json=options.json)


if __name__ == "__main__":
    main()
