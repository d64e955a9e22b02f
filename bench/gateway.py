"""What the gateway costs: one call through it, its start, and its first search.

A call is measured against the same call made directly with the SDK, and against FastMCP's proxy, all in the
same run; the start with many configured servers against that of a bare server on the SDK.
"""

import asyncio
import os
import platform
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from bench.gateway_calls import Mode, Transport, measure_calls
from bench.gateway_start import measure_start
from bench.peers import NoPeerError, Peer, fastmcp
from bench.report import Spread, Target, arguments, data_option, emit, read_catalogs

_TRANSPORTS: tuple[Transport, ...] = ("http", "stdio")


def measure(options: Namespace, catalogs: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], list[Target]]:
    peer, about = _peer(wanted=options.peers)
    figures: dict[str, Any] = {
        "machine": f"Python {platform.python_version()}, mcp {version('mcp')}, {os.cpu_count()} cores",
        "peer": about,
    }
    modes: tuple[Mode, ...] = ("auto", "legacy") if options.legacy else ("auto",)
    for mode in modes:
        for transport in _TRANSPORTS:
            name = transport if mode == "auto" else f"{transport}_{mode}"
            found = asyncio.run(measure_calls(transport, mode, peer, options.calls, options.rounds))
            figures[name] = _plain(found)
    start = measure_start(catalogs, options.servers, options.starts)
    figures["start"] = _plain(start)
    return figures, _targets(figures["http"], figures["start"])


def _targets(http: dict[str, Any], start: dict[str, Any]) -> list[Target]:
    about = f"{start['servers']} servers, {start['tools']:,} tools"
    targets = [Target("a call over HTTP, against the SDK alone", http["toolcrib_over_direct"], "×", 2.2)]
    if "toolcrib_over_fastmcp" in http:
        targets.append(Target("a call over HTTP, against FastMCP's proxy", http["toolcrib_over_fastmcp"], "×", 0.2))
    return [
        *targets,
        Target(f"first tools/list, {about}, against a bare server", start["over_bare"], "×", 1.3),
        Target("memory after it", start["memory_mb"], "MB", 130),
        Target("processes started by then", start["children"], "processes", 0),
        Target("first search after that", start["first_search_ms"]["median"], "ms", 500),
    ]


def _peer(*, wanted: bool) -> tuple[Peer | None, str]:
    if not wanted:
        return None, "left out (--no-peers)"
    try:
        peer = fastmcp()
    except NoPeerError as error:
        return None, f"left out: {error}"
    return peer, f"FastMCP {peer.version} on mcp {peer.sdk}, `fastmcp run`"


def _plain(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {key: asdict(value) if isinstance(value, Spread) else value for key, value in figures.items()}


def _options() -> ArgumentParser:
    parser = arguments(__doc__ or "")
    data_option(parser)
    parser.add_argument("--calls", type=int, default=300, help="calls by each way")
    parser.add_argument("--rounds", type=int, default=5, help="rounds over which they are spread")
    parser.add_argument("--servers", type=int, default=300, help="servers configured for the start")
    parser.add_argument("--starts", type=int, default=7, help="starts measured")
    parser.add_argument("--legacy", action="store_true", help="also with the handshake of older clients")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="leave FastMCP out")
    return parser


def main() -> None:
    options = _options().parse_args()
    figures, targets = measure(options, read_catalogs(options.data))
    emit("gateway", figures, targets, as_json=options.json)


if __name__ == "__main__":
    main()
