"""`ToolRegistry`: every tool known, with its full definition, by id."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from toolcrib.catalog.definitions import Definitions, MemoryDefinitions
from toolcrib.catalog.metadata import ToolMetadata
from toolcrib.catalog.parts import LOCAL_PRINCIPAL, owner_of, part_name, public_name
from toolcrib.catalog.tool import JsonObject, Tool
from toolcrib.errors import LostListingError, StoreError, UnknownToolError
from toolcrib.schema import tool_ids

_PARSED_TOOLS = 512
"""Tools kept parsed: about what a busy conversation touches, some 5 MB at the median definition."""


class _Model(Protocol):
    def model_dump(self, *, by_alias: bool, mode: str, exclude_none: bool) -> dict[str, Any]: ...


class _ListResult(Protocol):
    @property
    def tools(self) -> Iterable[Any]: ...


@dataclass(frozen=True, slots=True)
class _Part:
    """The tools of one source: keys in order, and where their definitions are."""

    keys: dict[str, int]
    names: dict[str, int]
    definitions: Definitions
    version: int


class ToolRegistry:
    """Every tool known, with its full definition.

    Used alone, keys are the servers' own names and caching again replaces everything. With `server=`, keys
    are tool ids (`server.tool`) and only that server's part is replaced; a bare name resolves when it is
    unique. Whatever is handed out is a copy: changing it changes nothing here.
    """

    def __init__(self) -> None:
        self._parts: dict[str | None, _Part] = {}
        self._parsed: OrderedDict[str, Tool] = OrderedDict()
        self._ids: dict[str, Mapping[str, str]] = {}
        self._private: set[str] = set()
        self._own: set[str] = set()  # the parts that are one principal's alone
        self._version = 0

    @property
    def version(self) -> int:
        """Grows with every change of the content."""
        return self._version

    @property
    def is_initialized(self) -> bool:
        """Whether anything was cached since the start or the last `invalidate_all`, be it an empty list."""
        return bool(self._parts)

    @property
    def count(self) -> int:
        """How many tools there are; those that are listed to one principal alone don't count."""
        return sum(1 for _ in self)

    @property
    def tool_names(self) -> list[str]:
        """All keys, server by server, in the order of each listing."""
        return list(self)

    @property
    def servers(self) -> list[str]:
        """The ids of the servers that have a part."""
        return list(dict.fromkeys(map(public_name, self.parts)))

    def has(self, server: str) -> bool:
        """Whether a server has a part, be it of one principal alone."""
        return server in self._parts or any(public_name(part) == server for part in self._own)

    @property
    def parts(self) -> list[str]:
        """The names of the parts of servers; see `toolcrib.catalog.parts`."""
        return [part for part in self._parts if part is not None]

    def part_for(self, server: str, principal: str) -> str | None:
        """The part that a principal sees of a server: its own, else the one that is everybody's; None where the
        server was not listed for it.

        Args:
            server: The server's id.
            principal: The principal's name.
        """
        own = part_name(server, principal)
        if own in self._parts:
            return own
        hidden = server not in self._parts or (server in self._private and principal != LOCAL_PRINCIPAL)
        return None if hidden else server

    def cache_from_tools(
        self, tools: "Iterable[Tool | _Model | Mapping[str, Any]] | _ListResult", *, server: str | None = None
    ) -> None:
        """Cache tool objects: the SDK's tools, ours, mappings, or a whole `ListToolsResult`.

        The SDK's models have already dropped members that they don't know; what a connection of Toolcrib's
        lists keeps them.

        Args:
            tools: The tools of one listing.
            server: Id of the server whose part is replaced; None replaces everything.
        """
        listed = getattr(tools, "tools", tools)
        self.cache_from_maps([_as_map(tool) for tool in cast("Iterable[Any]", listed)], server=server)

    def cache_from_maps(self, maps: Iterable[Mapping[str, Any]], *, server: str | None = None) -> None:
        """Cache definitions as parsed from JSON; an entry without a name is left out.

        Args:
            maps: The definitions of one listing.
            server: Id of the server whose part is replaced; None replaces everything.
        """
        self.put(MemoryDefinitions(maps), server=server)

    def put(
        self,
        definitions: Definitions,
        *,
        server: str | None = None,
        ids: Mapping[str, str] | None = None,
        private: bool = False,
        owner: str = "",
    ) -> None:
        """Cache definitions that are kept elsewhere, such as in a snapshot.

        Args:
            definitions: The definitions of one listing.
            server: Id of the server whose part is replaced; None replaces everything.
            ids: Tool ids by raw name where they are settled already; None settles them, keeping those that
                this registry gave before.
            private: Whether the server lists them for nobody but whom it was asked for.
            owner: The principal that a private listing was made for; empty for the local user.
        """
        names = {name: index for index, name in enumerate(definitions.names)}
        if server is None:
            self._parts.clear()
            self._own.clear()
            keys = names
        else:
            self._parts.pop(None, None)
            own = part_name(server, owner) if private else server
            if ids is None:
                before = self._ids.get(own, {})
                ids = {**before, **tool_ids(server, names, before)}
            self._ids[own] = ids
            keys = {part_name(ids[name], owner if own != server else ""): index for name, index in names.items()}
            if private and own == server:
                self._private.add(server)
            elif not private:
                self._private.discard(server)
            if owner_of(own):
                self._own.add(own)
            server = own
        self._changed()
        self._parts[server] = _Part(keys, names, definitions, self._version)

    def remove(self, server: str) -> None:
        """Forget one server's tools, or those of one part of it."""
        gone = [part for part in self.parts if server in {part, public_name(part)}]
        for part in gone:
            del self._parts[part]
            self._own.discard(part)
        if gone:
            self._changed()

    def invalidate_all(self) -> None:
        """Forget everything; the next caching starts afresh."""
        self._parts.clear()
        self._own.clear()
        self._changed()

    def get_all_metadata(self) -> list[ToolMetadata]:
        """Name and description of every tool, in the order of the keys."""
        return [ToolMetadata(tool.id, tool.description) for tool in self.tools()]

    def get_metadata(self, name: str) -> ToolMetadata | None:
        """Name and description of one tool, or None."""
        found = self._find(name)
        if found is None:
            return None
        tool = self._read(*found)
        return ToolMetadata(tool.id, tool.description)

    def get_schema(self, name: str) -> JsonObject | None:
        """A copy of the whole definition of one tool as it was listed, or None."""
        found = self._find(name)
        if found is None:
            return None
        server, key = found
        part = self._parts[server]
        return part.definitions.read(part.keys[key])

    def has_tool(self, name: str) -> bool:
        """Whether the key is known, or the bare name is known once."""
        return self._find(name) is not None

    def tool(self, name: str) -> Tool:
        """One tool, parsed and kept for the next time: its definition must not be changed.

        Raises:
            UnknownToolError: There is no such key, and no unique bare name.
        """
        kept = self._parsed.get(name)
        if kept is not None:
            self._parsed.move_to_end(name)
            return kept
        found = self._find(name)
        if found is None:
            raise UnknownToolError(name)
        tool = self._read(*found)
        self._parsed[name] = tool
        if len(self._parsed) > _PARSED_TOOLS:
            self._parsed.popitem(last=False)
        return tool

    def tools(self, server: str | None = None) -> Iterator[Tool]:
        """All tools, or those of one server or part; each parsed when it is reached."""
        for name in self._everybodys() if server is None else [server]:
            part = self._parts.get(name)
            for key in part.keys if part else ():
                yield self._read(name, key)

    def version_of(self, server: str) -> int:
        """The version at which one server's tools last changed; -1 when it has none."""
        part = self._parts.get(server)
        return part.version if part else -1

    def keys(self, server: str) -> list[str]:
        """The tool ids of one server, or the keys of one part, in the order of its listing."""
        part = self._parts.get(server)
        return list(part.keys) if part else []

    def raw_names(self, server: str) -> dict[str, str]:
        """The same with the names on the wire."""
        part = self._parts.get(server)
        return {key: part.definitions.names[index] for key, index in part.keys.items()} if part else {}

    def __len__(self) -> int:
        return self.count

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.has_tool(name)

    def __iter__(self) -> Iterator[str]:
        for name in self._everybodys():
            yield from self._parts[name].keys

    def _everybodys(self) -> list[str | None]:
        return [name for name in self._parts if name is None or not owner_of(name)]

    def _changed(self) -> None:
        self._parsed.clear()
        self._version += 1

    def _find(self, name: str) -> tuple[str | None, str] | None:
        """The part and key that a key or a unique bare name stands for."""
        alone = self._parts.get(None)
        if alone is not None:
            return (None, name) if name in alone.keys else None
        server = part_name(name.partition(".")[0], owner_of(name))
        part = self._parts.get(server)
        if part is not None and name in part.keys:
            return server, name
        bare = [(each, self._parts[each]) for each in self._everybodys() if name in self._parts[each].names]
        if len(bare) != 1:
            return None
        owner, part = bare[0]
        index = part.names[name]
        return owner, next(key for key, position in part.keys.items() if position == index)

    def _read(self, server: str | None, key: str) -> Tool:
        part = self._parts[server]
        index = part.keys[key]
        try:
            definition = part.definitions.read(index)
        except StoreError as error:
            raise LostListingError(public_name(server or ""), error.message, hint=error.hint) from error
        return Tool(
            public_name(key), public_name(server or ""), part.definitions.names[index], definition, owner_of(key)
        )


def _as_map(tool: Any) -> Mapping[str, Any]:
    if isinstance(tool, Tool):
        return tool.definition
    if isinstance(tool, Mapping):
        return cast("Mapping[str, Any]", tool)
    return cast("_Model", tool).model_dump(by_alias=True, mode="json", exclude_none=True)
