"""mcp-orchestrator's `ToolSearchService` with its default method."""

import importlib
from collections.abc import Sequence
from typing import Any

from bench.retrieval.adapters.exchange import Search, Tools, answer


def build(tools: Tools) -> Search:
    # The package is in the peer's environment alone, where no type checker looks.
    searching: Any = importlib.import_module("mcp_orchestrator.tools.search")
    service = searching.ToolSearchService()
    for tool in tools:
        given = {"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]}
        service.index_tool("all", given)

    def search(query: str, limit: int) -> Sequence[str]:
        return [found.tool_name for found in service.search(query, limit=limit)]

    return search


if __name__ == "__main__":
    answer(build)
