"""contextweaver's `Router` over its own tree, as it is without options: TF-IDF and a beam search."""

import importlib
from collections.abc import Sequence
from typing import Any

from bench.retrieval.adapters.exchange import Search, Tools, answer


def build(tools: Tools) -> Search:
    # The package is in the peer's environment alone, where no type checker looks.
    routing: Any = importlib.import_module("contextweaver.routing.router")
    tree: Any = importlib.import_module("contextweaver.routing.tree")
    types: Any = importlib.import_module("contextweaver.types")
    items = [
        types.SelectableItem(
            id=tool["name"],
            kind="tool",
            name=tool["name"],
            description=tool["description"],
            args_schema=tool["inputSchema"],
        )
        for tool in tools
    ]
    router = routing.Router(tree.TreeBuilder().build(items), items, top_k=50)

    def search(query: str, limit: int) -> Sequence[str]:
        return router.route(query).candidate_ids

    return search


if __name__ == "__main__":
    answer(build)
