"""One gateway over all real servers, and clients of it; `make real` installs what is needed."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from bench.differential.servers import entries, furnish, pages
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from toolcrib.servers.wire import raw_request

HERE = Path(__file__).resolve().parent
STUBS = HERE.parent / "stubs"
LIMIT = 60.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.real)


def _install_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("toolcrib_real_install", HERE / "install.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def installed() -> Iterator[Path]:
    """The folder of installed servers and clients; what runs on Node finds the one that they were installed with."""
    install = _install_module()
    absent = [name for name in install.PARTS if name != "conformance" and not install.is_installed(name)]
    if absent:
        reason = f"real servers are not installed: {', '.join(absent)}; run `make real`"
        if os.environ.get("TOOLCRIB_CI") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(install.NODE.parent), prepend=os.pathsep)
        yield install.FOLDER


@pytest.fixture(scope="session")
def stubs() -> Path:
    """The folder of the stub servers."""
    return STUBS


@dataclass
class Workplace:
    """Where the servers of one session work.

    Attributes:
        folder: For their files.
        entries: The configuration, by server.
        env: What a gateway and its clients are started with.
    """

    folder: Path
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.folder / "mcp.json"

    @property
    def serve(self) -> list[str]:
        """The command of a gateway over stdio."""
        return [sys.executable, "-m", "toolcrib", "serve", "--config", str(self.config)]

    @property
    def sent_to_everything(self) -> list[dict[str, Any]]:
        """The messages that reached the server `everything`, by whatever gateway."""
        return [json.loads(line) for line in (self.folder / "everything.log").read_text().splitlines()]


@pytest.fixture(scope="session")
def page() -> Iterator[str]:
    """The URL of a page on this machine."""
    with pages() as address:
        yield f"{address}/page.json"


@contextmanager
def running(command: list[str], env: dict[str, str], ready: str, *, stdout: bool = False) -> Iterator[str]:
    """A program in the background; gives what it wrote up to the line that says it is ready.

    Args:
        command: What to run.
        env: Its whole environment.
        ready: Part of what it says then.
        stdout: Whether that line comes on standard output and not on standard error.
    """
    pipes = {"stdout": subprocess.PIPE} if stdout else {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    with subprocess.Popen(command, env=env, text=True, **pipes) as process:
        stream = process.stdout if stdout else process.stderr
        assert stream is not None
        said = ""
        while ready not in said:
            line = stream.readline()
            assert line, f"{command[0]} ended: {said}"
            said += line
        drain = threading.Thread(target=stream.read, daemon=True)
        drain.start()
        try:
            yield said
        finally:
            process.terminate()
            process.wait(20)
            drain.join()


@pytest.fixture(scope="session")
def everything_over_http(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The URLs of the reference server over Streamable HTTP and over the older transport."""
    urls: dict[str, str] = {}
    with ExitStack() as stack:
        for kind, mode, path in (("http", "streamableHttp", "mcp"), ("sse", "sse", "sse")):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            command = [str(npm(installed, "mcp-server-everything")), mode]
            stack.enter_context(running(command, {**os.environ, "PORT": str(port)}, str(port)))
            urls[kind] = f"http://127.0.0.1:{port}/{path}"
        yield urls


def npm(installed: Path, program: str) -> Path:
    """A server that npm installed."""
    return installed / "npm" / "node_modules" / ".bin" / program


