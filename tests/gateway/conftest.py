"""Clients of a gateway in both protocol eras over every transport, with one upstream behind it."""

import importlib.util
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from toolcrib import Crib
from toolcrib.gateway import Gateway, serve_http
from toolcrib.servers.wire import raw_request

HERE = Path(__file__).resolve().parent
LIMIT = 20.0


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"gateway_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for their own module
    spec.loader.exec_module(module)
    return module


ODD = _module("odd")


@dataclass
class Link:
    """A client of a gateway.

    Attributes:
        client: The SDK's client, connected.
        era: `handshake` or `modern`.
        kind: `memory`, `stdio` or `http`.
        upstream_era: The era that the upstream speaks.
    """

    client: Client
    era: str
    kind: str
    upstream_era: str

    async def request(self, method: str, params: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """A request whose result stays as it came over the wire."""
        return await raw_request(self.client.session, method, params, **options)

    async def meta(self, tool: str, arguments: dict[str, Any], **options: Any) -> dict[str, Any]:
        """A call of one of the gateway's own tools."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments}, **options)

    async def call(self, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """A call of an upstream's tool."""
        return await self.meta("call_tool", {"name": f"odd.{name}", "arguments": arguments or {}}, **options)

    def expected(self, result: dict[str, Any]) -> dict[str, Any]:
        """What must arrive when the upstream sent this: the same, in the envelope of the era (specification
        2026-07-28, basic: `resultType`, and the `serverInfo` stamp in `_meta`)."""
        if self.era == "handshake":
            return result
        stamp = {ODD.STAMP: {"name": "toolcrib", "title": "Toolcrib", "version": "0.1.0"}}
        return {**result, "resultType": "complete", "_meta": {**result.get("_meta", {}), **stamp}}


def odd_server() -> Server[Any]:
    """The upstream in memory: the SDK's server, with a middleware that sends its results unsieved."""
    cancelled = anyio.Event()

    async def listing(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[])

    async def calling(ctx: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[])

    async def hang(session: Any) -> None:
        try:
            await session.report_progress(1, 3, "one")
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    async def unsieved(ctx: Any, call_next: Any) -> Any:
        envelope = await call_next(ctx)
        if ctx.method == "tools/list":
            return {**envelope, "tools": ODD.DEFINITIONS}
        if ctx.method != "tools/call":
            return envelope
        name = ctx.params["name"]
        if name == "refuse":
            raise MCPError(-32000, "no such row", {"row": 7})
        if name == "hang":
            await hang(ctx.session)
        if name == "until_cancelled":
            await cancelled.wait()
        if name == "steps":
            for step in ODD.STEPS:
                await ctx.session.report_progress(*step)
        answer = ODD.answer(name, ctx.params.get("arguments"), dict(ctx.params.get("_meta") or {}))
        envelope.pop("content")
        envelope.pop("isError", None)
        return {**envelope, **answer, "_meta": {**answer.get("_meta", {}), **envelope.get("_meta", {})}}

    server = Server[Any]("odd", version="1", on_list_tools=listing, on_call_tool=calling)
    server.middleware.append(unsieved)
    return server


def odd_config(era: str, log: Path | None = None) -> dict[str, Any]:
    """A configuration of the upstream as a process."""
    # -S: without site-packages the interpreter starts in half the time.
    args = ["-S", str(HERE / "odd.py"), era, *(["--log", str(log)] if log else [])]
    protocol = {"handshake": "legacy", "modern": "modern"}[era]
    entry = {"command": sys.executable, "args": args, "toolcrib": {"protocol": protocol}}
    return {"mcpServers": {"odd": entry}, "toolcrib": {"result_budget": 7_000_000}}


def gateway_process(config: Path, state: Path) -> StdioServerParameters:
    """How to start a gateway over stdio as a process."""
    program = "import sys; from toolcrib.gateway import run_stdio; run_stdio(sys.argv[1])"
    env = {"TOOLCRIB_STATE_DIR": str(state), "TOOLCRIB_CONFIG_DIR": str(state), "PYTHONPATH": os.pathsep.join(sys.path)}
    return StdioServerParameters(command=sys.executable, args=["-c", program, str(config)], env=env)


@asynccontextmanager
async def served(gateway: Gateway, **options: Any) -> AsyncIterator[str]:
    """The gateway over HTTP on a free port of the loopback address; gives the URL."""
    url = ""
    ready = anyio.Event()

    def on_ready(address: str) -> None:
        nonlocal url
        url = address
        ready.set()

    async def serve() -> None:
        await serve_http(gateway, port=0, on_ready=on_ready, **options)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        await ready.wait()
        yield url
        tasks.cancel_scope.cancel()


async def _target(stack: AsyncExitStack, kind: str, upstream_era: str, folder: Path) -> Any:
    """What a client connects to."""
    if kind == "stdio":
        config = folder / "mcp.json"
        config.write_text(json.dumps(odd_config(upstream_era)))
        return gateway_process(config, folder)
    if kind == "http":
        crib = Crib.open(odd_config(upstream_era), state_dir=folder)
        gateway = Gateway(await stack.enter_async_context(crib))
        url = await stack.enter_async_context(served(gateway))
        # The SDK's client takes 1 MiB in one event of a stream unless told otherwise.
        return streamable_http_client(url, max_sse_event_size=16 * 1024 * 1024)
    mode: Any = {"handshake": "legacy", "modern": "auto"}[upstream_era]
    upstream = await stack.enter_async_context(Client(odd_server(), mode=mode))
    return Gateway(await stack.enter_async_context(Crib.from_clients({"odd": upstream}))).server


LINKS = [
    ("memory", "modern", "modern"),
    ("memory", "modern", "handshake"),
    ("memory", "handshake", "modern"),
    ("memory", "handshake", "handshake"),
    ("http", "modern", "handshake"),
    ("http", "handshake", "modern"),
    ("stdio", "modern", "handshake"),
    ("stdio", "handshake", "modern"),
]


@pytest.fixture(scope="module", params=LINKS, ids=lambda each: "-".join((each[0], each[1], "to", each[2])))
async def link(
    request: pytest.FixtureRequest, anyio_backend: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Link]:
    """A client of the gateway, in each era over each transport."""
    kind, era, upstream_era = request.param
    async with AsyncExitStack() as stack:
        target = await _target(stack, kind, upstream_era, tmp_path_factory.mktemp("gateway"))
        mode: Any = {"handshake": "legacy", "modern": "auto"}[era]
        client = await stack.enter_async_context(Client(target, mode=mode))
        yield Link(client, era, kind, upstream_era)


@pytest.fixture
def odd() -> ModuleType:
    """What the upstream lists and answers."""
    return ODD


@pytest.fixture
def over_http() -> Callable[..., Any]:
    """Serves a gateway over HTTP: `async with over_http(gateway) as url`."""
    return served


@pytest.fixture
def odd_upstream() -> Callable[[], Server[Any]]:
    """Makes the upstream in memory."""
    return odd_server


@pytest.fixture
def talking() -> ModuleType:
    """Sends requests by hand."""
    return _module("talking")


@pytest.fixture
def fuzzing() -> ModuleType:
    """Makes malformed and mutated messages."""
    return _module("fuzzing")
