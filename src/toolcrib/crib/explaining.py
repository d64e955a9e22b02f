"""Why searches find what they find, by each strategy that is at hand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from toolcrib.broker import LOCAL, Caller
from toolcrib.catalog import Source, ToolRegistry
from toolcrib.config import Config
from toolcrib.crib.exposing import CribExposing
from toolcrib.crib.finder import DEFAULT_LIMIT, Finder
from toolcrib.crib.index import Index
from toolcrib.crib.narrowing import Only
from toolcrib.errors import ConfigError, UsageError, shown
from toolcrib.search import Explanation, Needs, Pattern, Query, make_searcher, parse_query
from toolcrib.smallmodel import SmallModel

COMPARED = ("keyword", "regex", "semantic", "hybrid", "delegate")
"""The strategies that a query can be explained by, beside one of the program's own."""

_SHARED = {"semantic": "hybrid"}
"""Strategies that the index of another serves too."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy that a query can be explained by.

    Attributes:
        name: Its name.
        configured: Whether searches use it.
        problem: Why it is not at hand; empty where it is.
    """

    name: str
    configured: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ExplainedNeed:
    """One need of a query, and why it is answered as it is."""

    need: str
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class ExplainedSearch:
    """Why a search finds what it finds.

    Attributes:
        query: The query, understood.
        strategy: The strategy.
        needs: Each need of the query; none where it ranks nothing, such as `select:id`.
    """

    query: Query
    strategy: str
    needs: tuple[ExplainedNeed, ...]


class Explaining:
    """Explains searches. An index of a strategy that searches don't use is made when it is first asked for.

    Args:
        finder: Searches, with an index that serves the configured strategy.
        config: Says what the strategies are made of.
        registry: The catalog.
        sources: All sources, in order.
        small_model: Chooses for `delegate`.
    """

    def __init__(
        self,
        finder: Finder,
        config: Config,
        registry: ToolRegistry,
        sources: Callable[[], Sequence[Source]],
        small_model: SmallModel | None,
    ) -> None:
        self._finder = finder
        self._settings = config.settings.search
        self._registry = registry
        self._sources = sources
        self._small_model = small_model
        self._made: dict[str, Index | ConfigError] = {}

    @property
    def strategies(self) -> list[Strategy]:
        """What a query can be explained by, the configured one first."""
        own = self._finder.index.strategies[0]
        names = dict.fromkeys((own, *COMPARED))
        problems = {name: found for name in names if isinstance(found := self._index(name), ConfigError)}
        return [Strategy(name, name == own, problems[name].message if name in problems else "") for name in names]

    async def explain(self, text: str, strategy: str, caller: Caller, limit: int, only: Only) -> ExplainedSearch:
        """See `Crib.explain_search`."""
        query = parse_query(text)
        own = self._finder.index.strategies[0]
        if isinstance(query, Pattern):
            strategy = "regex"
        strategy = strategy or own
        if strategy not in {own, *COMPARED}:
            names = ", ".join(each.name for each in self.strategies)
            raise UsageError(f"There is no search strategy {shown(strategy)}.", hint=f"There are: {names}.")
        index = self._index(strategy)
        if isinstance(index, ConfigError):
            raise index
        needs = query.needs if isinstance(query, Needs) else [query.pattern] if isinstance(query, Pattern) else []
        visible = self._finder.visible(caller, only)
        searcher = await index.current()
        explained = [
            ExplainedNeed(need, await searcher.explain(need, limit, visible, strategy=strategy)) for need in needs
        ]
        return ExplainedSearch(query, strategy, tuple(explained))

    def _index(self, strategy: str) -> Index | ConfigError:
        """The index that serves a strategy, or why there is none."""
        if strategy in self._finder.index.strategies:
            return self._finder.index
        if strategy == "regex":
            return self._finder.patterns
        name = _SHARED.get(strategy, strategy)
        found = self._made.get(name)
        if found is None:
            try:
                searcher = make_searcher(name, settings=self._settings, small_model=self._small_model)
                found = Index(searcher, self._registry, self._sources)
            except ConfigError as error:
                found = error
            self._made[name] = found
        return found


class CribExplaining(CribExposing):
    """A crib that tells why it finds what it finds."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._explaining = Explaining(self._finder, self.config, self.registry, self._finder.sources, self._small_model)

    @property
    def search_strategies(self) -> list[Strategy]:
        """The strategies that `explain_search` can be asked for, the configured one first."""
        return self._explaining.strategies

    async def explain_search(
        self,
        query: str,
        *,
        strategy: str = "",
        limit: int = DEFAULT_LIMIT,
        server: str | None = None,
        tag: str | None = None,
        read_only: bool = False,
        caller: Caller = LOCAL,
    ) -> ExplainedSearch:
        """What a search ranks, and what each part of the scores is made of.

        Args:
            query: See `search`; a regular expression is explained by `regex`, whatever the strategy.
            strategy: One of `search_strategies`; empty for the configured one.
            limit: The most hits of each need of the query.
            server: See `search`.
            tag: See `search`.
            read_only: See `search`.
            caller: See `search`.

        Raises:
            UsageError: There is no such strategy or server, or the query is malformed.
            ConfigError: What the strategy needs is missing.
        """
        if server is not None:
            server = self._source_id(server, caller)
        tasks = self._follow_switches()
        if self._lists_first:
            await self._first_listings(tasks, server, caller)
        only = Only(server, tag, read_only, self._switchboard.aside)
        return await self._listings.answered(lambda: self._explaining.explain(query, strategy, caller, limit, only))
