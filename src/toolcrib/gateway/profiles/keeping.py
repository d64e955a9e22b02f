"""For how long and for whom a client may keep what several servers said together."""

from toolcrib.broker import Caller
from toolcrib.catalog import LOCAL_PRINCIPAL, JsonObject

_LONGEST_MS = 24 * 3_600_000


def kept(caller: Caller, ttl: float | None, *, private: bool) -> JsonObject:
    """The members of a list that say so (specification 2026-07-28, server/utilities/caching).

    Args:
        caller: Who asks. What is shown to one of several principals is for that one alone.
        ttl: Seconds for which all of it is promised to be fresh; None where one server promises nothing.
        private: Whether a part of it is for nobody but whom it was fetched for.
    """
    ttl_ms = 0 if ttl is None else int(min(ttl * 1_000, _LONGEST_MS))
    own = private or ttl is None or caller.principal.name != LOCAL_PRINCIPAL
    return {"ttlMs": ttl_ms, "cacheScope": "private" if own else "public"}
