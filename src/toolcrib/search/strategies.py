"""The search strategies by the names that the configuration has for them."""

from collections.abc import Callable, Mapping

from toolcrib.errors import ConfigError, shown
from toolcrib.search.base import Searcher
from toolcrib.search.keyword import KeywordSearcher
from toolcrib.search.regex import RegexSearcher

STRATEGIES: Mapping[str, Callable[[], Searcher]] = {
    "auto": KeywordSearcher,
    "keyword": KeywordSearcher,
    "regex": RegexSearcher,
}
"""What makes an empty searcher, by the strategy's name."""


def make_searcher(strategy: str = "auto") -> Searcher:
    """An empty searcher of a strategy.

    Args:
        strategy: `keyword`, `regex`, or `auto` for the best that is at hand.

    Raises:
        ConfigError: There is no such strategy.
    """
    make = STRATEGIES.get(strategy)
    if make is None:
        raise ConfigError(
            f"There is no search strategy {shown(strategy)}.", hint=f"Use one of: {', '.join(STRATEGIES)}."
        )
    return make()
