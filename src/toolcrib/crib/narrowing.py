"""What a search is kept to, beside what its caller may know of."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from toolcrib.broker import Sources, effect_of
from toolcrib.catalog import Source, Tool, ToolRegistry, VisibleSet, public_name
from toolcrib.search.fields import GROUPS_KEY
from toolcrib.servers import McpServer

_MOST_SETS = 256
"""Narrowed sets that are kept."""


@dataclass(frozen=True, slots=True)
class Only:
    """What a search is kept to.

    Attributes:
        server: Tools of this server, by its id.
        tag: Tools of servers that the configuration gives this tag, and tools that are in a group of this name;
            upper and lower case are the same.
        read_only: Tools that only read, by the configuration's `effects`, else by their own word.
        without: Not tools of these servers.
    """

    server: str | None = None
    tag: str | None = None
    read_only: bool = False
    without: frozenset[str] = frozenset()


class Narrowing:
    """Narrows visible sets, and keeps what it made of each.

    Args:
        registry: The catalog.
        sources: Knows the configured effects.
        listed: All sources, in order.
    """

    def __init__(self, registry: ToolRegistry, sources: Sources, listed: Callable[[], Sequence[Source]]) -> None:
        self._registry = registry
        self._sources = sources
        self._listed = listed
        self._kept: dict[tuple[VisibleSet, Only], VisibleSet] = {}

    def narrow(self, visible: VisibleSet, only: Only) -> VisibleSet:
        """The part of a visible set that a search is kept to."""
        if only == Only():
            return visible
        key = (visible, only)
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _MOST_SETS:
                self._kept.clear()
            found = self._kept[key] = VisibleSet(each for each in self._ids(only) if each in visible)
        return found

    def _ids(self, only: Only) -> Iterable[str]:
        tagged = self._tagged_servers(only.tag)
        for part in self._registry.parts:
            server = public_name(part)
            if only.server not in {None, server} or server in only.without:
                continue
            if only.tag is None and not only.read_only:
                yield from self._registry.keys(part)
                continue
            by_server = only.tag is None or server in tagged
            overrides, _ = self._sources.effects(server)
            for tool in self._registry.tools(part):
                fits = by_server or only.tag is None or only.tag.casefold() in map(str.casefold, groups_of(tool))
                if fits and (not only.read_only or effect_of(tool, overrides, trusted=True) == "read"):
                    yield tool.key

    def _tagged_servers(self, tag: str | None) -> set[str]:
        if tag is None:
            return set()
        return {
            source.id
            for source in self._listed()
            if isinstance(source, McpServer)
            and tag.casefold() in {each.casefold() for each in source.config.options.tags}
        }


def groups_of(tool: Tool) -> list[str]:
    """The groups that a tool says it is in (extension io.modelcontextprotocol/groups)."""
    groups = tool.meta.get(GROUPS_KEY)
    return [str(each) for each in cast("list[Any]", groups)] if isinstance(groups, list) else []
