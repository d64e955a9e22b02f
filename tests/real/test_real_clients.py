"""Clients that people use, each with a gateway over stdio and over HTTP: what they list, call and show."""

import base64
import json
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fastmcp.client.client import Client as FastMcpClient
from fastmcp.client.transports.stdio import StdioTransport
from fastmcp.exceptions import ToolError
from mcp import Client, StdioServerParameters

pytestmark = pytest.mark.anyio

PROGRAMS = Path(__file__).resolve().parent / "programs"
LIMIT = 120.0

STEPS = 4
PROGRESS = [[step, STEPS] for step in range(1, STEPS + 1)]
"""What `everything` 2026.8.31 reports in so many steps."""

CALLS = {
    "sum": ("everything.get_sum", {"a": 2, "b": 40}),
    "error": ("filesystem.read_text_file", {"path": "/etc/hostname"}),
    "image": ("everything.get_tiny_image", {}),
    "steps": ("everything.trigger_long_running_operation", {"duration": 0.4, "steps": STEPS}),
}
WIRED = {name: ("call_tool", {"name": tool, "arguments": arguments}) for name, (tool, arguments) in CALLS.items()}
"""The same as a client of the gateway makes them."""


@dataclass
class Target:
    """Where a client finds the gateway.

    Attributes:
        url: Over HTTP; empty over stdio.
        command: What starts it over stdio.
        env: The environment of that.
        installed: The folder of installed clients.
        folder: Where programs run that look around for configurations.
    """

    url: str
    command: list[str]
    env: dict[str, str]
    installed: Path
    folder: Path

    def run(self, *command: str, cwd: Path | None = None, program: str = "") -> Any:
        """The JSON document that a command prints; some end with a code of their own where a tool reports an error."""
        done = subprocess.run(
            command,
            env=self.env,
            cwd=cwd or self.folder,
            input=program,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.stdout.startswith("{"), f"{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout)


@dataclass
class Seen:
    """What a client shows.

    Attributes:
        tools: The names that it lists.
        sum: The text of the sum.
        error: The text of the error.
        image: The image's bytes.
        progress: The reports of the long call; None where the client shows none.
    """

    tools: list[str] = field(default_factory=list)
    sum: str = ""
    error: str = ""
    image: bytes = b""
    progress: list[list[float]] | None = None


def seen(tools: list[str], results: dict[str, Any], progress: list[list[float]] | None) -> Seen:
    """What results hold that came as on the wire."""
    assert results["error"]["isError"] is True
    [image] = [block for block in results["image"]["content"] if block["type"] == "image"]
    return Seen(
        tools=tools,
        sum=results["sum"]["content"][0]["text"],
        error=results["error"]["content"][0]["text"],
        image=base64.b64decode(image["data"]),
        progress=progress,
    )


async def python_sdk(target: Target, mode: Any = "auto") -> Seen:
    """The SDK's own client."""
    stdio = StdioServerParameters(command=target.command[0], args=target.command[1:], env=target.env)
    results: dict[str, Any] = {}
    progress: list[list[float]] = []

    async def report(done: float, total: float | None, message: str | None) -> None:
        progress.append([done, total or 0])

    async with Client(target.url or stdio, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        for name, (tool, arguments) in WIRED.items():
            result = await client.call_tool(tool, arguments, progress_callback=report if name == "steps" else None)
            results[name] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return seen(tools, results, progress)


async def python_sdk_handshake(target: Target) -> Seen:
    """The same in the era before."""
    return await python_sdk(target, "legacy")


async def fastmcp(target: Target) -> Seen:
    """FastMCP's client, which raises a tool's error."""
    transport = target.url or StdioTransport(target.command[0], target.command[1:], env=target.env)
    progress: list[list[float]] = []

    async def report(done: float, total: float | None, message: str | None) -> None:
        progress.append([done, total or 0])

    async with FastMcpClient(transport, progress_handler=report) as client:
        tools = [tool.name for tool in await client.list_tools()]
        total = await client.call_tool(*WIRED["sum"])
        with pytest.raises(ToolError) as raised:
            await client.call_tool(*WIRED["error"])
        image = await client.call_tool(*WIRED["image"])
        progress.clear()
        await client.call_tool(*WIRED["steps"])
    [data] = [block.data for block in image.content if block.type == "image"]
    return Seen(tools, total.content[0].text, str(raised.value), base64.b64decode(data), progress)


async def pydantic_ai(target: Target) -> Seen:
    """pydantic-ai's, which gives a model's words and raises what a model should mend."""
    from pydantic_ai import BinaryContent, ModelRetry
    from pydantic_ai.mcp import MCPToolset

    transport = target.url or StdioTransport(target.command[0], target.command[1:], env=target.env)
    progress: list[list[float]] = []

    async def report(done: float, total: float | None, message: str | None) -> None:
        progress.append([done, total or 0])

    async with MCPToolset(transport, progress_handler=report) as toolset:
        tools = [tool.name for tool in await toolset.list_tools()]
        total = await toolset.direct_call_tool(*WIRED["sum"])
        with pytest.raises(ModelRetry) as raised:
            await toolset.direct_call_tool(*WIRED["error"])
        parts = await toolset.direct_call_tool(*WIRED["image"])
        progress.clear()
        await toolset.direct_call_tool(*WIRED["steps"])
    [image] = [part for part in parts if isinstance(part, BinaryContent)]
    return Seen(tools, total, str(raised.value), image.data, progress)


async def typescript(target: Target, package: str = "@modelcontextprotocol/client") -> Seen:
    """The TypeScript SDK."""
    [command, *args] = target.command
    where = {"url": target.url} if target.url else {"command": command, "args": args, "env": target.env}
    plan = json.dumps({"target": where, "calls": WIRED})
    line = ["node", "--input-type=module", "-", package, plan]
    program = (PROGRAMS / "typescript.mjs").read_text()
    return seen(**target.run(*line, cwd=target.installed, program=program))


async def typescript_before(target: Target) -> Seen:
    """The line of the TypeScript SDK that most clients are made with."""
    return await typescript(target, "@modelcontextprotocol/sdk")


async def inspector(target: Target) -> Seen:
    """The inspector's command line, which shows no progress."""
    program = str(target.installed / "node_modules" / ".bin" / "mcp-inspector")
    config = target.folder / "inspector.json"
    entry = {"type": "streamable-http", "url": target.url} if target.url else None
    entry = entry or {"command": target.command[0], "args": target.command[1:], "env": target.env}
    config.write_text(json.dumps({"mcpServers": {"toolcrib": entry}}))

    def ask(method: str, *arguments: str) -> Any:
        place = ("--cli", "--config", str(config), "--server", "toolcrib")
        return target.run(program, *place, "--method", method, *arguments)

    def call(name: str) -> Any:
        tool, arguments = WIRED[name]
        pairs = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in arguments.items()]
        return ask("tools/call", "--tool-name", tool, *[part for pair in pairs for part in ("--tool-arg", pair)])

    tools = [tool["name"] for tool in ask("tools/list")["tools"]]
    return seen(tools, {name: call(name) for name in ("sum", "error", "image")}, None)


async def mcporter(target: Target) -> Seen:
    """The command `mcporter`, which shows no progress either."""
    program = str(target.installed / "node_modules" / ".bin" / "mcporter")
    place = ["--http-url", target.url, "--allow-http"] if target.url else ["--stdio", shlex.join(target.command)]

    def call(name: str) -> Any:
        tool, arguments = WIRED[name]
        words = ("--tool", tool, "--args", json.dumps(arguments), "--output", "json")
        return target.run(program, "call", *place, *words)

    listed = target.run(program, "list", *place, "--json")
    tools = [tool["name"] for tool in listed["tools"]]
    return seen(tools, {name: call(name) for name in ("sum", "error", "image")}, None)


CLIENTS = [
    python_sdk,
    python_sdk_handshake,
    fastmcp,
    pydantic_ai,
    typescript,
    typescript_before,
    inspector,
    mcporter,
]


@pytest.fixture(params=["stdio", "http"])
def target(request: Any, installed: Path, workplace: Any, gateway: str) -> Target:
    """A gateway over either transport."""
    url = gateway if request.param == "http" else ""
    return Target(url, workplace.serve, workplace.env, installed / "clients", workplace.folder)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)
async def test_a_client_lists_calls_and_shows_what_came(client: Any, target: Target, spoken: Any) -> None:
    shown = await client(target)
    assert {"search_tools", "get_tool_details", "call_tool"} <= set(shown.tools)
    assert shown.sum == "The sum of 2 and 40 is 42."
    assert "outside allowed directories" in shown.error
    own = spoken.call("everything", "get-tiny-image", {})
    [image] = [block["data"] for block in own["content"] if block["type"] == "image"]
    assert shown.image == base64.b64decode(image)
    # TypeScript's SDK forgets who listens as soon as it has read the result, and hands on only then what it read right
    # before it: a last report that comes in one piece with the result is lost there.
    assert shown.progress in (PROGRESS, PROGRESS[:-1], None)
    assert (shown.progress is None) == (client in {inspector, mcporter})
