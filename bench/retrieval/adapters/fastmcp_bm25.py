"""FastMCP's `BM25SearchTransform`."""

import asyncio
import importlib
from collections.abc import Sequence
from typing import Any

from bench.retrieval.adapters.exchange import Search, Tools, answer


def build(tools: Tools) -> Search:
    # The package is in the peer's environment alone, where no type checker looks.
    transforms: Any = importlib.import_module("fastmcp.server.transforms.search")
    listed = fastmcp_tools(tools)
    runner = asyncio.Runner()

    def search(query: str, limit: int) -> Sequence[str]:
        found = runner.run(transform._search(listed, query))
        return [tool.name for tool in found]

    transform = transforms.BM25SearchTransform(max_results=50)
    search("the first search builds the index", 1)
    return search


def fastmcp_tools(tools: Tools) -> list[Any]:
    """The tools as FastMCP holds them."""
    base: Any = importlib.import_module("fastmcp.tools.base")
    return [
        base.Tool(name=tool["name"], description=tool["description"], parameters=tool["inputSchema"]) for tool in tools
    ]


if __name__ == "__main__":
    answer(build)
