"""A searcher of your own: keyword search under the rules of a house.

The house has words that no tool's description knows, and what destroys something comes late unless it was asked for.
Run it with: python examples/own_searcher.py
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from mcp import Client

from toolcrib import Crib, Tool
from toolcrib.catalog import VisibleSet
from toolcrib.demo.notes import APP as NOTES
from toolcrib.demo.tickets import APP as TICKETS
from toolcrib.search import Hit, KeywordSearcher, Searcher, ServerDocs

HOUSE_WORDS = {"gremlin": "bug report", "scrapbook": "notes"}
DESTROYING = {"delete", "remove", "erase"}


class HouseRules(Searcher):
    """Keyword search that knows the words of the house, and is careful with what destroys."""

    name = "house"

    def __init__(self) -> None:
        self._keywords = KeywordSearcher()
        self._destructive: dict[str, set[str]] = {}

    def add(self, server: ServerDocs, tools: Iterable[Tool], *, digest: str = "") -> None:
        """Take in a server's tools, in place of those that it had."""
        known = list(tools)
        self._keywords.add(server, known, digest=digest)
        self._destructive[server.id] = {tool.id for tool in known if tool.annotations.get("destructiveHint") is True}

    def remove(self, server_id: str) -> None:
        """Forget a server and its tools."""
        self._keywords.remove(server_id)
        self._destructive.pop(server_id, None)

    async def search(self, query: str, limit: int, visible: VisibleSet | None = None) -> list[Hit]:
        """The hits of the keyword search, ranked anew; `why` names what was taken off a score."""
        words = [HOUSE_WORDS.get(word, word) for word in query.lower().split()]
        hits = await self._keywords.search(" ".join(words), max(limit, 50), visible)
        if DESTROYING.isdisjoint(words):
            hits = [self._careful(hit) for hit in hits]
        return sorted(hits, key=lambda hit: (-hit.score, hit.tool_id))[:limit]

    def _careful(self, hit: Hit) -> Hit:
        if not any(hit.tool_id in tools for tools in self._destructive.values()):
            return hit
        malus = -hit.score / 2
        return replace(hit, score=hit.score + malus, why={**hit.why, "destroys": malus})


async def main() -> None:
    async with Client(TICKETS.server()) as tickets, Client(NOTES.server()) as notes:
        clients = {"tickets": tickets, "notes": notes}
        async with Crib.from_clients(clients) as plain, Crib.from_clients(clients, searcher=HouseRules()) as house:
            for query in ("open a gremlin", "look into the scrapbook", "tags of a note", "delete a note"):
                print(query)
                for name, crib in (("plain", plain), ("house", house)):
                    answer = await crib.search(query, limit=2)
                    print(f"  {name}: {', '.join(found.tool.id for found in answer.found)}")


if __name__ == "__main__":
    asyncio.run(main())
