"""What a crib offers as a whole: all that is there for one caller, in order."""

from collections.abc import Iterator

from toolcrib.broker import LOCAL, Caller
from toolcrib.catalog import Source, Tool
from toolcrib.crib.work import CribWork
from toolcrib.servers import McpServer


class CribExposing(CribWork):
    """A crib as what shows all that it has needs it."""

    async def list_first(self, *, caller: Caller = LOCAL) -> list[str]:
        """List the servers that never were, wait a little, and name those that are still to come."""
        tasks = self._follow_switches()
        return await self._first_listings(tasks, None, caller) if self._lists_first else []

    def known_sources(self, *, caller: Caller = LOCAL) -> list[Source]:
        """The sources that are on and that the caller may know of, in the order of the configuration."""
        return [each for each in self._sources if not self._is_hidden(each.id, caller) and not self._is_off(each.id)]

    def known_keys(self, *, caller: Caller = LOCAL) -> list[str]:
        """What all tools go by in the catalog that the caller may know of and that are listed already."""
        visible = self._access.visible(caller.principal)
        return [key for part in self._parts_of(caller) for key in self.registry.keys(part) if key in visible]

    def known_tools(self, *, caller: Caller = LOCAL) -> list[Tool]:
        """All tools that the caller may know of and that are listed already; nothing is started.

        Raises:
            LostListingError: A stored listing can't be read.
        """
        visible = self._access.visible(caller.principal)
        return [tool for part in self._parts_of(caller) for tool in self.registry.tools(part) if tool.key in visible]

    @property
    def prefixes(self) -> dict[str, str]:
        """What stands before the names of directly exposed tools and prompts in place of the server's id, by that
        id. None at all is for a server that stands alone."""
        usable = [each for each in self._sources if not isinstance(each, McpServer) or not each.config.disabled]
        prefixes = {each.id: each.config.options.prefix for each in usable if isinstance(each, McpServer)}
        return {key: prefix for key, prefix in prefixes.items() if prefix or (prefix == "" and len(usable) == 1)}

    def _parts_of(self, caller: Caller) -> Iterator[str]:
        """The parts of the catalog that the caller sees, without those of servers that are off."""
        for server in self.registry.servers:
            part = self.registry.part_for(server, caller.principal.name)
            if part is not None and not self._is_off(server):
                yield part
