"""Peers' own search over the same sets, scored by the same measures."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from bench.peers import VERSION as FASTMCP
from bench.peers import NoPeerError, installed
from bench.processes import ROOT, environment
from bench.retrieval.metrics import DEEPEST, rows
from bench.retrieval.sets import Request, RetrievalSet, read_set

_SECONDS = 300
"""A peer that takes longer over one set, its index included, is left out there."""

_SECONDS_ASKED = 120
"""Requests go on that long; a slower peer is scored by those that it answered, which are a random part of all."""

_SEED = 20261130

_NOT_NAME = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Adapter:
    """A peer's search: the package that it is in, its version, and the module that asks it."""

    package: str
    version: str
    module: str


ADAPTERS: Mapping[str, Adapter] = {
    "bm25s": Adapter("bm25s", "0.3.16", "bm25s_plain"),
    "fastmcp bm25": Adapter("fastmcp", FASTMCP, "fastmcp_bm25"),
    "fastmcp regex": Adapter("fastmcp", FASTMCP, "fastmcp_regex"),
    "dehydrator": Adapter("dehydrator", "0.3.1", "dehydrator_bm25"),
    "ratel": Adapter("ratel-ai", "0.12.0", "ratel_bm25"),
    "graph-tool-call": Adapter("graph-tool-call", "0.47.0", "graph_tool_call"),
    "pydantic-ai": Adapter("pydantic-ai-slim", "2.68.0", "pydantic_ai_local"),
    "contextweaver": Adapter("contextweaver", "0.18.2", "contextweaver_router"),
    "mcp-orchestrator": Adapter("mcp-orchestrator", "0.1.2", "mcp_orchestrator"),
}


@dataclass
class PeerResults:
    """What peers reached.

    Attributes:
        rows: One row a set, kind and peer, the peer as the strategy.
        versions: The version of each peer that was measured.
        left_out: Why a peer, or a peer over one set, is not among the rows.
    """

    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    versions: dict[str, str] = field(default_factory=dict[str, str])
    left_out: dict[str, str] = field(default_factory=dict[str, str])


def measure_peers(folders: Sequence[Path], most: int, wanted: Sequence[str] = ()) -> PeerResults:
    """Ask every peer, or those that are wanted, over every set; what goes wrong with one touches no other."""
    results = PeerResults()
    pythons: dict[str, Path] = {}
    results.left_out = {name: "no peer of that name" for name in wanted if name not in ADAPTERS}
    for name, adapter in ADAPTERS.items():
        if wanted and name not in wanted:
            continue
        try:
            pythons[name] = installed(adapter.package, adapter.version)
        except NoPeerError as error:
            results.left_out[name] = str(error)
        else:
            results.versions[name] = f"{adapter.package} {adapter.version}"
    for folder in folders:
        given = read_set(folder, most)
        names = _names(given)
        requests = list(given.requests)
        random.Random(_SEED).shuffle(requests)
        asked = json.dumps(_asked(given, names, requests))
        for name, python in pythons.items():
            sys.stderr.write(f"{name}: {given.name} …\n")
            try:
                answer = _ask(python, ADAPTERS[name].module, asked)
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                results.left_out[f"{name}, {given.name}"] = _reason(error)
                continue
            found = [[names[each] for each in hits if each in names] for hits in answer["found"]]
            cost = {"index_s": answer["index_s"], "query_p50_ms": answer["query_p50_ms"]}
            answered = rows(requests[: len(found)], found)
            results.rows += [{"set": given.name, "strategy": name, **row, **cost} for row in answered]
    return results


def _names(given: RetrievalSet) -> dict[str, str]:
    """The tools' ids by the names that peers see: server and tool joined as a proxy joins them, each once."""
    result: dict[str, str] = {}
    for docs, tools in given.servers:
        server = _NOT_NAME.sub("_", given.keys[docs.id]).strip("_") or docs.id
        for tool in tools:
            name = f"{server}_{_NOT_NAME.sub('_', tool.name).strip('_')}"
            while name in result:
                name += "_2"
            result[name] = tool.id
    return result


def _asked(given: RetrievalSet, names: Mapping[str, str], requests: Sequence[Request]) -> dict[str, Any]:
    tools = [tool for _, listed in given.servers for tool in listed]
    definitions: list[dict[str, Any]] = [
        {
            "name": name,
            "description": tool.description,
            "inputSchema": _tame(tool.input_schema),
            "outputSchema": tool.output_schema,
        }
        for name, tool in zip(names, tools, strict=True)
    ]
    queries = [request.text for request in requests]
    return {"tools": definitions, "queries": queries, "limit": DEEPEST, "seconds": _SECONDS_ASKED}


def _tame(schema: Any) -> dict[str, Any]:
    """A schema with objects where objects belong: some peers fail on the whole catalog for one real schema without."""
    if not isinstance(schema, dict):
        return {"type": "object"}
    given = cast("dict[str, Any]", schema)
    held: Any = given.get("properties")
    properties = cast("dict[str, Any]", held) if isinstance(held, dict) else {}
    return {**given, "properties": {name: each if isinstance(each, dict) else {} for name, each in properties.items()}}


def _ask(python: Path, module: str, asked: str) -> dict[str, Any]:
    """What an adapter answers.

    Raises:
        subprocess.SubprocessError: It failed, or took too long.
        ValueError: It answered no JSON.
    """
    ran = subprocess.run(
        [str(python), "-m", f"bench.retrieval.adapters.{module}"],
        input=asked,
        capture_output=True,
        check=True,
        cwd=ROOT,
        env=environment(),
        text=True,
        timeout=_SECONDS,
    )
    return json.loads(ran.stdout)


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"took more than {error.timeout:g} s"
    if isinstance(error, subprocess.CalledProcessError):
        return (str(error.stderr).strip().splitlines() or [f"ended with {error.returncode}"])[-1][:300]
    return str(error)
