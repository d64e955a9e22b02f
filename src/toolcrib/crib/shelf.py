"""What is known of the tools of servers that are off."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolcrib.broker import Access, Call, Decision, ListedTool, Policy, Principal
from toolcrib.catalog import Source, ToolRegistry
from toolcrib.crib.index import Index
from toolcrib.errors import StoreError
from toolcrib.search import Hit, KeywordSearcher, Needs
from toolcrib.servers import McpServer

_MOST_HITS = 100
_MOST_SERVERS = 3


@dataclass(frozen=True, slots=True)
class OffServer:
    """A server that is off and may have what was searched for.

    Attributes:
        id: Its id.
        tools: How many of its tools may fit; None when it was never listed, and its description fits.
    """

    id: str
    tools: int | None


class Shelf:
    """Tools of servers that are off: a catalog and an index apart from those of the tools that are there.

    Args:
        policy: Says what is hidden from whom.
        index_file: Where the index is kept between runs; None keeps none.
    """

    def __init__(self, policy: Policy, index_file: Path | None) -> None:
        self._registry = ToolRegistry()
        self._access = Access(self._registry, _ListedOnly(policy, self._unlisted))
        self._servers: Sequence[McpServer] = ()
        self._unlisted_ids: frozenset[str] = frozenset()
        self._index = Index(KeywordSearcher(), self._registry, self._sources, index_file)
        self._held: dict[str, str] = {}

    def count(self, server: McpServer, principal: Principal) -> int | None:
        """How many tools of a server the principal would see; None when it was never listed, or only to others."""
        if server.snapshot is None or self._registry.part_for(server.id, principal.name) is None:
            return None
        visible = self._access.visible(principal)
        return sum(each in visible for each in self._registry.keys(server.id))

    def names(self, server: McpServer, principal: Principal) -> list[str]:
        """The names of the tools that the principal would see, as the server has them."""
        visible = self._access.visible(principal)
        return [raw for key, raw in self._registry.raw_names(server.id).items() if key in visible]

    def take(self, servers: Sequence[McpServer]) -> None:
        """Hold what is known of these servers, and of no others."""
        self._servers = servers
        self._unlisted_ids = frozenset(server.id for server in servers if server.snapshot is None)
        wanted = {server.id: _digest(server) for server in servers}
        for gone in self._held.keys() - wanted.keys():
            self._registry.remove(gone)
            del self._held[gone]
        for server in servers:
            if self._held.get(server.id) == wanted[server.id]:
                continue
            self._held[server.id] = wanted[server.id]
            if server.snapshot is not None:
                listed = server.snapshot
                self._registry.put(listed.definitions, server=server.id, ids=listed.ids, private=listed.private)
            else:
                # In place of its tools: what the configuration says of it.
                options = server.config.options
                about = {"name": server.id, "description": " ".join((options.description, *options.tags))}
                self._registry.cache_from_maps([about], server=server.id)

    async def fitting(self, query: Needs, principal: Principal, only: str | None = None) -> list[OffServer]:
        """The servers with tools that may fit a query, best first.

        Args:
            query: The needs.
            principal: Sees nothing of tools that are hidden from it.
            only: Only this server, by its id.
        """
        visible = self._access.visible(principal)
        if not visible:
            return []
        try:
            searcher = await self._index.current()
        except StoreError:  # a stored listing is damaged; the server lists anew when it is enabled
            return []
        counts: Counter[str] = Counter()
        for need in query.needs:
            counts.update(_servers_of(await searcher.search(need, _MOST_HITS, visible)))
        chosen = [(server, count) for server, count in counts.most_common() if only in {None, server}]
        return [
            OffServer(server, None if self._unlisted(server) else count) for server, count in chosen[:_MOST_SERVERS]
        ]

    def _unlisted(self, server_id: str) -> bool:
        return server_id in self._unlisted_ids

    def _sources(self) -> Sequence[Source]:
        return self._servers


class _ListedOnly:
    """A policy that hides tools, but not the words that stand for a server whose tools are not known."""

    def __init__(self, policy: Policy, unlisted: Callable[[str], bool]) -> None:
        self._policy = policy
        self._unlisted = unlisted

    def hides(self, principal: Principal, server: str, tool: ListedTool | None) -> bool:
        """See `Policy.hides`."""
        return self._policy.hides(principal, server, None if self._unlisted(server) else tool)

    def decide(self, call: Call) -> Decision:
        """See `Policy.decide`; nothing on the shelf is ever called."""
        return self._policy.decide(call)


def _servers_of(hits: Sequence[Hit]) -> list[str]:
    """The server of each hit that is worth telling: neither weak, nor far behind the best."""
    if not hits:
        return []
    return [hit.tool_id.partition(".")[0] for hit in hits if not hit.weak and hit.score >= hits[0].score / 2]


def _digest(server: McpServer) -> str:
    return "" if server.snapshot is None else f"{server.snapshot.digest} {server.snapshot.private}"
