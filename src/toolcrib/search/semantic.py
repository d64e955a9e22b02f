"""Search by meaning: how near the vector of a tool is to that of the query."""

import weakref
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.catalog.tool import Tool
from toolcrib.catalog.visible import VisibleSet
from toolcrib.search.base import Hit, ServerDocs
from toolcrib.search.clauses import clauses
from toolcrib.search.embedders import Embedder
from toolcrib.search.keyword import KeywordSearcher
from toolcrib.search.meanings import Meanings, Progress

if TYPE_CHECKING:
    from toolcrib.search.explanation import Explanation
    from toolcrib.search.fusion import Fusion

PATIENCE = 2.0
"""Seconds that a search waits for the embedder, unless told otherwise."""

_QUERY_CHARACTERS = 2_000


class SemanticSearcher(KeywordSearcher):
    """Searches by the meaning of the query as a whole.

    The vectors of tools are computed in the background. Until every tool has one, and while the embedder fails
    or is too slow, it searches by words; `problem` then says why.

    Args:
        embedder: Makes the vectors.
        patience: Seconds that a search waits for the embedder before it goes on without.
        on_progress: Told how many tools have a vector, and how many there are, in the thread that computes them.
    """

    name = "semantic"

    def __init__(self, embedder: Embedder, *, patience: float = PATIENCE, on_progress: Progress | None = None) -> None:
        super().__init__()
        self._meanings = Meanings(embedder, patience=patience, on_progress=on_progress)
        self._fusion: Fusion | None = None
        weakref.finalize(self, self._meanings.end)

    def add(self, server: ServerDocs, tools: Iterable[Tool], *, digest: str = "") -> None:
        """See `Searcher.add`."""
        listed = list(tools)
        super().add(server, listed, digest=digest)
        self._meanings.put(server, listed, digest)

    def remove(self, server_id: str) -> None:
        """See `Searcher.remove`."""
        super().remove(server_id)
        self._meanings.forget(server_id)

    async def search(self, query: str, limit: int, visible: VisibleSet | None = None) -> list[Hit]:
        """See `Searcher.search`."""
        from toolcrib.search.fusion import Fusion

        texts = self._texts(query[:_QUERY_CHARACTERS])
        likeness = await self._meanings.likeness(texts) if limit > 0 and texts[0].strip() else None
        if likeness is None:
            return await super().search(query, limit, visible)
        with self._lock:
            if self._fusion is None:
                self._fusion = Fusion(by_words=self._by_words)
            return self._fusion.rank(self._current(), texts, likeness, limit, visible)

    @property
    def strategies(self) -> tuple[str, ...]:
        """See `Searcher.strategies`; what one of them needs the others have."""
        return tuple(dict.fromkeys((self.name, "hybrid", "semantic", "keyword")))

    async def explain(
        self, query: str, limit: int, visible: VisibleSet | None = None, *, strategy: str = ""
    ) -> "Explanation":
        """See `Searcher.explain`."""
        from toolcrib.search.explanation import Explanation
        from toolcrib.search.fusion import Fusion

        by_words = await super().explain(query, limit, visible)
        strategy = strategy or self.name
        if strategy == "keyword" or limit <= 0 or not query.strip():
            return by_words
        query = query[:_QUERY_CHARACTERS]
        texts = [query, *clauses(query)] if strategy == "hybrid" else [query]
        likeness = await self._meanings.likeness(texts)
        if likeness is None:
            return replace(by_words, problem=self.problem or self._so_far())
        with self._lock:
            fusion = Fusion(by_words=strategy == "hybrid")
            found = fusion.explain(self._current(), texts, likeness, limit, visible)
        if strategy == "hybrid":
            return replace(by_words, strategy=strategy, hits=tuple(found))
        return Explanation(strategy, tuple(found))

    def _so_far(self) -> str:
        done, count = self.progress
        return f"So far {done} of {count} tools have a vector, so it was ranked by words."

    _by_words = False

    def _texts(self, query: str) -> list[str]:
        """The query, and what else is to be embedded for it."""
        return [query]

    @property
    def progress(self) -> tuple[int, int]:
        """How many texts of tools have a vector, and how many there are."""
        return self._meanings.progress

    @property
    def problem(self) -> str:
        """Why the embedder is not used; empty when it is, or will be once the vectors are there."""
        return self._meanings.problem

    async def settled(self) -> bool:
        """Wait until no more vectors are being computed, and say whether every tool has one."""
        return await self._meanings.settled()

    def fingerprint(self, server_id: str) -> str | None:
        """See `Searcher.fingerprint`; a server some of whose tools have no vector has to be added."""
        digest = super().fingerprint(server_id)
        return digest if digest == self._meanings.digest(server_id) else None

    def save(self, path: Path) -> bool:
        """See `Searcher.save`; vectors are kept beside the index, also those that come later."""
        kept = super().save(path)
        self._meanings.save(_beside(path))
        return kept

    def load(self, path: Path) -> bool:
        """See `Searcher.load`."""
        self._meanings.load(_beside(path))
        return super().load(path)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.vectors")
