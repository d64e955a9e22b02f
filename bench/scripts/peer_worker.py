"""FastMCP's code mode, measured by its own interpreter: reads what to do from standard input, prints one document.

Runs in the environment of the peer, so it imports nothing of Toolcrib.
"""

import asyncio
import json
import sys
import time
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode
from fastmcp.server import create_proxy

_WARM = 3
ONE = "return await call_tool('noop', {'number': 1})"
MANY = "for n in range(40):\n    await call_tool('noop', {'number': n})\nreturn None"


async def times(runs: int) -> dict[str, list[float]]:
    """Milliseconds of a script of one call, of one of forty, and of the call by itself."""
    bare: FastMCP[Any] = FastMCP("box")

    @bare.tool
    async def noop(number: int = 0) -> dict[str, int]:
        """Do nothing."""
        return {"number": number}

    app: FastMCP[Any] = FastMCP("code")
    app.mount(bare)
    app.add_transform(CodeMode())
    async with Client(app) as code, Client(bare) as plain:
        return {
            "one": await _spread(runs, code, "execute", {"code": ONE}),
            "many": await _spread(max(5, runs // 4), code, "execute", {"code": MANY}),
            "call": await _spread(runs, plain, "noop", {"number": 1}),
        }


async def _spread(runs: int, client: Any, tool: str, arguments: dict[str, Any]) -> list[float]:
    taken: list[float] = []
    for place in range(runs + _WARM):
        begun = time.perf_counter()
        await client.call_tool(tool, arguments)
        if place >= _WARM:
            taken.append((time.perf_counter() - begun) * 1000)
        await asyncio.sleep(0.05)
    return taken


async def texts(config: dict[str, Any], tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """What a model reads before it writes its script: the definitions, and for each task what a search finds and the
    schemas of the tools that the script calls, as its descriptions tell a model to look."""
    async with Client(config) as backend:  # connected once, not anew for each request
        app = create_proxy(backend)
        app.add_transform(CodeMode())
        return await _texts(app, tasks)


async def _texts(app: Any, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    async with Client(app) as client:
        definitions = [
            tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in await client.list_tools()
        ]
        found: dict[str, list[str]] = {}
        for task in tasks:
            search = await client.call_tool("search", {"query": task["needs"]})
            schemas = await client.call_tool("get_schema", {"tools": task["tools"]})
            found[task["name"]] = [_text(search), _text(schemas)]
    return {"definitions": definitions, "found": found}


def _text(result: Any) -> str:
    return "".join(getattr(block, "text", "") for block in result.content)


async def _main() -> None:
    given = json.load(sys.stdin)
    done = {"times": await times(given["runs"]), **await texts(given["config"], given["tasks"])}
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    asyncio.run(_main())
