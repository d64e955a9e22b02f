"""The profile `discover`: the constant tools that lead to all others."""

from toolcrib.broker import Caller, Options
from toolcrib.catalog import JsonObject
from toolcrib.crib import Crib
from toolcrib.errors import UsageError
from toolcrib.gateway.profiles.surface import Asked
from toolcrib.metatools import CALL_TOOL, GET_TOOL_DETAILS, SEARCH_TOOLS, MetaTools

INSTRUCTIONS = (
    f"Many tools of many servers are behind these few. Find one with {SEARCH_TOOLS}, read its definition with "
    f"{GET_TOOL_DETAILS} where its signature leaves questions open, and use it with {CALL_TOOL}."
)

_CONSTANT: JsonObject = {"ttlMs": 5 * 60_000, "cacheScope": "private"}
"""The list stays the same as long as the configuration; private, because it may differ by principal."""


class DiscoverTools:
    """The constant tools over one crib.

    Args:
        crib: An open crib.
    """

    def __init__(self, crib: Crib) -> None:
        self._tools = MetaTools(crib)
        self.instructions = INSTRUCTIONS

    async def page(self, asked: Asked) -> JsonObject:
        """See `Surface.page`: there is one."""
        if asked.cursor is not None:
            raise UsageError("There is no such page of tools.", hint="The list is one page; ask without a cursor.")
        return {"tools": self._tools.definitions(asked.caller), **_CONSTANT}

    async def call(self, name: str, arguments: JsonObject, caller: Caller, options: Options) -> JsonObject:
        """See `Surface.call`."""
        return await self._tools.call(name, arguments, caller, options)

    def shown(self, caller: Caller) -> frozenset[str]:
        """See `Surface.shown`: none, so that the list never changes."""
        return frozenset()

    def input_schema(self, name: str, caller: Caller) -> JsonObject | None:
        """See `Surface.input_schema`: none, since no argument of the constant tools goes into a header."""
        return None
