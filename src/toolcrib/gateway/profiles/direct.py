"""The profile `all`: every tool of every server directly, called as if its server were there."""

import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from toolcrib.broker import Caller, Options, PageNeededError, UnknownTokenError
from toolcrib.catalog import JsonObject, Tool, VisibleSet, public_name
from toolcrib.crib import Crib
from toolcrib.errors import ProtocolError, ToolcribError, UnknownToolError, UsageError, shown
from toolcrib.gateway.profiles.keeping import kept
from toolcrib.gateway.profiles.names import DirectNames
from toolcrib.gateway.profiles.paging import Place, Row, page
from toolcrib.gateway.profiles.projecting import fitting
from toolcrib.gateway.profiles.surface import Asked
from toolcrib.metatools import READ_RESULT, MetaTools, call_notes, compact, error_text, text_result


class DirectTools:
    """Every visible tool under a name of its own.

    Args:
        crib: An open crib.
    """

    def __init__(self, crib: Crib) -> None:
        self._crib = crib
        self._own = MetaTools(crib)
        self._budget = crib.config.settings.direct.result_budget
        self._names: weakref.WeakKeyDictionary[VisibleSet, tuple[tuple[str, ...], DirectNames]] = (
            weakref.WeakKeyDictionary()
        )
        self.instructions = ""

    async def page(self, asked: Asked) -> JsonObject:
        """See `Surface.page`."""
        await self._crib.list_first(caller=asked.caller)
        names = self.names(asked.caller)
        rows = [Row(Place(rank, name), key) for rank, _, name, key in names]
        own = self._own_tools(asked.caller)
        found, following = page("tools", rows, asked.cursor, self._definition)
        if own and following is None:
            found = [*found, *own]
        ttl, private = self._crib.tools_freshness(caller=asked.caller)
        answer: JsonObject = {"tools": fitting("tools/list", found, asked.version)}
        answer |= kept(asked.caller, ttl, private=private)
        if following is not None:
            answer["nextCursor"] = following
        return answer

    async def call(self, name: str, arguments: JsonObject, caller: Caller, options: Options) -> JsonObject:
        """See `Surface.call`: the server's own result, whole; what Toolcrib has to say of it is in `_meta`."""
        if name == READ_RESULT and self._budget is not None:
            return await self._own.call(name, arguments, caller, replace(options, budget=self._budget))
        key = self.names(caller).key_of(name)
        if key is None:
            await self._crib.list_first(caller=caller)
            key = self.names(caller).key_of(name)
        try:
            # A name that is not in the list may be of a server that is still starting.
            outcome = await self._crib.request(
                "tools/call", key or name, arguments, caller, replace(options, budget=self._budget)
            )
        except UnknownToolError as error:
            raise UsageError(f"There is no tool {shown(name)}.", hint="List the tools: it may be gone.") from error
        except (ProtocolError, UnknownTokenError) as error:
            if isinstance(error, PageNeededError) and options.returns:
                return text_result(error_text(error), is_error=True)  # its revision knows the error no more
            raise
        except ToolcribError as error:
            return text_result(error_text(error), is_error=True)
        if outcome.kind == "input_required":
            return {**outcome.result, "requestState": outcome.token}
        return _noted(outcome.result, call_notes(self._crib, outcome))

    def shown(self, caller: Caller) -> frozenset[str]:
        """See `Surface.shown`."""
        return self.names(caller).ids

    def input_schema(self, name: str, caller: Caller) -> JsonObject | None:
        """See `Surface.input_schema`."""
        key = self.names(caller).key_of(name)
        schema = None if key is None else self._crib.registry.tool(key).input_schema
        return cast("JsonObject", schema) if isinstance(schema, dict) else None

    def names(self, caller: Caller) -> DirectNames:
        """The names of all tools that the caller may know of and that are listed."""
        visible = self._crib.visible(caller)
        order = tuple(source.id for source in self._crib.known_sources(caller=caller))
        found = self._names.get(visible)
        if found is None or found[0] != order:
            keys = self._crib.known_keys(caller=caller)
            raw = {
                key: name
                for part in {self._crib.registry.part_for(server, caller.principal.name) for server in order}
                if part is not None
                for key, name in self._crib.registry.raw_names(part).items()
            }
            entries = ((key, *_parts(key), raw[key]) for key in keys)
            found = self._names[visible] = (order, DirectNames(entries, order, self._crib.prefixes))
        return found[1]

    def text_of(self, tool: Tool) -> str:
        """A definition about as a client hands it to a model."""
        return compact({**tool.definition, "name": f"{tool.server}__{tool.name}"})

    def _definition(self, row: Row[str]) -> JsonObject:
        return {**self._crib.registry.tool(row.key).definition, "name": row.place.name}

    def _own_tools(self, caller: Caller) -> list[JsonObject]:
        if self._budget is None:
            return []
        return [each for each in self._own.definitions(caller) if each["name"] == READ_RESULT]


def _parts(key: str) -> tuple[str, str]:
    """The server's id and the tool's part of the id that a key stands for."""
    server, _, tool = public_name(key).partition(".")
    return server, tool


def _noted(result: JsonObject, notes: Mapping[str, object]) -> JsonObject:
    if not notes:
        return result
    meta = result.get("_meta")
    return {**result, "_meta": {**(cast("JsonObject", meta) if isinstance(meta, dict) else {}), **notes}}
