"""`Aliases`: which tool a model or a person meant by a name, however it is spelled."""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from functools import cached_property

from toolcrib.errors import AmbiguousNameError, UnknownToolError
from toolcrib.schema.near import NearNames
from toolcrib.schema.wire import MAX_WIRE_NAME, wire_name

Spellings = dict[str, list[str]]

LONGEST_NAME = 512
"""Characters of a name beyond which only an exact spelling is looked for, and suggestions see the head."""
MOST_CANDIDATES = 20
"""Ids named in the error about an ambiguous name at most."""
_MOST_SETS = 64
"""Visible sets of which the near names are kept."""

_SEPARATOR = re.compile(r"__|[/_:.]")
_FOREIGN = re.compile(r"(?:[^\w\n]|_)+")
_PREFIX = "mcp__"


class Aliases:
    """Finds a tool's id from any spelling of its name.

    An exact id wins. Then the exact spellings are tried: the raw name alone, `server/tool`,
    `server__tool`, `server_tool`, `server:tool`, `server.tool`, `mcp__server__tool` and the name on a
    provider's wire, with the tool's raw name or its identifier. Then the same without regard to case
    and punctuation. Nothing is built before it is needed.

    Args:
        entries: For each tool its id, its server's id and its raw name.
    """

    def __init__(self, entries: Iterable[tuple[str, str, str]]) -> None:
        self._entries = list(entries)
        self._near_in: dict[int, tuple[Container[str], NearNames]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def resolve(self, name: str, visible: Container[str] | None = None) -> str:
        """The id of the one tool that a name means.

        Args:
            name: What was written.
            visible: The ids that may be found and suggested; None means all. An id outside counts as
                not there.

        Raises:
            AmbiguousNameError: The name fits several visible tools; `candidates` has their ids.
            UnknownToolError: It fits none; `candidates` has the nearest.
        """
        if name in self._ids and (visible is None or name in visible):
            return name
        name = name.strip()
        for readings in (self._exact_readings, self._loose_readings):
            found = [tool_id for tool_id in dict.fromkeys(readings(name)) if visible is None or tool_id in visible]
            if len(found) == 1:
                return found[0]
            if found:
                raise AmbiguousNameError(name[:LONGEST_NAME], found[:MOST_CANDIDATES])
        raise UnknownToolError(name[:LONGEST_NAME], self.near(name, visible))

    def near(self, name: str, visible: Container[str] | None = None, limit: int = 3) -> tuple[str, ...]:
        """The visible ids most like a name, best first; empty when none is like it."""
        return self._near_among(visible).find(name[:LONGEST_NAME], limit)

    def _near_among(self, visible: Container[str] | None) -> NearNames:
        """What finds names among the visible ones. Which words are rare, or there at all, must not be told by others:
        so those are not even looked at."""
        if visible is None:
            return self._near
        kept = self._near_in.get(id(visible))
        if kept is None:
            if len(self._near_in) >= _MOST_SETS:
                self._near_in.clear()
            near = NearNames([tool_id for tool_id, _, _ in self._entries if tool_id in visible])
            # The set is kept beside it: as long as it is, nothing else has its identity.
            kept = self._near_in[id(visible)] = (visible, near)
        return kept[1]

    def _exact_readings(self, name: str) -> Iterator[str]:
        plain = name.removeprefix(_PREFIX)
        for spelling in dict.fromkeys((name, plain)):
            if spelling in self._ids:
                yield spelling
            yield from self._alone.get(spelling, ())
            for split in _SEPARATOR.finditer(spelling[:LONGEST_NAME]):
                # "a__b" may be cut at "__", or at either "_" where an id ends or a tool begins with one
                for start, end in {split.span(), (split.start(), split.start() + 1)}:
                    tools = self._by_server.get(spelling[:start])
                    if tools:
                        yield from tools.get(spelling[end:], ())
        yield from self._on_wire.get(plain, ())

    def _loose_readings(self, name: str) -> Iterator[str]:
        if len(name) > LONGEST_NAME:
            return
        folded = _folded(name)
        for spelling in dict.fromkeys((folded, folded.removeprefix(_folded(_PREFIX)))):
            yield from self._loose.get(spelling, ())

    @cached_property
    def _ids(self) -> frozenset[str]:
        return frozenset(tool_id for tool_id, _, _ in self._entries)

    @cached_property
    def _near(self) -> NearNames:
        return NearNames([tool_id for tool_id, _, _ in self._entries])

    @cached_property
    def _by_server(self) -> dict[str, Spellings]:
        tables: dict[str, Spellings] = {}
        for tool_id, server, raw in self._entries:
            table = tables.setdefault(server, {})
            table.setdefault(raw, []).append(tool_id)
            identifier = tool_id[len(server) + 1 :]
            if identifier != raw:
                table.setdefault(identifier, []).append(tool_id)
        return tables

    @cached_property
    def _alone(self) -> Spellings:
        table: Spellings = {}
        for tool_id, server, raw in self._entries:
            table.setdefault(raw, []).append(tool_id)
            identifier = tool_id[len(server) + 1 :]
            if identifier != raw:
                table.setdefault(identifier, []).append(tool_id)
        return table

    @cached_property
    def _on_wire(self) -> Spellings:
        """Only the names on the wire that were cut or cleaned; all others can be read off."""
        table: Spellings = {}
        for tool_id, server, _ in self._entries:
            if len(tool_id) >= MAX_WIRE_NAME or not tool_id.isascii():
                table.setdefault(wire_name(server, tool_id[len(server) + 1 :]), []).append(tool_id)
        return table

    @cached_property
    def _loose(self) -> Spellings:
        """Folded spellings: of the raw name and the identifier, each alone and behind the server."""
        table: Spellings = {}
        heads = {server: f"{_folded(server).rstrip('_')}_" for server in self._by_server}
        raws = _all_folded([raw for _, _, raw in self._entries])
        tools = _all_folded([tool_id[len(server) + 1 :] for tool_id, server, _ in self._entries])
        for (tool_id, server, _), raw, tool in zip(self._entries, raws, tools, strict=True):
            head = heads[server]
            for spelling in {raw, tool, head + raw.lstrip("_"), head + tool.lstrip("_")}:
                table.setdefault(spelling, []).append(tool_id)
        return table


def _folded(text: str) -> str:
    """A text without regard to case and punctuation; line ends stay."""
    return _FOREIGN.sub("_", unicodedata.normalize("NFKC", text).casefold())


def _all_folded(texts: list[str]) -> list[str]:
    """Many texts folded at once, which is some times quicker than one by one."""
    return _folded("\n".join(text.replace("\n", " ") for text in texts)).split("\n") if texts else []
