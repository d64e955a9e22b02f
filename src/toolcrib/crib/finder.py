"""Search over everything that a crib holds: keeps the index in step with the catalog, and shapes the answers."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from toolcrib.broker import Access, Caller
from toolcrib.catalog import Source, Tool, ToolRegistry, VisibleSet
from toolcrib.errors import ToolcribError
from toolcrib.search import Hit, Searcher, ServerDocs, nothing_fits, parse_query
from toolcrib.search.query import Browse, Needs, Query, Select, merge_needs
from toolcrib.servers import McpServer

_MOST_HITS = 200
"""Hits ranked for one query; paging ends there."""


@dataclass(frozen=True, slots=True)
class FoundTool:
    """One tool found, with its definition."""

    tool: Tool
    hit: Hit


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """One source in an overview: its id, description, and how many visible tools it has (None: not known yet)."""

    id: str
    description: str
    tools: int | None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What a search found.

    Attributes:
        query: The query, understood.
        found: The hits of this page, best first.
        total: How many were found in all.
        offset: How many came before this page.
        nothing_fits: Probably none of them does what was asked for.
        unknown: Ids of a `select:` that do not exist.
        missing: Servers that were not listed yet and so were not searched.
        sources: The overview, for an empty query.
    """

    query: Query
    found: Sequence[FoundTool] = ()
    total: int = 0
    offset: int = 0
    nothing_fits: bool = False
    unknown: Sequence[str] = ()
    missing: Sequence[str] = ()
    sources: Sequence[SourceSummary] = ()


class Finder:
    """Searches the catalog.

    Args:
        registry: The catalog.
        access: Says what a caller may know of.
        searcher: The strategy.
        sources: All sources, in order.
        index_file: Where the index is kept between runs; None keeps none.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        access: Access,
        searcher: Searcher,
        sources: Callable[[], Sequence[Source]],
        index_file: Path | None,
    ) -> None:
        self._registry = registry
        self._access = access
        self._searcher = searcher
        self._sources = sources
        self._index_file = index_file
        self._indexed_version: int | None = None
        self._syncing = anyio.Lock()
        self._by_server: dict[tuple[VisibleSet, str], VisibleSet] = {}

    async def search(
        self,
        text: str | None,
        *,
        caller: Caller,
        limit: int,
        offset: int = 0,
        server: str | None = None,
        missing: Sequence[str] = (),
    ) -> SearchAnswer:
        """Search; see `Crib.search`."""
        query = parse_query(text)
        visible = self._visible(caller, server)
        if isinstance(query, Browse):
            return SearchAnswer(query, missing=missing, sources=self.overview(caller))
        if isinstance(query, Select):
            return self._select(query, caller, missing)
        await self._bring_up_to_date()
        hits = await self._hits(query, visible)
        page = hits[offset : offset + limit]
        return SearchAnswer(
            query,
            found=[FoundTool(self._registry.tool(hit.tool_id), hit) for hit in page],
            total=len(hits),
            offset=offset,
            nothing_fits=nothing_fits(hits),
            missing=missing,
        )

    def overview(self, caller: Caller) -> list[SourceSummary]:
        """The sources that have something for the caller, or may have once they are listed."""
        visible = self._access.visible(caller.principal)
        rows: list[SourceSummary] = []
        for source in self._sources():
            if source.id not in self._registry.servers:
                if not isinstance(source, McpServer) or source.usable:
                    rows.append(SourceSummary(source.id, source.description, None))
                continue
            count = sum(key in visible for key in self._registry.keys(source.id))
            if count:
                rows.append(SourceSummary(source.id, source.description, count))
        return rows

    async def _hits(self, query: Needs, visible: VisibleSet) -> list[Hit]:
        lists = [await self._searcher.search(need, _MOST_HITS, visible) for need in query.needs]
        return lists[0] if len(lists) == 1 else merge_needs(lists, _MOST_HITS)

    def _select(self, query: Select, caller: Caller, missing: Sequence[str]) -> SearchAnswer:
        found: list[FoundTool] = []
        unknown: list[str] = []
        for name in query.ids:
            try:
                tool_id = self._access.resolve(name, caller.principal)
            except ToolcribError as error:
                unknown.append(str(error))
                continue
            found.append(FoundTool(self._registry.tool(tool_id), Hit(tool_id, 1.0)))
        return SearchAnswer(query, found, total=len(found), unknown=unknown, missing=missing)

    def _visible(self, caller: Caller, server: str | None) -> VisibleSet:
        visible = self._access.visible(caller.principal)
        if server is None:
            return visible
        key = (visible, server)
        kept = self._by_server.get(key)
        if kept is None:
            if len(self._by_server) > 256:
                self._by_server.clear()
            kept = VisibleSet(each for each in self._registry.keys(server) if each in visible)
            self._by_server[key] = kept
        return kept

    async def _bring_up_to_date(self) -> None:
        if self._indexed_version == self._registry.version:
            return
        async with self._syncing:
            if self._indexed_version != self._registry.version:
                version = self._registry.version
                await anyio.to_thread.run_sync(self._index)
                self._indexed_version = version

    def _index(self) -> None:
        """Take in what changed since the index was kept; runs in a worker thread."""
        searcher = self._searcher
        if self._indexed_version is None and self._index_file is not None:
            searcher.load(self._index_file)
        changed = False
        sources = {source.id: source for source in self._sources()}
        listed = [server for server in self._registry.servers if server in sources]
        for gone in set(searcher.servers) - set(listed):
            searcher.remove(gone)
            changed = True
        for server in listed:
            docs = _docs(sources[server])
            digest = _digest(docs, sources[server], self._registry)
            if searcher.fingerprint(server) != digest:
                searcher.add(docs, self._registry.tools(server), digest=digest)
                changed = True
        if changed and self._index_file is not None:
            searcher.save(self._index_file)


def _docs(source: Source) -> ServerDocs:
    if not isinstance(source, McpServer):
        return ServerDocs(source.id, description=source.description)
    instructions = source.snapshot.instructions if source.snapshot is not None else ""
    return ServerDocs(
        source.id, title=source.title, description=source.config.options.description or "",
        instructions=instructions, tags=tuple(source.config.options.tags),
    )


def _digest(docs: ServerDocs, source: Source, registry: ToolRegistry) -> str:
    if isinstance(source, McpServer) and source.snapshot is not None:
        listing = source.snapshot.digest
    else:
        listing = repr([tool.definition for tool in registry.tools(source.id)])
    return hashlib.sha256(f"{docs!r}\n{listing}".encode("utf-8", "surrogatepass")).hexdigest()
