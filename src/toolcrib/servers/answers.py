"""Answers of one connection that the server promised to be fresh for a while: kept, and given again until then."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import anyio

from toolcrib.catalog.definitions import parse_line, to_line
from toolcrib.servers.freshness import Freshness

if TYPE_CHECKING:
    from toolcrib.catalog import JsonObject
    from toolcrib.servers.connection import Connection

MOST_ANSWERS = 200
LARGEST_ANSWER = 1_000_000
"""Bytes of JSON."""

_OUTDATED_BY: Mapping[str, frozenset[str]] = {
    "notifications/resources/list_changed": frozenset({"resources/list", "resources/templates/list"}),
    "notifications/resources/updated": frozenset({"resources/read"}),
    "notifications/prompts/list_changed": frozenset({"prompts/list"}),
}


class Answers:
    """Keeps answers for as long as the server promised, and private ones for whom they were fetched for.

    The time is the server's promise, the principal its condition (specification 2026-07-28, server/utilities/caching).
    A notification that something has changed counts for more than a promise, and nothing outlasts the connection.

    Args:
        clock: The time in seconds.

    Attributes:
        changes: How often something was said to have changed: what was asked before may be answered as it was before.
    """

    def __init__(self, clock: Callable[[], float] = anyio.current_time) -> None:
        self._clock = clock
        self._connection: Connection | None = None
        self._kept: OrderedDict[tuple[str, bytes, str], tuple[float, bytes]] = OrderedDict()
        self.changes = 0

    def find(
        self, connection: "Connection", method: str, params: Mapping[str, Any], principal: str
    ) -> "JsonObject | None":
        """A copy of a fresh answer that the principal may have, or None."""
        if connection is not self._connection:
            self._kept.clear()
            self._connection = connection
        asked = to_line(params)
        for owner in ("", principal):
            found = self._kept.get((method, asked, owner))
            if found is not None and self._clock() < found[0]:
                return parse_line(found[1])
        return None

    def keep(
        self,
        method: str,
        params: Mapping[str, Any],
        principal: str,
        answer: "JsonObject",
        freshness: Freshness,
    ) -> None:
        """Keep an answer, if it may be kept.

        Args:
            method: What was asked.
            params: Of that.
            principal: Whom it was fetched for.
            answer: The result as sent.
            freshness: What it says of itself.
        """
        if freshness.ttl is None or answer.get("resultType", "complete") != "complete":
            return
        line = to_line(answer)
        if len(line) > LARGEST_ANSWER:
            return
        key = (method, to_line(params), principal if freshness.private else "")
        self._kept.pop(key, None)
        self._kept[key] = (self._clock() + freshness.ttl, line)
        if len(self._kept) > MOST_ANSWERS:
            self._kept.popitem(last=False)

    def heard(self, notification: str) -> None:
        """Forget what a notification says has changed."""
        outdated = _OUTDATED_BY.get(notification, frozenset[str]())
        self.changes += bool(outdated)
        for key in [key for key in self._kept if key[0] in outdated]:
            del self._kept[key]
