"""graph-tool-call's `ToolGraph` as it is without options: keywords, graph, annotations."""

import importlib
from collections.abc import Sequence
from typing import Any

from bench.retrieval.adapters.exchange import Search, Tools, answer


def build(tools: Tools) -> Search:
    # The package is in the peer's environment alone, where no type checker looks.
    package: Any = importlib.import_module("graph_tool_call")
    graph = package.ToolGraph()
    graph.ingest_mcp_tools(list(tools))

    def search(query: str, limit: int) -> Sequence[str]:
        return [hit.tool.name for hit in graph.retrieve_with_scores(query, top_k=limit)]

    return search


if __name__ == "__main__":
    answer(build)
