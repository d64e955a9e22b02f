"""One searcher kept in step with the catalog."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from toolcrib.catalog import Source, ToolRegistry
from toolcrib.search import Searcher, ServerDocs
from toolcrib.servers import McpServer


class Index:
    """A searcher that is brought up to date before it is asked.

    Args:
        searcher: The strategy.
        registry: The catalog.
        sources: All sources, in order.
        file: Where the index is kept between runs; None keeps none.
    """

    def __init__(
        self,
        searcher: Searcher,
        registry: ToolRegistry,
        sources: Callable[[], Sequence[Source]],
        file: Path | None = None,
    ) -> None:
        self._searcher = searcher
        self._registry = registry
        self._sources = sources
        self._file = file
        self._version: int | None = None
        self._lock = anyio.Lock()

    async def current(self) -> Searcher:
        """The searcher, with everything that the catalog holds now."""
        async with self._lock:
            if self._version != self._registry.version:
                version = self._registry.version
                await anyio.to_thread.run_sync(self._take_in_changes)
                self._version = version
        return self._searcher

    def _take_in_changes(self) -> None:
        searcher, registry = self._searcher, self._registry
        if self._version is None and self._file is not None:
            searcher.load(self._file)
        changed = False
        sources = {source.id: source for source in self._sources()}
        listed = [server for server in registry.servers if server in sources]
        for gone in set(searcher.servers) - set(listed):
            searcher.remove(gone)
            changed = True
        for server in listed:
            docs = _docs(sources[server])
            digest = _digest(docs, sources[server], registry)
            if searcher.fingerprint(server) != digest:
                searcher.add(docs, registry.tools(server), digest=digest)
                changed = True
        if changed and self._file is not None:
            searcher.save(self._file)


def _docs(source: Source) -> ServerDocs:
    if not isinstance(source, McpServer):
        return ServerDocs(source.id, description=source.description)
    options = source.config.options
    return ServerDocs(
        source.id,
        title=source.title,
        description=options.description,
        instructions="" if source.snapshot is None else source.snapshot.instructions,
        tags=tuple(options.tags),
    )


def _digest(docs: ServerDocs, source: Source, registry: ToolRegistry) -> str:
    if isinstance(source, McpServer) and source.snapshot is not None:
        listing = source.snapshot.digest
    else:
        listing = repr([tool.definition for tool in registry.tools(source.id)])
    ids = registry.keys(source.id)
    return hashlib.sha256(f"{docs!r}\n{ids!r}\n{listing}".encode("utf-8", "surrogatepass")).hexdigest()
