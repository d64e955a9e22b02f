"""What the retrieval bench measures through the library is what a model gets from search_tools."""

from pathlib import Path

import pytest
from bench.catalog import CatalogSource
from bench.retrieval.sets import read_set

from toolcrib.crib import Crib
from toolcrib.metatools import MetaTools
from toolcrib.search import ServerDocs, make_searcher

pytestmark = pytest.mark.shared


@pytest.mark.anyio
async def test_search_tools_gives_the_ranking_of_the_library(data_dir: Path, tmp_path: Path) -> None:
    given = read_set(data_dir / "retrieval" / "livemcpbench")
    searcher = make_searcher("keyword")
    queries = [request.text for request in given.requests if "\n" not in request.text.strip()]
    assert len(queries) > 20
    async with Crib.open({"mcpServers": {}}, searcher=make_searcher("keyword"), state_dir=tmp_path) as crib:
        for docs, tools in given.servers:
            searcher.add(ServerDocs(docs.id), tools)
            await crib.add_source(CatalogSource(docs.id, {"tools": [tool.definition for tool in tools]}))
        meta_tools = MetaTools(crib)
        for query in queries:
            # 24 are ranked for a page of 8, which the meta-tool prints server by server.
            ranked = [hit.tool_id for hit in (await searcher.search(query, 24))[:8]]
            servers = list(dict.fromkeys(tool_id.split(".")[0] for tool_id in ranked))
            grouped = [each for server in servers for each in ranked if each.startswith(f"{server}.")]

            answer = await meta_tools.call("search_tools", {"query": query, "detail": "name", "limit": 8})
            lines = answer["content"][0]["text"].splitlines()
            assert [line for line in lines if " " not in line] == grouped
