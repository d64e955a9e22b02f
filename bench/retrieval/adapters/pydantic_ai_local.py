"""pydantic-ai's tool search where the model's provider has none: `ToolSearchToolset` over deferred tools."""

import asyncio
import importlib
from collections.abc import Sequence
from typing import Any

from bench.retrieval.adapters.exchange import Search, Tools, answer


def build(tools: Tools) -> Search:
    # The package is in the peer's environment alone, where no type checker looks.
    definitions: Any = importlib.import_module("pydantic_ai.tools")
    toolsets: Any = importlib.import_module("pydantic_ai.toolsets")
    searching: Any = importlib.import_module("pydantic_ai.toolsets._tool_search")
    usage: Any = importlib.import_module("pydantic_ai.usage")
    model: Any = importlib.import_module("pydantic_ai.models.test").TestModel()
    deferred = [
        definitions.ToolDefinition(
            name=tool["name"],
            description=tool["description"],
            parameters_json_schema=tool["inputSchema"],
            defer_loading=True,
        )
        for tool in tools
    ]
    toolset = searching.ToolSearchToolset(toolsets.ExternalToolset(deferred), max_results=50)
    context = definitions.RunContext(deps=None, model=model, usage=usage.RunUsage())
    runner = asyncio.Runner()
    search_tool = runner.run(toolset.get_tools(context))["search_tools"]

    def search(query: str, limit: int) -> Sequence[str]:
        found = runner.run(toolset.call_tool("search_tools", {"queries": [query]}, context, search_tool))
        return [match["name"] for match in found["discovered_tools"]]

    return search


if __name__ == "__main__":
    answer(build)
