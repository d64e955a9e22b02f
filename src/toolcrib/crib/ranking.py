"""Servers ranked by what is said about them."""

from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import anyio.to_thread

from toolcrib.catalog import Tool
from toolcrib.search import KeywordSearcher, ServerDocs


@dataclass(frozen=True, slots=True)
class ServerWords:
    """What is said about one server.

    Attributes:
        name: Its name, unique among those ranked together.
        title: Its display name.
        text: What it is for, most telling first.
    """

    name: str
    title: str = ""
    text: str = ""


class Ranking:
    """Ranks servers by words, as tools are ranked. What it was asked last about stays indexed."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._indexed: tuple[ServerWords, ...] = ()
        self._searcher = KeywordSearcher()

    async def search(self, query: str, servers: Sequence[ServerWords], limit: int) -> list[str]:
        """The names of the servers that fit, best first; where none fits well, those that come nearest.

        Args:
            query: Words.
            servers: The servers to choose from.
            limit: The most names.
        """
        if not servers:
            return []
        async with self._lock:
            if self._indexed != (wanted := tuple(servers)):
                await anyio.to_thread.run_sync(self._index, wanted)
                self._indexed = wanted
            hits = await self._searcher.search(query, limit, None)
        fitting = [hit for hit in hits if not hit.weak]
        return [hit.tool_id for hit in fitting or hits]

    def _index(self, servers: tuple[ServerWords, ...]) -> None:
        self._searcher = KeywordSearcher()
        tools = [
            Tool(each.name, "", each.name, {"name": each.name, "title": each.title, "description": each.text})
            for each in servers
        ]
        self._searcher.add(ServerDocs("servers"), tools)
