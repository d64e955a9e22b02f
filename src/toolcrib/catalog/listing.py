"""What a source lists: entries, with how long and for whom they may be kept."""

from collections.abc import Iterable, Mapping

from toolcrib.catalog.source import ListMethod
from toolcrib.catalog.tool import JsonObject

CAPABILITIES: Mapping[ListMethod, str] = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resources",
    "prompts/list": "prompts",
}
"""The capability that a server claims which answers a list request."""


class Listing(list[JsonObject]):
    """Entries over all pages, as sent.

    Args:
        entries: The entries.
        ttl: Seconds for which they are still promised to be fresh; None where nothing is promised.
        private: Whether they are for nobody but whom they were fetched for.

    Attributes:
        ttl: The same.
        private: The same.
    """

    def __init__(self, entries: Iterable[JsonObject] = (), ttl: float | None = None, *, private: bool = False) -> None:
        super().__init__(entries)
        self.ttl = ttl
        self.private = private
