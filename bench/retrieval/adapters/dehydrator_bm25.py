"""dehydrator's `ToolIndex`: BM25L over names, descriptions and schemas."""

import importlib
from typing import Any

from bench.retrieval.adapters.exchange import Search, Tools, answer


def build(tools: Tools) -> Search:
    # The package is in the peer's environment alone, where no type checker looks.
    dehydrator: Any = importlib.import_module("dehydrator")
    index = dehydrator.ToolIndex(list(tools), top_k=50)
    return lambda query, limit: index.search(query)


if __name__ == "__main__":
    answer(build)
