"""The visible set: which tool ids a principal may know of."""

from functools import partial

from toolcrib.broker.call import Principal
from toolcrib.broker.policy import ListedTool, Policy
from toolcrib.catalog import ToolRegistry, VisibleSet
from toolcrib.errors import UnknownToolError
from toolcrib.schema import Aliases


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

    def visible(self, principal: Principal) -> VisibleSet:
        """The ids that the principal may know of."""
        self._refresh()
        found = self._sets.get(principal)
        if found is None:
            found = self._sets[principal] = VisibleSet(
                tool_id for server in self._registry.servers for tool_id in self._visible_of(server, principal)
            )
        return found

    def hides_source(self, source_id: str, principal: Principal) -> bool:
        """Whether a source is denied as a whole: it is then answered as if it were not configured."""
        return self._policy.hides(principal, source_id, None)

    def resolve(self, name: str, principal: Principal) -> str:
        """The tool id that a name stands for: an exact id first, then other spellings.

        Raises:
            UnknownToolError: Nothing visible has that name; carries near misses.
            AmbiguousNameError: Several do.
        """
        return self._resolve(name, self.visible(principal))

    def known(self, name: str) -> str:
        """As `resolve`, for whoever made the policy: what it hides is found too."""
        self._refresh()
        return self._resolve(name, VisibleSet(self._registry))

    def _resolve(self, name: str, visible: VisibleSet) -> str:
        if name in visible:
            return name
        if not visible:
            raise UnknownToolError(name)
        if self._aliases is None:
            self._aliases = Aliases(
                (tool_id, server, raw)
                for server in self._registry.servers
                for tool_id, raw in self._registry.raw_names(server).items()
            )
        return self._aliases.resolve(name, visible)

    def _visible_of(self, server: str, principal: Principal) -> list[str]:
        """The visible ids of one server. A policy may have to read the definitions for it, so it is kept."""
        version = self._registry.version_of(server)
        kept = self._parts.get((principal, server))
        if kept is None or kept[0] != version:
            ids = [
                tool_id
                for tool_id, name in self._registry.raw_names(server).items()
                if not self._policy.hides(
                    principal, server, ListedTool(tool_id, name, partial(self._registry.tool, tool_id))
                )
            ]
            kept = self._parts[principal, server] = (version, ids)
        return kept[1]

    def _refresh(self) -> None:
        if self._version != self._registry.version:
            self._version = self._registry.version
            self._sets.clear()
            self._aliases = None
            gone = {server for _, server in self._parts}.difference(self._registry.servers)
            self._parts = {key: part for key, part in self._parts.items() if key[1] not in gone}
