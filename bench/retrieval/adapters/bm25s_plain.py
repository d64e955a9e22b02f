"""BM25 as bm25s does it when nothing is set: one text a tool, English stop words."""

import importlib
from collections.abc import Sequence
from typing import Any

from bench.retrieval.adapters.exchange import Search, Tools, answer, text_of


def build(tools: Tools) -> Search:
    # The package is in the peer's environment alone, where no type checker looks.
    bm25s: Any = importlib.import_module("bm25s")
    names = [tool["name"] for tool in tools]
    index = bm25s.BM25()
    index.index(
        bm25s.tokenize([text_of(tool) for tool in tools], stopwords="en", show_progress=False), show_progress=False
    )

    def search(query: str, limit: int) -> Sequence[str]:
        tokens = bm25s.tokenize([query], stopwords="en", show_progress=False)
        if not tokens.vocab:
            return []
        found, scores = index.retrieve(tokens, k=min(limit, len(names)), show_progress=False)
        return [names[at] for at, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


if __name__ == "__main__":
    answer(build)
