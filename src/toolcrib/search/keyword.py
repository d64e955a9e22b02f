"""Keyword search: BM25F over the fields of tools and servers, with no model.

Indexing reads and numbers words and needs no numpy; the lists are built when something is searched or saved.
New tools go into a small second segment until that is worth merging, so adding a server costs what the
server has. Document frequencies of words and the number of tools are exact at all times. Average lengths,
with them the impacts, and document frequencies of pairs are those of the last merge.
"""

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.catalog.tool import Tool
from toolcrib.catalog.visible import VisibleSet
from toolcrib.search.base import Hit, Searcher, ServerDocs
from toolcrib.search.documents import Batch, Vocabulary, number, read

if TYPE_CHECKING:
    from toolcrib.search.explanation import Explanation
    from toolcrib.search.fuzzy import Spelling
    from toolcrib.search.index import Segment
    from toolcrib.search.view import View

_QUERY_CHARACTERS = 2_000


class KeywordSearcher(Searcher):
    """Searches by words. Safe to fill in one thread while another searches."""

    name = "keyword"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._become(Vocabulary(), [])

    def _become(self, vocabulary: Vocabulary, segments: "list[Segment]") -> None:
        self._vocabulary = vocabulary
        self._spelling: Spelling | None = None
        self._segments = segments
        self._pending: dict[str, Batch] = {}
        self._view: View | None = None

    def add(self, server: ServerDocs, tools: Iterable[Tool], *, digest: str = "") -> None:
        """See `Searcher.add`."""
        documents = read(server, tools)
        with self._lock:
            self._forget(server.id)
            self._pending[server.id] = number(documents, server, self._vocabulary)
            self._vocabulary.digests[server.id] = digest

    def remove(self, server_id: str) -> None:
        """See `Searcher.remove`."""
        with self._lock:
            self._forget(server_id)

    async def search(self, query: str, limit: int, visible: VisibleSet | None = None) -> list[Hit]:
        """See `Searcher.search`."""
        from toolcrib.search.scoring import rank

        with self._lock:
            return rank(self._current(), query[:_QUERY_CHARACTERS], limit, visible)

    async def explain(
        self, query: str, limit: int, visible: VisibleSet | None = None, *, strategy: str = ""
    ) -> "Explanation":
        """See `Searcher.explain`."""
        from toolcrib.search.explanation import Explanation
        from toolcrib.search.scoring import rank
        from toolcrib.search.shares import explained

        query = query[:_QUERY_CHARACTERS]
        with self._lock:
            view = self._current()
            hits = rank(view, query, limit, visible)
            view = view.among(visible)
            meant, sought = view.read(query)
            found = explained(view, view.need(query), hits)
        return Explanation("keyword", tuple(found), "" if meant == query else meant, tuple(sought))

    @property
    def servers(self) -> tuple[str, ...]:
        """See `Searcher.servers`."""
        return tuple(self._vocabulary.digests)

    def fingerprint(self, server_id: str) -> str | None:
        """See `Searcher.fingerprint`."""
        return self._vocabulary.digests.get(server_id)

    def save(self, path: Path) -> bool:
        """See `Searcher.save`."""
        from toolcrib.search.index import packed
        from toolcrib.search.stored import pack, write

        with self._lock:
            view = self._current()
            segment = packed(view.segments, len(self._vocabulary.words))
            if [segment] != self._segments:
                self._segments, self._view = [segment], None
            index = pack(self._vocabulary, segment)
        return write(path, index)

    def load(self, path: Path) -> bool:
        """See `Searcher.load`."""
        from toolcrib.search.stored import read as read_file
        from toolcrib.search.stored import unpack

        found = read_file(path)
        index = None if found is None else unpack(found)
        if index is None:
            return False
        vocabulary, segment = index
        with self._lock:
            self._become(vocabulary, [segment])
        return True

    def _forget(self, server_id: str) -> None:
        if self._vocabulary.digests.pop(server_id, None) is None:
            return
        self._pending.pop(server_id, None)
        for segment in self._segments:
            segment.drop(self._vocabulary.servers[server_id])
        self._view = None

    def _current(self) -> "View":
        """The index with everything in it that was added."""
        from toolcrib.search.fuzzy import Spelling
        from toolcrib.search.index import grown
        from toolcrib.search.view import View

        if self._view is None or self._pending:
            batches = list(self._pending.values())
            self._segments = grown(self._segments, batches, len(self._vocabulary.words))
            self._pending = {}
            self._spelling = self._spelling or Spelling(self._vocabulary)
            self._view = View(self._segments, self._vocabulary, self._spelling)
        return self._view
