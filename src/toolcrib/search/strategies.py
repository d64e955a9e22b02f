"""The search strategies by the names that the configuration has for them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolcrib.errors import ConfigError, shown
from toolcrib.search.base import Searcher
from toolcrib.search.choosing import chooser_of
from toolcrib.search.delegate import Chooser, DelegateSearcher
from toolcrib.search.embedders import Embedder, configured_embedder
from toolcrib.search.hybrid import HybridSearcher
from toolcrib.search.keyword import KeywordSearcher
from toolcrib.search.regex import RegexSearcher
from toolcrib.search.semantic import PATIENCE, SemanticSearcher
from toolcrib.smallmodel import SmallModel

if TYPE_CHECKING:
    from toolcrib.config import SearchSettings


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a strategy may be made of."""

    settings: "SearchSettings | None"
    embedder: Embedder | None
    chooser: Chooser | None

    @property
    def patience(self) -> float:
        return PATIENCE if self.settings is None else self.settings.embedder_patience


def make_searcher(
    strategy: str = "auto",
    *,
    settings: "SearchSettings | None" = None,
    embedder: Embedder | None = None,
    chooser: Chooser | None = None,
    small_model: SmallModel | None = None,
) -> Searcher:
    """An empty searcher of a strategy.

    Args:
        strategy: `keyword`, `regex`, `semantic`, `hybrid`, `delegate` (or `subagent`), or `auto` for the best
            that is at hand: `hybrid` where there is an embedder, else `keyword`.
        settings: Says which embedder to take; None takes the installed model's, if there is one.
        embedder: Taken in place of the one in the settings.
        chooser: Chooses for `delegate`.
        small_model: Chooses where there is no `chooser`.

    Raises:
        ConfigError: There is no such strategy, or what it needs is missing.
    """
    make = STRATEGIES.get(strategy)
    if make is None:
        raise ConfigError(
            f"There is no search strategy {shown(strategy)}.", hint=f"Use one of: {', '.join(STRATEGIES)}."
        )
    if chooser is None and small_model is not None:
        chooser = chooser_of(small_model)
    return make(_Parts(settings, embedder, chooser))


def _best(parts: _Parts) -> Searcher:
    embedder = parts.embedder or configured_embedder(parts.settings)
    if embedder is None:
        return KeywordSearcher()
    return HybridSearcher(embedder, patience=parts.patience)


def _delegate(parts: _Parts) -> Searcher:
    if parts.chooser is None:
        raise ConfigError(
            "The search strategy delegate has no model to choose with.",
            hint="Set `toolcrib.small_model` to provider:model (a program hands it to Crib.open), or take another "
            "strategy.",
        )
    return DelegateSearcher(_best(parts), parts.chooser)


def _embedder(parts: _Parts) -> Embedder:
    embedder = parts.embedder or configured_embedder(parts.settings)
    if embedder is None:
        raise ConfigError(
            "Searching by meaning needs an embedder, and there is none.",
            hint="Install toolcrib[semantic], set `search.embedder_url`, or take the search strategy `keyword`.",
        )
    return embedder


def _hybrid(parts: _Parts) -> Searcher:
    return HybridSearcher(_embedder(parts), patience=parts.patience)


def _semantic(parts: _Parts) -> Searcher:
    return SemanticSearcher(_embedder(parts), patience=parts.patience)


STRATEGIES: Mapping[str, Callable[[_Parts], Searcher]] = {
    "auto": _best,
    "keyword": lambda parts: KeywordSearcher(),
    "regex": lambda parts: RegexSearcher(),
    "semantic": _semantic,
    "hybrid": _hybrid,
    "delegate": _delegate,
    "subagent": _delegate,
}
"""What makes an empty searcher, by the strategy's name."""
