"""One searcher kept in step with the catalog."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread

from toolcrib.catalog import Source, ToolRegistry, owner_of, public_name
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

    @property
    def strategies(self) -> tuple[str, ...]:
        """The strategies that the searcher can explain, its own first."""
        return self._searcher.strategies

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
        sources = {source.id: source for source in self._sources()}
        parts = [part for part in registry.parts if public_name(part) in sources]
        gone = set(searcher.servers) - set(parts)
        for each in gone:
            searcher.remove(each)
        changed = self._update([part for part in parts if not owner_of(part)], sources)
        if (changed or not all(map(owner_of, gone))) and self._file is not None:
            # What is listed to single principals is kept in no file that is everybody's.
            for own in list(filter(owner_of, searcher.servers)):
                searcher.remove(own)
            searcher.save(self._file)
        self._update([part for part in parts if owner_of(part)], sources)

    def _update(self, parts: Sequence[str], sources: Mapping[str, Source]) -> bool:
        """Bring some parts up to date; whether there was anything to do."""
        searcher, registry = self._searcher, self._registry
        changed = False
        for part in parts:
            source = sources[public_name(part)]
            docs = _docs(source, part)
            digest = _digest(docs, source, registry)
            if searcher.fingerprint(part) != digest:
                tools = (replace(tool, id=tool.key) if tool.owner else tool for tool in registry.tools(part))
                searcher.add(docs, tools, digest=digest)
                changed = True
        return changed


def _docs(source: Source, part: str) -> ServerDocs:
    if not isinstance(source, McpServer):
        return ServerDocs(part, description=source.description)
    options = source.config.options
    own = bool(owner_of(part))
    return ServerDocs(
        part,
        title="" if own else source.title,
        description=options.description,
        instructions="" if own or source.snapshot is None else source.snapshot.instructions,
        tags=tuple(options.tags),
    )


def _digest(docs: ServerDocs, source: Source, registry: ToolRegistry) -> str:
    if isinstance(source, McpServer) and source.snapshot is not None and not owner_of(docs.id):
        listing = source.snapshot.digest
    else:
        listing = repr([tool.definition for tool in registry.tools(docs.id)])
    ids = registry.keys(docs.id)
    return hashlib.sha256(f"{docs!r}\n{ids!r}\n{listing}".encode("utf-8", "surrogatepass")).hexdigest()
