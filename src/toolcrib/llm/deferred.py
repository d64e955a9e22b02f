"""`DeferredToolManager`: names and descriptions first, schemas when they are needed, in the words of the pattern."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

import anyio

from toolcrib.catalog import JsonObject, Tool, ToolMetadata, ToolRegistry
from toolcrib.crib import Crib
from toolcrib.crib.opening import connected_clients
from toolcrib.errors import UsageError
from toolcrib.schema import UnusableSchemaError, ValidationResult, ValidatorCache, WireNames, coerce

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client.session import ClientSession

LlmToolMetadata = ToolMetadata
"""Metadata as a model gets it: the same class as the catalog's."""


class DeferredToolManager:
    """Keeps what a model is told of tools at first, and what it needs to know when it calls one.

    Names are those that models see, `server__tool`; ids and the servers' own names are understood too where they
    are clear. Over an open crib it follows every change of the servers' lists at once, one server at a time; a
    listing of clients stays as it is until `invalidate`.
    """

    def __init__(self) -> None:
        self._crib: Crib | None = None
        self._version = 0
        self._known: _Known | None = None
        self._validators = ValidatorCache()
        self._lock = anyio.Lock()
        self._generation = 0

    async def initialize(self, source: "Crib | Client | ClientSession | Mapping[str, Client | ClientSession]") -> None:
        """List the tools of a crib, of one connected client, or of several by id; nothing when that was done already.

        Several at once list once. A listing that fails leaves the manager as it was.

        Raises:
            ServerError: A client can't list its tools.
        """
        async with self._lock:
            if self._known is not None:
                return
            while True:
                generation = self._generation
                tools = await _listed(source)
                if generation == self._generation:  # an invalidation meanwhile makes this listing worthless
                    break
            self._crib = source if isinstance(source, Crib) else None
            self._version = self._crib.registry.version if self._crib else 0
            self._known = _Known(tools)

    @property
    def is_initialized(self) -> bool:
        """Whether tools were listed since the last `reset` or `invalidate`."""
        return self._known is not None

    @property
    def count(self) -> int:
        """How many tools there are."""
        return len(self._now.tools)

    @property
    def tool_names(self) -> list[str]:
        """Their names."""
        return list(self._now.tools)

    def has_tool(self, name: str) -> bool:
        """Whether there is a tool of that name."""
        return self._find(name) is not None

    def get_metadata(self, name: str) -> ToolMetadata | None:
        """Name and description of a tool, or None."""
        found = self._find(name)
        return None if found is None else ToolMetadata(found[0], found[1].description)

    def get_metadata_for_llm(self) -> list[ToolMetadata]:
        """Name and description of every tool."""
        return [ToolMetadata(name, tool.description) for name, tool in self._now.tools.items()]

    get_all_metadata = get_metadata_for_llm

    def get_full_schema(self, name: str) -> JsonObject | None:
        """The whole definition of a tool under the name that models see, or None."""
        found = self._find(name)
        return None if found is None else {**found[1].definition, "name": found[0]}

    def validate_tool_call(self, name: str, arguments: Mapping[str, object]) -> ValidationResult:
        """Whether a call would be sent: the tool is known, and its arguments fit its schema, once what can't be
        meant otherwise is mended."""
        found = self._find(name)
        if found is None:
            return ValidationResult.invalid(f"Tool not found: {name}")
        _, tool = found
        try:
            validator = self._validators.get(tool.input_schema, key=(tool.id, self._generation, self._version))
        except UnusableSchemaError:
            return ValidationResult.valid()
        return validator.validate(coerce(cast("JsonObject", dict(arguments)), validator).value)

    def invalidate(self) -> None:
        """Forget the tools, since the list has changed; `initialize` lists anew."""
        self._known = None
        self._generation += 1

    reset = invalidate

    @property
    def _now(self) -> "_Known":
        """What is known, brought up to the crib's catalog where there is one."""
        if self._known is None:
            return _NOTHING
        if self._crib is not None and self._crib.registry.version != self._version:
            self._version = self._crib.registry.version
            self._known = _Known(self._crib.known_tools())
        return self._known

    def _find(self, name: str) -> tuple[str, Tool] | None:
        return self._now.find(name)


class _Known:
    """Tools by the names that models see, and by other spellings where those are clear."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        listed = list(tools)
        names = WireNames(tool.id for tool in listed)
        self.tools = {names.name_of(tool.id): tool for tool in listed}
        self._others = _unambiguous(self.tools)

    def find(self, name: str) -> tuple[str, Tool] | None:
        known = name if name in self.tools else self._others.get(name)
        return None if known is None else (known, self.tools[known])


async def _listed(source: "Crib | Client | ClientSession | Mapping[str, Client | ClientSession]") -> list[Tool]:
    if isinstance(source, Crib):
        return await source.tools()
    # A crib goes on without a client that can't list; here that would be kept as a server without tools.
    registry = ToolRegistry()
    for client in connected_clients(_by_id(source)):
        if client.offers("tools"):
            registry.cache_from_maps(await client.list("tools/list"), server=client.id)
    return list(registry.tools())


def crib_of(clients: "Client | ClientSession | Mapping[str, Client | ClientSession]") -> Crib:
    """A crib over one connected client, whose tools are then `mcp.…`, or over several by id.

    Raises:
        UsageError: There are none.
    """
    return Crib.from_clients(_by_id(clients))


def _by_id(
    clients: "Client | ClientSession | Mapping[str, Client | ClientSession]",
) -> "Mapping[str, Client | ClientSession]":
    if not isinstance(clients, Mapping):
        return {"mcp": clients}
    if not clients:
        raise UsageError("There are no clients.", hint="Give at least one connected client, or a crib.")
    return clients


def _unambiguous(tools: Mapping[str, Tool]) -> dict[str, str]:
    """Other spellings of the names, without those that could mean two tools."""
    spellings: dict[str, str | None] = {}
    for name, tool in tools.items():
        for other in {tool.id, tool.name} - {name}:
            spellings[other] = None if other in spellings or other in tools else name
    return {other: name for other, name in spellings.items() if name is not None}


_NOTHING = _Known(())
