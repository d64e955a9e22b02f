"""What an adapter is asked and answers: one JSON document each, on stdin and stdout."""

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

Tools = Sequence[dict[str, Any]]
"""`name` (the server's name and the tool's, as a proxy joins them), `description`, `inputSchema`, `outputSchema?`."""

Search = Callable[[str, int], Sequence[str]]
"""The names of the tools that a peer finds for a request, best first, and no more than asked for."""


def answer(build: Callable[[Tools], Search]) -> None:
    """Read tools and requests, let the peer search, and print the names that it found for each request.

    A peer that is slow answers the first requests only, as many as it has the time for.

    Args:
        build: Makes the peer's index.
    """
    asked = json.load(sys.stdin)
    out, sys.stdout = sys.stdout, sys.stderr
    begun = time.perf_counter()
    search = build(asked["tools"])
    built = time.perf_counter() - begun
    spent: list[float] = []
    found: list[list[str]] = []
    for query in asked["queries"]:
        if sum(spent) > asked["seconds"] * 1000:
            break
        begun = time.perf_counter()
        found.append(list(search(query, asked["limit"]))[: asked["limit"]])
        spent.append((time.perf_counter() - begun) * 1000)
    json.dump({"found": found, "index_s": round(built, 3), "query_p50_ms": round(statistics.median(spent), 3)}, out)


def text_of(tool: dict[str, Any]) -> str:
    """Name, description, and the names and descriptions of parameters as one text."""
    parts = [tool["name"], tool["description"]]
    properties: Any = tool["inputSchema"].get("properties")
    for name, schema in cast("dict[str, Any]", properties).items() if isinstance(properties, dict) else ():
        parts.append(name)
        if isinstance(schema, dict):
            parts.append(cast("dict[str, Any]", schema).get("description"))
    return " ".join(part for part in parts if part and isinstance(part, str))