@pytest.fixture(scope="session")
def workplace(
    installed: Path, everything_over_http: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Workplace:
    """All real servers in one configuration, with three that fail."""
    folder = tmp_path_factory.mktemp("real").resolve()
    furnish(folder)

    def stub(mode: str, **options: Any) -> dict[str, Any]:
        return {"command": sys.executable, "args": ["-S", str(STUBS / "misbehave.py"), mode], "toolcrib": options}

    place = Workplace(folder)
    real = entries(installed, folder)
    reference = real["everything"]
    place.entries = {
        "everything": {
            "command": sys.executable,
            "args": [
                *("-S", str(STUBS / "tee.py"), str(folder / "everything.log")),
                *(reference["command"], *reference["args"]),
            ],
        },
        "everything-http": {"type": "http", "url": everything_over_http["http"]},
        "everything-sse": {"type": "sse", "url": everything_over_http["sse"]},
        **{name: entry for name, entry in real.items() if name != "everything"},
        "silent": stub("Mute", start_timeout=1.0),
        "missing": {"command": "no-such-command-anywhere"},
        "junk": stub("Junk"),
    }
    # A first search waits until all have been listed once.
    # Nobody sits at the client, and results are looked at whole.
    rules = [{"name": "all", "tools": ["*"], "then": "allow"}]
    settings = {
        "first_listing_wait": 120.0,
        "start_timeout": 60.0,
        "policy": {"rules": rules},
        "result_budget": None,
    }
    place.config.write_text(json.dumps({"mcpServers": place.entries, "toolcrib": settings}))
    place.env = {
        **os.environ,
        "TOOLCRIB_CONFIG_DIR": str(folder / "config"),
        "TOOLCRIB_STATE_DIR": str(folder / "state"),
        "HOME": str(folder),  # the foreign client would read the configurations of other programs
    }
    return place


@pytest.fixture(scope="session")
def gateway(workplace: Workplace) -> Iterator[str]:
    """The URL of a running `toolcrib serve --http`."""
    command = [*workplace.serve, "--http", "127.0.0.1:0", "--json"]
    with running(command, workplace.env, "\n}", stdout=True) as said:
        yield json.loads(said)["url"]


class RealClient:
    """The SDK's client of the gateway; results stay as they came over the wire."""

    def __init__(self, client: Client, kind: str) -> None:
        self.client = client
        self.kind = kind

    async def meta(self, tool: str, arguments: dict[str, Any], **options: Any) -> dict[str, Any]:
        """A call of one of the gateway's own tools."""
        with anyio.fail_after(2 * LIMIT):
            params = {"name": tool, "arguments": arguments}
            return await raw_request(self.client.session, "tools/call", params, **options)

    async def text(self, tool: str, arguments: dict[str, Any]) -> str:
        """What one of the gateway's own tools says."""
        result = await self.meta(tool, arguments)
        assert result.get("isError") is not True, result
        return "\n".join(block["text"] for block in result["content"])

    async def call(self, tool_id: str, arguments: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """A call of a server's tool."""
        return await self.meta("call_tool", {"name": tool_id, "arguments": arguments or {}}, **options)


async def connected(kind: str, mode: Any, gateway: str, workplace: Workplace) -> AsyncIterator[RealClient]:
    """A client of the gateway over HTTP, or of a gateway of its own over stdio."""
    first, *args = workplace.serve
    target = (
        streamable_http_client(gateway, max_sse_event_size=None)  # the SDK's own bound is 1 MiB
        if kind == "http"
        else StdioServerParameters(command=first, args=args, env=workplace.env)
    )
    async with Client(target, mode=mode) as client:
        yield RealClient(client, kind)


COMBINATIONS = [("http", "auto"), ("http", "legacy"), ("stdio", "auto"), ("stdio", "legacy")]


@pytest.fixture(scope="module", params=COMBINATIONS, ids="-".join)
async def client(request: pytest.FixtureRequest, gateway: str, workplace: Workplace) -> AsyncIterator[RealClient]:
    """A client in each era over each transport."""
    async for each in connected(*request.param, gateway, workplace):
        yield each


@pytest.fixture(scope="module", params=["auto", "legacy"])
async def http_client(request: pytest.FixtureRequest, gateway: str, workplace: Workplace) -> AsyncIterator[RealClient]:
    """A client of the gateway over HTTP in each era: its servers run for the whole session."""
    async for each in connected("http", request.param, gateway, workplace):
        yield each


@pytest.fixture(scope="session")
def spoken(workplace: Workplace) -> "Spoken":
    """What the servers themselves list and answer, read by nothing but a JSON parser."""
    return Spoken(workplace)


class Spoken:
    """Speaks the handshake and single requests with a server over stdio, one process at a time."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace
        self._results: dict[str, Any] = {}
        own = [name for name, entry in workplace.entries.items() if "command" in entry and "toolcrib" not in entry]
        with ThreadPoolExecutor(2) as pool:
            names = [name for name in own if name != "missing"]
            lists = pool.map(lambda name: self.ask(name, "tools/list")["tools"], names)
        self.tools: dict[str, list[dict[str, Any]]] = dict(zip(names, lists, strict=True))

    def call(self, server: str, tool: str, arguments: dict[str, Any]) -> Any:
        """The result of a call that always has the same one."""
        key = json.dumps([server, tool, arguments])
        if key not in self._results:
            self._results[key] = self.ask(server, "tools/call", {"name": tool, "arguments": arguments})
        return self._results[key]

    def ask(self, server: str, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result of one request to a server that was started for it."""
        entry = self._workplace.entries[server]
        env = {**self._workplace.env, **entry.get("env", {})}
        command = [entry["command"], *entry["args"]]
        if str(STUBS / "tee.py") in command:
            command = command[command.index(str(STUBS / "tee.py")) + 2 :]
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "plain", "version": "1"}}
        with subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            self._exchange(process, {"id": 1, "method": "initialize", "params": hello})
            self._send(process, {"method": "notifications/initialized"})
            answer = self._exchange(process, {"id": 2, "method": method, "params": params or {}})
            process.kill()
        return answer["result"]

    def _exchange(self, process: "subprocess.Popen[bytes]", message: dict[str, Any]) -> dict[str, Any]:
        self._send(process, message)
        assert process.stdout is not None
        for line in process.stdout:
            if not line.startswith(b"{"):
                continue  # chroma greets on standard output
            answer = json.loads(line)
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer
        raise AssertionError(f"no answer to {message['method']}")

    def _send(self, process: "subprocess.Popen[bytes]", message: dict[str, Any]) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
