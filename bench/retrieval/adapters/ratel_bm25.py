"""Ratel's `ToolRegistry` with its default method, BM25."""

import asyncio
import importlib
from collections.abc import Sequence
from typing import Any

from bench.retrieval.adapters.exchange import Search, Tools, answer


def build(tools: Tools) -> Search:
    # The package is in the peer's environment alone, where no type checker looks.
    ratel: Any = importlib.import_module("ratel_ai")
    registry = ratel.ToolRegistry()
    given = [
        ratel.Tool(tool["name"], tool["name"], tool["description"], tool["inputSchema"], tool.get("outputSchema") or {})
        for tool in tools
    ]

    async def register() -> None:
        await registry.register(given)

    asyncio.run(register())

    def search(query: str, limit: int) -> Sequence[str]:
        return [hit.tool_id for hit in registry.search(query, limit)]

    return search


if __name__ == "__main__":
    answer(build)
