"""The ways to a tool: straight to its server, and through Toolcrib as one of its clients or scripts sees it."""

import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TextIO

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from bench.differential.plan import Planned
from bench.processes import TOOLCRIB, environment, serving
from toolcrib.schema import server_ids, tool_ids, wire_name
from toolcrib.servers.wire import raw_request

Entries = Mapping[str, dict[str, Any]]

_HANDSHAKE_ONLY = {"chroma"}
"""Dies of the request that asks a server for its era."""

_LARGEST = 128 * 1024 * 1024

_SCRIPT = """
try:
    came = {{"value": await call_tool({name!r}, {arguments!r})}}
except ToolError as error:
    came = {{"error": error.message}}
came
"""


@dataclass(slots=True)
class Answer:
    """What came back.

    Attributes:
        result: The result as on the wire; None where there is an error of JSON-RPC.
        error: That error's code, text and data.
        progress: How many reports came.
        value: What a script got, or what was raised in it; only there.
    """

    result: dict[str, Any] | None = None
    error: tuple[int, str, Any] | None = None
    progress: int = 0
    value: dict[str, Any] | None = None


@dataclass(slots=True)
class _Names:
    """The ids of tools, and their names where they are exposed directly."""

    servers: Mapping[str, str]
    ids: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def learn(self, server: str, tools: list[str]) -> None:
        """What a server lists."""
        for tool, tool_id in tool_ids(self.servers[server], tools).items():
            self.ids[server, tool] = tool_id

    def id_of(self, call: Planned) -> str:
        return self.ids[call.server, call.tool]

    def exposed(self, call: Planned) -> str:
        return wire_name(*self.id_of(call).split(".", 1))


Call = Callable[[Planned], Awaitable[Answer]]
Kind = Literal["direct", "all", "call_tool", "script"]
Mode = Literal["auto", "legacy"]


@asynccontextmanager
async def way(kind: Kind, mode: Mode, entries: Entries, state: Path, names: "_Names") -> AsyncGenerator[Call]:
    """One way, open while the block lasts, with servers of its own.

    Args:
        kind: Which.
        mode: The era of the client; `legacy` is the handshake.
        entries: The servers.
        state: A folder for Toolcrib's state; created.
        names: Learned by `direct`, needed by the others.
    """
    async with AsyncExitStack() as stack:
        if kind == "direct":
            yield await _direct(stack, mode, entries, names)
            return
        url = await stack.enter_async_context(_gateway(entries, state))
        address = f"{url}/all" if kind == "all" else url
        transport = streamable_http_client(address, max_sse_event_size=_LARGEST)
        client = await stack.enter_async_context(Client(transport, mode=mode))
        if kind == "all":
            await raw_request(client.session, "tools/list", {})  # a server that was never listed has no tools yet
            yield lambda call: _asked(client, names.exposed(call), call.arguments)
        elif kind == "call_tool":
            yield lambda call: _asked(client, "call_tool", {"name": names.id_of(call), "arguments": call.arguments})
        else:
            yield lambda call: _scripted(client, names.id_of(call), call.arguments)


def names_of(entries: Entries) -> _Names:
    """Names of the tools, which the direct way learns."""
    return _Names(server_ids(entries))


async def _direct(stack: AsyncExitStack, mode: Mode, entries: Entries, names: _Names) -> Call:
    silence = stack.enter_context(_silence())
    clients: dict[str, Client] = {}
    for key, entry in entries.items():
        env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", ""), **entry.get("env", {})}
        start = StdioServerParameters(command=entry["command"], args=entry["args"], env=env)
        spoken = "legacy" if key in _HANDSHAKE_ONLY else mode
        clients[key] = await stack.enter_async_context(Client(stdio_client(start, silence), mode=spoken))
        listed = await raw_request(clients[key].session, "tools/list", {})
        names.learn(key, [tool["name"] for tool in listed["tools"]])

    async def call(planned: Planned) -> Answer:
        return await _asked(clients[planned.server], planned.tool, planned.arguments)

    return call


@contextmanager
def _silence() -> Generator[TextIO]:
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        yield nowhere


@asynccontextmanager
async def _gateway(entries: Entries, state: Path) -> AsyncGenerator[str]:
    config = _configured(entries, state)
    own = environment(TOOLCRIB_STATE_DIR=str(state), TOOLCRIB_CONFIG_DIR=str(state))
    async with serving([*TOOLCRIB, "serve", "--http", "127.0.0.1:0", "--json", "--config", config], own) as url:
        yield url


def _configured(entries: Entries, state: Path) -> str:
    state.mkdir(parents=True)
    rules = [{"name": "all", "tools": ["*"], "then": "allow"}]
    # Nobody sits at the client, results are looked at whole, and a first list waits for every server.
    settings = {"policy": {"rules": rules}, "result_budget": None, "first_listing_wait": 120.0, "start_timeout": 60.0}
    config = state / "mcp.json"
    config.write_text(json.dumps({"mcpServers": entries, "toolcrib": settings}), encoding="utf-8")
    return str(config)


async def _asked(client: Client, tool: str, arguments: dict[str, Any]) -> Answer:
    answer = Answer()

    async def report(progress: float, total: float | None, message: str | None) -> None:
        answer.progress += 1

    params = {"name": tool, "arguments": arguments}
    try:
        answer.result = await raw_request(client.session, "tools/call", params, on_progress=report)
    except MCPError as error:
        answer.error = (error.error.code, error.error.message, error.error.data)
    return answer


async def _scripted(client: Client, tool_id: str, arguments: dict[str, Any]) -> Answer:
    code = _SCRIPT.format(name=tool_id, arguments=arguments)
    answer = await _asked(client, "run_code", {"code": code})
    if answer.result is not None and not answer.result.get("isError"):
        answer.value = json.loads(answer.result["content"][0]["text"])
    return answer
