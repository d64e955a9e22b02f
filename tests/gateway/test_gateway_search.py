"""What a client finds through the gateway is what the library finds."""

from collections.abc import Sequence
from typing import Any

import anyio
import mcp_types as types
import numpy as np
import pytest
from mcp import Client
from mcp.server.lowlevel import Server

from toolcrib import Crib
from toolcrib.gateway import Gateway
from toolcrib.search import Embedder, HybridSearcher, KeywordSearcher, Searcher

pytestmark = pytest.mark.anyio

LIMIT = 60.0
VERBS = ("create", "list", "update", "delete", "archive", "share")
NOUNS = ("issue", "calendar event", "invoice", "photo album", "contact")
QUERIES = (
    "make a new bill for a customer",
    "which events are in my calendar",
    "remove a picture",
    "archive",
    "share the album with a contact, then delete the old issue about the album and list what is left of it",
)


def tools() -> list[types.Tool]:
    return [
        types.Tool(
            name=f"{verb}_{noun.replace(' ', '_')}",
            description=f"{verb.capitalize()} one {noun} or several of them.",
            input_schema={"type": "object", "properties": {f"{noun.split()[0]}_id": {"type": "string"}}},
        )
        for verb in VERBS
        for noun in NOUNS
    ]


def office() -> Server[Any]:
    async def listing(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools())

    return Server[Any]("office", on_list_tools=listing)


class Letters(Embedder):
    """Embeds a text as how often each letter is in it."""

    name = "letters"
    dimension = 26

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.array([[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts], np.float32)


@pytest.fixture(params=["keyword", "hybrid"])
def searcher(request: pytest.FixtureRequest) -> Searcher:
    return KeywordSearcher() if request.param == "keyword" else HybridSearcher(Letters(), patience=LIMIT)


async def test_a_search_through_the_gateway_ranks_as_the_library_does(searcher: Searcher) -> None:
    with anyio.fail_after(LIMIT):
        async with Client(office(), mode="auto") as upstream:
            crib = Crib.from_clients({"office": upstream}, searcher=searcher)
            async with crib, Client(Gateway(crib).server, mode="auto") as client:
                for query in QUERIES:
                    answer = await crib.search(query, limit=12)
                    arguments = {"query": query, "limit": 12, "detail": "name"}
                    result = await client.call_tool("search_tools", arguments)
                    lines = [line.strip() for line in result.content[0].text.splitlines()]

                    found = [each.tool.id for each in answer.found]
                    assert found, query
                    assert [line for line in lines if line.startswith("office.")] == found, query
                    direct = await searcher.search(query, 12)
                    assert [hit.tool_id for hit in direct] == found, query
