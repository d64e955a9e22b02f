"""The start of `toolcrib serve` with many servers that were all listed before, against that of a bare server.

The servers are recorded catalogs under other names. Their command does not exist, so that a start of one would
fail: answers come from what is stored.
"""

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.processes import BARE, TOOLCRIB, Spoken, children, environment, resident_mb
from bench.report import Spread, ratio
from toolcrib.catalog import Snapshot, SnapshotStore
from toolcrib.config import load_config
from toolcrib.schema import server_ids

_QUERIES = ("create an issue in a repository", "send a message to a channel")


@dataclass(frozen=True)
class Began:
    """One start: times in milliseconds, memory in MB."""

    first_list_ms: float
    memory_mb: float
    children: int
    first_search_ms: float
    next_search_ms: float
    memory_after_search_mb: float


def measure_start(catalogs: dict[str, dict[str, Any]], servers: int, starts: int) -> dict[str, Any]:
    """Start and first search, medians of several, with the bare server's start beside.

    Args:
        catalogs: Recorded catalogs, repeated until there are enough servers.
        servers: How many to configure.
        starts: How many starts to measure, each of a bare server and of Toolcrib.
    """
    with TemporaryDirectory(prefix="toolcrib-bench-") as name:
        folder = Path(name)
        config, tools = _write_servers(folder, catalogs, servers)
        command = [*TOOLCRIB, "serve", "--config", str(config)]
        env = environment(TOOLCRIB_STATE_DIR=str(folder / "state"), TOOLCRIB_CONFIG_DIR=str(folder / "config"))
        unindexed = [_began(command, env)]
        for _ in range(min(2, starts - 1)):
            shutil.rmtree(folder / "state" / "index")
            unindexed.append(_began(command, env))
        bare: list[float] = []
        indexed: list[Began] = []
        _bare_first_list()
        for _ in range(starts):
            bare.append(_bare_first_list())
            indexed.append(_began(command, env))
    first_lists = [each.first_list_ms for each in indexed]
    return {
        "servers": servers,
        "tools": tools,
        "bare_first_list_ms": Spread.of(bare),
        "first_list_ms": Spread.of(first_lists),
        "over_bare": ratio(first_lists, bare),
        "memory_mb": _largest(indexed, "memory_mb"),
        "children": _largest(indexed, "children"),
        "first_search_ms": Spread.of([each.first_search_ms for each in indexed]),
        "next_search_ms": Spread.of([each.next_search_ms for each in indexed]),
        "memory_after_search_mb": _largest(indexed, "memory_after_search_mb"),
        "first_search_without_index_ms": Spread.of([each.first_search_ms for each in unindexed]),
        "memory_after_search_without_index_mb": _largest(unindexed, "memory_after_search_mb"),
    }


def _bare_first_list() -> float:
    begin = time.perf_counter()
    with Spoken([*BARE, "stdio"], environment()) as server:
        _first_list(server)
        return (time.perf_counter() - begin) * 1000


def _began(command: Sequence[str], env: dict[str, str]) -> Began:
    begin = time.perf_counter()
    with Spoken(command, env) as server:
        _first_list(server)
        first_list = (time.perf_counter() - begin) * 1000
        memory, started = resident_mb(server.pid), children(server.pid)
        first, following = (_search(server, query) for query in _QUERIES)
        return Began(first_list, memory, started, first, following, resident_mb(server.pid))


def _first_list(server: Spoken) -> None:
    """What a client does first: it asks what the server is, and what tools it has."""
    server.ask("server/discover")
    if not server.ask("tools/list")["tools"]:
        raise RuntimeError("the server lists no tools")


def _search(server: Spoken, query: str) -> float:
    begin = time.perf_counter()
    result = server.ask("tools/call", name="search_tools", arguments={"query": query})
    if result.get("isError"):
        raise RuntimeError(f"the search failed: {result['content']}")
    return (time.perf_counter() - begin) * 1000


def _largest(began: Sequence[Began], member: str) -> float:
    return max(getattr(each, member) for each in began)


def _write_servers(folder: Path, catalogs: dict[str, dict[str, Any]], count: int) -> tuple[Path, int]:
    """A configuration of many servers with a snapshot each; its path, and how many tools there are."""
    rows = list(enumerate(islice(cycle(catalogs.items()), count)))
    recorded = {f"{name}-{index // len(catalogs) + 1}": catalog for index, (name, catalog) in rows}
    path = folder / "mcp.json"
    entries = {key: {"command": str(folder / "does-not-exist"), "args": [key]} for key in recorded}
    path.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    config = load_config(path)
    ids = server_ids(config.servers)
    store = SnapshotStore(folder / "state" / "snapshots")
    for key, catalog in recorded.items():
        said = {name: catalog[name] for name in ("serverInfo", "instructions", "capabilities") if catalog.get(name)}
        config_hash = config.servers[key].config_hash
        store.save(Snapshot.of_listing(ids[key], config_hash, str(catalog["protocolVersion"]), said, catalog["tools"]))
    return path, sum(len(catalog["tools"]) for catalog in recorded.values())
