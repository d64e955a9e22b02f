"""The time of one call: straight to a server, through Toolcrib's gateway, and through FastMCP's proxy.

All ways stand open side by side and take turns within each round, so that whatever else the machine does
hits them alike. A ratio is the median over the rounds of the ratio of two ways' medians in the same round.
"""

import json
import os
import statistics
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TextIO

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from bench.peers import Peer
from bench.processes import BARE, TOOLCRIB, environment, free_port, listening, serving
from bench.report import Spread, ratio
from bench.upstream import ECHO

Transport = Literal["http", "stdio"]
Mode = Literal["auto", "legacy"]

_SERVER = "bare"
_ECHOED = {"text": "The quick brown fox jumps over the lazy dog."}
_WARM_UP = 10


@dataclass(frozen=True)
class Way:
    """One way to the tool: a connected client, and what it calls."""

    client: Client
    tool: str = ECHO

    @property
    def arguments(self) -> dict[str, Any]:
        return _ECHOED if self.tool == ECHO else {"name": f"{_SERVER}.{ECHO}", "arguments": _ECHOED}


async def measure_calls(transport: Transport, mode: Mode, peer: Peer | None, calls: int, rounds: int) -> dict[str, Any]:
    """Milliseconds of one call by way, and the ratios between the ways.

    Args:
        transport: Between client and gateway, and between gateway and server.
        mode: The protocol era that the clients speak.
        peer: FastMCP, or None to leave it out.
        calls: Calls by each way, over all rounds.
        rounds: Over which the calls are spread.
    """
    open_ways = _http_ways if transport == "http" else _stdio_ways
    each_round = max(1, calls // rounds)
    times: dict[str, list[list[float]]] = {}
    with TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        async with open_ways(Path(folder), mode, peer) as ways:
            for way in ways.values():
                await way.client.list_tools()
                await _timed(way, _WARM_UP)
            for turn in range(rounds):
                names = list(ways)
                for name in names[turn % len(names) :] + names[: turn % len(names)]:
                    times.setdefault(name, []).append(await _timed(ways[name], each_round))
    figures: dict[str, Any] = {
        f"{name}_ms": Spread.of([each for part in times[name] for each in part]) for name in ways
    }
    figures["toolcrib_over_direct"] = _ratio(times["toolcrib"], times["direct"])
    if "fastmcp" in times:
        figures["fastmcp_over_direct"] = _ratio(times["fastmcp"], times["direct"])
        figures["toolcrib_over_fastmcp"] = _ratio(times["toolcrib"], times["fastmcp"])
    return figures


async def _timed(way: Way, calls: int) -> list[float]:
    times: list[float] = []
    for _ in range(calls):
        begin = time.perf_counter()
        result = await way.client.call_tool(way.tool, way.arguments)
        times.append((time.perf_counter() - begin) * 1000)
        if result.is_error or getattr(result.content[0], "text", None) != _ECHOED["text"]:
            raise RuntimeError(f"{way.tool} did not echo: {result}")
    return times


def _ratio(measured: list[list[float]], base: list[list[float]]) -> float:
    return ratio([statistics.median(each) for each in measured], [statistics.median(each) for each in base])


@asynccontextmanager
async def _http_ways(folder: Path, mode: Mode, peer: Peer | None) -> AsyncGenerator[dict[str, Way]]:
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving([*BARE, "http"], environment()))
        config = _write_config(folder, {"url": url})
        gateway = await stack.enter_async_context(
            serving([*TOOLCRIB, "serve", "--http", "127.0.0.1:0", "--json", "--config", config], _own_state(folder))
        )
        targets = {"direct": url, "toolcrib": gateway}
        if peer is not None:
            port = free_port()
            await stack.enter_async_context(listening(peer.serve_http(url, port), environment(), port))
            targets["fastmcp"] = f"http://127.0.0.1:{port}/mcp"
        yield {name: await _way(stack, name, Client(target, mode=mode)) for name, target in targets.items()}


@asynccontextmanager
async def _stdio_ways(folder: Path, mode: Mode, peer: Peer | None) -> AsyncGenerator[dict[str, Way]]:
    bare = [*BARE, "stdio"]
    config = _write_config(folder, {"command": bare[0], "args": bare[1:], "env": environment()})
    commands = {"direct": bare, "toolcrib": [*TOOLCRIB, "serve", "--config", config]}
    if peer is not None:
        commands["fastmcp"] = peer.serve_stdio(config)
    async with AsyncExitStack() as stack:
        silence = stack.enter_context(_silence())
        ways: dict[str, Way] = {}
        for name, (command, *args) in commands.items():
            start = StdioServerParameters(command=command, args=args, env=_own_state(folder))
            ways[name] = await _way(stack, name, Client(stdio_client(start, silence), mode=mode))
        yield ways


@contextmanager
def _silence() -> Generator[TextIO]:
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        yield nowhere


async def _way(stack: AsyncExitStack, name: str, client: Client) -> Way:
    await stack.enter_async_context(client)
    return Way(client, "call_tool") if name == "toolcrib" else Way(client)


def _write_config(folder: Path, entry: dict[str, Any]) -> str:
    path = folder / "mcp.json"
    options = {"effects": {ECHO: "read"}}
    path.write_text(json.dumps({"mcpServers": {_SERVER: {**entry, "toolcrib": options}}}), encoding="utf-8")
    return str(path)


def _own_state(folder: Path) -> dict[str, str]:
    return environment(TOOLCRIB_STATE_DIR=str(folder / "state"), TOOLCRIB_CONFIG_DIR=str(folder / "config"))
