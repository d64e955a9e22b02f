"""A crib whose one server answers with words, a picture, and errors; and which callers its requests had."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from toolcrib import Crib
from toolcrib.catalog import NO_CONTEXT, JsonObject, ListMethod, RequestContext, RequestMethod

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A PNG of one pixel."""

ADD: JsonObject = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
SET: JsonObject = {"type": "object", "properties": {"config": {"type": "string"}, "run_manager": {"type": "string"}}}


@dataclass
class Shop:
    """A source of five tools."""

    id: str = "shop"
    description: str = ""
    calls: list[JsonObject] = field(default_factory=list[JsonObject])

    async def ensure(self, context: RequestContext = NO_CONTEXT) -> None: ...

    async def list(self, method: ListMethod, context: RequestContext = NO_CONTEXT) -> list[JsonObject]:
        if method != "tools/list":
            return []
        return [
            {"name": "add", "description": "Add two whole numbers.", "inputSchema": ADD},
            {"name": "picture", "description": "Show the shop.", "inputSchema": {"type": "object"}},
            {"name": "fail", "description": "Fail.", "inputSchema": {"type": "object"}},
            {"name": "set", "description": "Set a configuration.", "inputSchema": SET},
        ]

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        self.calls.append(params)
        given = params.get("arguments") or {}
        match params["name"]:
            case "add":
                return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}
            case "picture":
                words = {"type": "text", "text": "the shop"}
                return {"content": [words, {"type": "image", "data": PIXEL, "mimeType": "image/png"}]}
            case "set":
                return {"content": [{"type": "text", "text": f"{given}"}]}
            case _:
                return {"content": [{"type": "text", "text": "out of stock"}], "isError": True}


@pytest.fixture
def pixel() -> str:
    return PIXEL


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
async def crib(anyio_backend: str, shop: Shop, tmp_path: Path) -> AsyncIterator[Crib]:
    async with Crib.from_clients({}, state_dir=tmp_path) as opened:
        await opened.add_source(shop)
        yield opened


@pytest.fixture
def recorded(crib: Crib) -> Callable[[], Awaitable[set[str]]]:
    """The conversations of the calls that were made."""

    async def read() -> set[str]:
        return {entry.conversation for entry in await crib.journal.entries()}

    return read
