"""What the tests of search share: making tools, and a small catalog that was written for them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from toolcrib.catalog.tool import Tool
from toolcrib.search import Embedder, Searcher, ServerDocs

MakeTool = Callable[..., Tool]


def make_tool(server: str, name: str, description: str = "", **definition: Any) -> Tool:
    return Tool(f"{server}.{name}", server, name, {"name": name, "description": description, **definition})


def parameters(**described: str) -> dict[str, Any]:
    """An input schema with these properties and descriptions."""
    properties = {name: {"type": "string", "description": text} for name, text in described.items()}
    return {"type": "object", "properties": properties}


SERVERS = [
    ServerDocs("github", title="GitHub", description="Repositories, issues and pull requests", tags=("code",)),
    ServerDocs("mail", instructions="Reads and writes electronic mail."),
    ServerDocs("weather"),
    ServerDocs("files", description="Files on this computer"),
]

TOOLS = [
    make_tool("github", "create_issue", "Open a new issue in a repository.", inputSchema=parameters(title="", body="")),
    make_tool("github", "listPullRequests", "List the pull requests of a repository.\n\nSorted by date."),
    make_tool("github", "search_code", "Search code across all repositories of the user."),
    make_tool("mail", "send_message", "Send an email to one or more people.", inputSchema=parameters(cc="", bcc="")),
    make_tool("mail", "search_messages", "Find emails by sender, subject or words in them."),
    make_tool(
        "weather",
        "forecast",
        "Weather for the coming days at a place.",
        inputSchema={
            "type": "object",
            "properties": {
                "units": {"enum": ["celsius", "fahrenheit"]},
                "place": {"properties": {"latitude": {"description": "Degrees north"}}},
            },
        },
        outputSchema={"properties": {"precipitation": {"description": "Millimetres of rain"}}},
    ),
    make_tool("files", "read_text_file", "Read a file as text.", inputSchema=parameters(path="Where the file is")),
    make_tool("files", "take_snapshot", "", title="Capture the screen", annotations={"readOnlyHint": True}),
]


def fill(searcher: Searcher, servers: Iterable[ServerDocs] = SERVERS, tools: Iterable[Tool] = TOOLS) -> Searcher:
    listed = list(tools)
    for server in servers:
        searcher.add(server, [tool for tool in listed if tool.server == server.id], digest=f"{server.id} v1")
    return searcher


class Trigrams(Embedder):
    """Embeds a text by the runs of three letters in it: likeness of spelling, made and checked by hand."""

    name = "trigrams"
    dimension = 128

    def embed_documents(self, texts: Sequence[str]) -> Any:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            padded = f"  {text.lower()} "
            for at in range(len(padded) - 2):
                vectors[row, crc32(padded[at : at + 3].encode("utf-8", "replace")) % self.dimension] += 1
        return vectors


@pytest.fixture(scope="session")
def trigrams() -> type[Trigrams]:
    return Trigrams


@pytest.fixture(scope="session")
def tool() -> MakeTool:
    return make_tool


@pytest.fixture(scope="session")
def filled() -> Callable[..., Searcher]:
    return fill
