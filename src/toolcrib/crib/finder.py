"""Search over everything that a crib holds: what each form of a query finds, within what the caller may know."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.broker import Access, Caller, Effect
from toolcrib.catalog import SKILL_HEAD, Source, Tool, ToolRegistry, VisibleSet
from toolcrib.crib.index import Index
from toolcrib.crib.narrowing import Narrowing, Only
from toolcrib.crib.shelf import OffServer
from toolcrib.errors import ToolcribError
from toolcrib.search import (
    Browse,
    Hit,
    Needs,
    Pattern,
    Query,
    RegexSearcher,
    Searcher,
    Select,
    merge_needs,
    nothing_fits,
    parse_query,
)
from toolcrib.servers import McpServer

if TYPE_CHECKING:
    from toolcrib.skills import Skill

DEFAULT_LIMIT = 8
"""Hits in one page of a search."""

_MOST_HITS = 200
"""Hits ranked for one query; paging ends there."""

_PAGES_RANKED = 3
"""Pages ranked to show one and tell that more follow: ranking all that could be shown costs twice the time."""


@dataclass(frozen=True, slots=True)
class FoundTool:
    """One tool found, with its definition, and what a call of it may do."""

    tool: Tool
    hit: Hit
    effect: Effect = "unknown"


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
        at_least: There may be more than `total`: they were not looked for.
        offset: How many came before this page.
        nothing_fits: Probably none of them does what was asked for.
        unknown: Ids of a `select:` that do not exist.
        missing: Servers that were not listed yet and so were not searched.
        failed: Servers that could never be listed, where nothing found does what was asked for: theirs may.
        sources: The overview, where an empty query asked for it.
        off: Servers that are off and may have what was searched for, best first.
        skills: Skills that fit, best first; where the servers were asked for, all of them.
        problem: Why a model that should have helped was not used; the answer does without it.
    """

    query: Query
    found: Sequence[FoundTool] = ()
    total: int = 0
    at_least: bool = False
    offset: int = 0
    nothing_fits: bool = False
    unknown: Sequence[str] = ()
    missing: Sequence[str] = ()
    failed: Sequence[str] = ()
    sources: Sequence[SourceSummary] | None = None
    off: Sequence[OffServer] = ()
    skills: "Sequence[Skill]" = ()
    problem: str = ""


class Finder:
    """Searches the catalog.

    Attributes:
        index: What is searched for words.
        sources: All sources, in order.

    Args:
        registry: The catalog.
        access: Says what a caller may know of.
        searcher: The strategy for words.
        sources: All sources, in order.
        narrowing: Keeps a search to a part of that.
        effect: Tells what a call of a tool may do.
        index_file: Where the index is kept between runs; None keeps none.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        access: Access,
        searcher: Searcher,
        sources: Callable[[], Sequence[Source]],
        narrowing: Narrowing,
        effect: Callable[[Tool], Effect],
        index_file: Path | None,
    ) -> None:
        self._registry = registry
        self._access = access
        self.sources = sources
        self.index = Index(searcher, registry, sources, index_file)
        self._patterns: Index | None = None
        self._narrowing = narrowing
        self._effect = effect

    async def search(
        self,
        text: str | None,
        *,
        caller: Caller,
        limit: int,
        offset: int = 0,
        only: Only,
        missing: Sequence[str] = (),
    ) -> SearchAnswer:
        """Search; see `Crib.search`."""
        query = parse_query(text)
        if isinstance(query, Browse) and only == Only(without=only.without):
            sources = [each for each in self.overview(caller) if each.id not in only.without]
            return SearchAnswer(query, missing=missing, sources=sources)
        if isinstance(query, Select):
            return self._select(query, caller, missing)
        visible = self.visible(caller, only)
        most = min(_MOST_HITS, offset + _PAGES_RANKED * limit)
        problem = ""
        if isinstance(query, Browse):
            parts = (self._registry.part_for(server, caller.principal.name) for server in self._registry.servers)
            keys = (key for part in parts if part is not None for key in self._registry.keys(part))
            hits = [Hit(key, 0.0) for key in keys if key in visible]
        else:
            searcher, hits = await self._hits(query, visible, most)
            problem = searcher.problem
        page = hits[offset : offset + limit]
        return SearchAnswer(
            query,
            found=[self._found(hit) for hit in page],
            total=len(hits),
            at_least=len(hits) == most < _MOST_HITS and not isinstance(query, Browse),
            offset=offset,
            nothing_fits=nothing_fits(hits),
            missing=missing,
            problem=problem,
        )

    def overview(self, caller: Caller) -> list[SourceSummary]:
        """The sources that have something for the caller, or may have once they are listed."""
        visible = self._access.visible(caller.principal)
        rows: list[SourceSummary] = []
        for source in self.sources():
            if self._access.hides_source(source.id, caller.principal):
                continue
            part = self._registry.part_for(source.id, caller.principal.name)
            if part is None:
                if not isinstance(source, McpServer) or source.usable:
                    rows.append(SourceSummary(source.id, _description(source, caller), None))
                continue
            count = sum(key in visible for key in self._registry.keys(part))
            if count:
                rows.append(SourceSummary(source.id, _description(source, caller), count))
        return rows

    def visible(self, caller: Caller, only: Only) -> VisibleSet:
        """The ids that a search of a caller's is kept to."""
        return self._narrowing.narrow(self._access.visible(caller.principal), only)

    @property
    def patterns(self) -> Index:
        """The index for regular expressions, whatever the strategy for words."""
        if self._patterns is None:
            self._patterns = Index(RegexSearcher(), self._registry, self.sources)
        return self._patterns

    async def _hits(self, query: Needs | Pattern, visible: VisibleSet, most: int) -> tuple[Searcher, list[Hit]]:
        if isinstance(query, Pattern):
            patterns = await self.patterns.current()
            return patterns, await patterns.search(query.pattern, most, visible)
        searcher = await self.index.current()
        lists = [await searcher.search(need, most, visible) for need in query.needs]
        return searcher, lists[0] if len(lists) == 1 else merge_needs(lists, most)

    def _found(self, hit: Hit) -> FoundTool:
        tool = self._registry.tool(hit.tool_id)
        return FoundTool(tool, hit, self._effect(tool))

    def _select(self, query: Select, caller: Caller, missing: Sequence[str]) -> SearchAnswer:
        found: list[FoundTool] = []
        unknown: list[str] = []
        for name in query.ids:
            if name.startswith(SKILL_HEAD):
                continue  # no tool; `Crib.search` looks for it
            try:
                tool_id = self._access.resolve(name, caller.principal)
            except ToolcribError as error:
                unknown.append(str(error))
                continue
            found.append(self._found(Hit(tool_id, 1.0)))
        return SearchAnswer(query, found, total=len(found), unknown=unknown, missing=missing)


def _description(source: Source, caller: Caller) -> str:
    return source.description_for(caller.principal.name) if isinstance(source, McpServer) else source.description
