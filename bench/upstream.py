"""A bare server on the SDK's low-level class: what a call costs without anything in between.

`python -m bench.upstream stdio`, or `python -m bench.upstream http`, which prints `{"url": …}` once it serves.
"""

import asyncio
import json
import socket
import sys
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

ECHO = "echo"
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_TOOLS = [
    Tool.model_validate(
        {
            "name": name,
            "description": f"Return the text {how}.",
            "inputSchema": _SCHEMA,
            "annotations": {"readOnlyHint": True},
        }
    )
    for name, how in ((ECHO, "as it is"), ("upper", "in upper case"), ("lower", "in lower case"))
]


async def _list_tools(ctx: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=_TOOLS)


async def _call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
    text = str((params.arguments or {}).get("text", ""))
    shown = {"upper": text.upper, "lower": text.lower}.get(params.name, lambda: text)()
    return CallToolResult(content=[TextContent(text=shown)])


def server() -> Server[Any]:
    return Server("bare", version="1", on_list_tools=_list_tools, on_call_tool=_call_tool)


async def _serve_stdio() -> None:
    made = server()
    async with stdio_server() as (read, write):
        await made.run(read, write, made.create_initialization_options())


async def _serve_http() -> None:
    import uvicorn

    # With its protocol named, asyncio switches Nagle's algorithm off; without, each answer waits for 40 ms.
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        app = server().streamable_http_app()

        class Announcing(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                sys.stdout.write(json.dumps({"url": f"http://127.0.0.1:{port}/mcp"}) + "\n")
                sys.stdout.flush()

        await Announcing(uvicorn.Config(app, log_config=None, access_log=False)).serve([listener])


def main() -> None:
    asyncio.run(_serve_http() if sys.argv[1:] == ["http"] else _serve_stdio())


if __name__ == "__main__":
    main()
