"""How long and for whom an answer may be kept (specification 2026-07-28, server/utilities/caching)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LONGEST_TTL = 24 * 3600.0
"""Seconds: a longer promise is not believed."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """How long and for whom an answer may be kept.

    Attributes:
        ttl: Seconds for which the server promises it to be fresh; None where it promises nothing.
        private: Whether it is for nobody but whom it was fetched for.
    """

    ttl: float | None = None
    private: bool = False


def freshness_of(result: Mapping[str, Any], earlier: Freshness | None = None) -> Freshness:
    """What a result says of itself.

    Args:
        result: As sent.
        earlier: Of the pages before it: of several the shortest time counts, and one that is private makes all so.
    """
    ttl: float | None = None
    hint = result.get("ttlMs")
    if isinstance(hint, int | float) and not isinstance(hint, bool) and hint > 0:
        ttl = min(hint / 1000, LONGEST_TTL)
    private = result.get("cacheScope") == "private"
    if earlier is None:
        return Freshness(ttl, private)
    times = [each for each in (ttl, earlier.ttl) if each is not None]
    return Freshness(min(times) if times else None, private or earlier.private)
