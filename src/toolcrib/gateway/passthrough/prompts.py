"""Prompts of all servers in one list, named like tools."""

from collections.abc import Sequence

from toolcrib.broker import Caller, Options, Outcome, Principal
from toolcrib.catalog import JsonObject
from toolcrib.crib import Crib
from toolcrib.crib.offers import Offered
from toolcrib.errors import UsageError, shown
from toolcrib.gateway.profiles.keeping import kept
from toolcrib.gateway.profiles.names import DirectNames
from toolcrib.gateway.profiles.paging import Place, Row, page
from toolcrib.gateway.profiles.projecting import fitting
from toolcrib.gateway.profiles.surface import Asked


class NoPromptError(UsageError):
    """No server that the caller may know of has that prompt."""

    code = "prompt_unknown"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no prompt {shown(name)}.", hint="List the prompts: it may be gone.")


class PassedPrompts:
    """Lists and gets the prompts of all servers that a caller may know of.

    Args:
        crib: An open crib.
    """

    def __init__(self, crib: Crib) -> None:
        self._crib = crib
        self._known: dict[Principal, dict[str, tuple[str, str]]] = {}

    async def page(self, asked: Asked) -> JsonObject:
        """One page of prompts: server by server as configured, then by name.

        Raises:
            UsageError: There is no such page.
        """
        offered = await self._crib.offered("prompts/list", caller=asked.caller)
        rows = self._take(asked.caller, offered)
        found, following = page("prompts", rows, asked.cursor, lambda row: row.key)
        answer: JsonObject = {"prompts": fitting("prompts/list", found, asked.version)}
        answer |= kept(asked.caller, offered.ttl, private=offered.private)
        return answer if following is None else {**answer, "nextCursor": following}

    async def get(self, name: str, params: JsonObject, caller: Caller, options: Options) -> Outcome:
        """Get a prompt from the server that has it.

        Raises:
            NoPromptError: There is none of that name.
            ServerError: Its server can't be reached, or refused.
        """
        server, own = await self.find(name, caller)
        return await self._crib.request("prompts/get", server, {**params, "name": own}, caller, options)

    async def find(self, name: str, caller: Caller) -> tuple[str, str]:
        """The server that has a prompt, and the name by which it knows it.

        Raises:
            NoPromptError: There is none of that name.
        """
        found = self._known.get(caller.principal, {}).get(name)
        if found is None or all(source.id != found[0] for source in self._crib.known_sources(caller=caller)):
            self._take(caller, await self._crib.offered("prompts/list", caller=caller))
            found = self._known[caller.principal].get(name)
        if found is None:
            raise NoPromptError(name)
        return found

    def _take(self, caller: Caller, offered: Offered) -> Sequence[Row[JsonObject]]:
        entries: dict[tuple[str, str], JsonObject] = {}
        for server, entry in offered.entries():
            if isinstance(entry.get("name"), str):
                entries.setdefault((server, entry["name"]), entry)
        keys = {f"{server}.{name}": (server, name) for server, name in entries}
        names = DirectNames(
            ((key, server, name, name) for key, (server, name) in keys.items()),
            [source.id for source in self._crib.known_sources(caller=caller)],
            self._crib.prefixes,
        )
        self._known[caller.principal] = {name: keys[key] for _, _, name, key in names}
        return [Row(Place(rank, name), {**entries[keys[key]], "name": name}) for rank, _, name, key in names]
