"""The visible set: which tool ids a principal may know of."""

from collections.abc import Iterable, Iterator
from functools import partial

from toolcrib.broker.call import Principal
from toolcrib.broker.policy import ListedTool, Policy
from toolcrib.catalog import ToolRegistry, VisibleSet, owner_of, public_name
from toolcrib.errors import UnknownToolError
from toolcrib.schema import Aliases

_MOST_PRINCIPALS = 500
"""Principals whose sets are kept; an authorization server may know any number, and a set may have thousands of ids."""


class Access:
    """Compiles visible sets, and resolves names within them.

    A set is compiled once per principal and version of the catalog, and of that only what has changed. Names,
    near misses and candidates come from the set alone: what is outside it is answered as if it did not exist.

    Args:
        registry: The catalog.
        policy: Says what is hidden from whom.
    """

    def __init__(self, registry: ToolRegistry, policy: Policy) -> None:
        self._registry = registry
        self._policy = policy
        self._version = -1
        self._sets: dict[Principal, VisibleSet] = {}
        self._parts: dict[tuple[Principal, str], tuple[int, list[str]]] = {}
        self._aliases: Aliases | None = None
        self._own_aliases: dict[Principal, tuple[Aliases, dict[str, str]]] = {}

    def visible(self, principal: Principal) -> VisibleSet:
        """The ids that the principal may know of; keys where what it sees is listed to it alone."""
        self._refresh()
        found = self._sets.get(principal)
        if found is None:
            if len(self._sets) >= _MOST_PRINCIPALS:
                self._forget(next(iter(self._sets)))
            found = self._sets[principal] = VisibleSet(
                key for part in self._seen_parts(principal) for key in self._visible_of(part, principal)
            )
        return found

    def hides_source(self, source_id: str, principal: Principal) -> bool:
        """Whether a source is denied as a whole: it is then answered as if it were not configured."""
        return self._policy.hides(principal, source_id, None)

    def resolve(self, name: str, principal: Principal) -> str:
        """The tool id that a name stands for: an exact id first, then other spellings. Of a tool that is listed to
        the principal alone, its key.

        Raises:
            UnknownToolError: Nothing visible has that name; carries near misses.
            AmbiguousNameError: Several do.
        """
        visible = self.visible(principal)
        if name in visible:
            return name
        if not visible:
            raise UnknownToolError(name)
        if any(map(owner_of, self._seen_parts(principal))):
            aliases, keys = self._aliases_of(principal, visible)
            return keys[aliases.resolve(name)]
        if self._aliases is None:
            self._aliases = Aliases(self._entries(part for part in self._registry.parts if not owner_of(part)))
        return self._aliases.resolve(name, visible)

    def known(self, name: str, principal: Principal) -> str:
        """As `resolve`, for whoever made the policy: what it hides from the principal is found too."""
        self._refresh()
        parts = self._seen_parts(principal)
        keys = {public_name(key): key for part in parts for key in self._registry.keys(part)}
        return keys[name] if name in keys else keys[Aliases(self._entries(parts)).resolve(name)]

    def _aliases_of(self, principal: Principal, visible: VisibleSet) -> tuple[Aliases, dict[str, str]]:
        """The names of what a principal sees some of which is listed to it alone, and the keys of all ids."""
        found = self._own_aliases.get(principal)
        if found is None:
            keys = {public_name(key): key for key in visible}
            entries = self._entries(self._seen_parts(principal))
            aliases = Aliases(entry for entry in entries if entry[0] in keys)
            found = self._own_aliases[principal] = (aliases, keys)
        return found

    def _entries(self, parts: Iterable[str]) -> Iterator[tuple[str, str, str]]:
        for part in parts:
            for key, raw in self._registry.raw_names(part).items():
                yield public_name(key), public_name(part), raw

    def _seen_parts(self, principal: Principal) -> list[str]:
        """The parts of the catalog that were listed for a principal, one a server at most."""
        parts = (self._registry.part_for(server, principal.name) for server in self._registry.servers)
        return [part for part in parts if part is not None]

    def _visible_of(self, part: str, principal: Principal) -> list[str]:
        """The visible keys of one part. A policy may have to read the definitions for it, so it is kept."""
        version = self._registry.version_of(part)
        kept = self._parts.get((principal, part))
        if kept is not None and kept[0] == version:
            return kept[1]
        server = public_name(part)
        keys = [
            key
            for key, name in self._registry.raw_names(part).items()
            if not self._policy.hides(
                principal, server, ListedTool(public_name(key), name, partial(self._registry.tool, key))
            )
        ]
        self._parts[principal, part] = (version, keys)
        return keys

    def _forget(self, principal: Principal) -> None:
        del self._sets[principal]
        self._own_aliases.pop(principal, None)
        self._parts = {key: part for key, part in self._parts.items() if key[0] != principal}

    def _refresh(self) -> None:
        if self._version != self._registry.version:
            self._version = self._registry.version
            self._sets.clear()
            self._aliases = None
            self._own_aliases.clear()
            gone = {part for _, part in self._parts}.difference(self._registry.parts)
            self._parts = {key: part for key, part in self._parts.items() if key[1] not in gone}
