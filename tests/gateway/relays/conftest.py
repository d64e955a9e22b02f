"""A client, the gateway and a server, each side in each era: the server over HTTP in this process, or a process."""

import importlib.util
import socket
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
import uvicorn
from mcp import Client

from toolcrib import Crib
from toolcrib.gateway import Gateway

UPSTREAM = Path(__file__).resolve().parent / "upstream.py"
MODES: dict[str, Any] = {"handshake": "legacy", "modern": "auto"}
LIMIT = 40.0
PAIRS = [(client, server) for client in MODES for server in MODES]


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("relays_upstream", UPSTREAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SERVER = _module()


@dataclass
class User:
    """Who answers at the client, and what the client was told.

    Attributes:
        asked: What was asked, in order.
        logs: Log messages that came.
        heard: Methods of other notifications that came.
    """

    asked: list[Any]
    logs: list[Any]
    heard: list[Any]
    action: str = "accept"

    async def elicit(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.model_dump(by_alias=True, exclude_none=True))
        content = {"colour": "green"} if getattr(params, "mode", "form") == "form" and self.action == "accept" else None
        return types.ElicitResult(action=self.action, content=content)

    async def sample(self, context: Any, params: Any) -> types.CreateMessageResult:
        self.asked.append(params.model_dump(by_alias=True, exclude_none=True))
        content = types.TextContent(type="text", text="word")
        return types.CreateMessageResult(role="assistant", content=content, model="test")

    async def roots(self, context: Any) -> types.ListRootsResult:
        self.asked.append({})
        return types.ListRootsResult(roots=[types.Root(uri="file:///home")])

    async def log(self, params: Any) -> None:
        self.logs.append(params.model_dump(by_alias=True, exclude_none=True))

    async def message(self, message: Any) -> None:
        self.heard.append(message)

    @property
    def callbacks(self) -> dict[str, Any]:
        """What the SDK's client is made with: each declares a capability."""
        return {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
            "logging_callback": self.log,
            "message_handler": self.message,
        }


@asynccontextmanager
async def served_over_http(server: Any) -> AsyncIterator[str]:
    """The SDK's server over Streamable HTTP on a free port; gives the URL."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    app = server.streamable_http_app()
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=0)
    running = uvicorn.Server(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(running.serve, [listener])
        while not running.started:
            await anyio.lowlevel.checkpoint()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        running.should_exit = True


@dataclass
class Relay:
    """All three.

    Attributes:
        upstream: The server, where it is in this process.
        crib: The crib of the gateway.
        user: Who is at the client.
        connect: Makes a client, connected when entered: `connect(profile, **callbacks)`.
        era: Of the client.
        upstream_era: Of the server.
    """

    upstream: Any
    crib: Crib
    user: User
    connect: Callable[..., Client]
    era: str
    upstream_era: str


@pytest.fixture
def connection() -> str:
    """Whose connection to the server it is."""
    return "auto"


@pytest.fixture(params=PAIRS, ids=lambda pair: f"{pair[0]}-to-{pair[1]}")
async def relay(request: pytest.FixtureRequest, tmp_path: Path, connection: str) -> AsyncIterator[Relay]:
    """A gateway before the server over HTTP, for each pair of eras."""
    era, upstream_era = request.param
    upstream = SERVER.Upstream()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(served_over_http(upstream.server))
        options = {"protocol": {"handshake": "legacy", "modern": "modern"}[upstream_era], "connection": connection}
        config = {"mcpServers": {"up": {"url": url, "toolcrib": options}}}
        crib = await stack.enter_async_context(Crib.open(config, state_dir=tmp_path))
        user = User([], [], [])

        def connect(profile: str, **callbacks: Any) -> Client:
            return Client(Gateway(crib, profile).server, mode=MODES[era], **(callbacks or user.callbacks))

        with anyio.fail_after(LIMIT):
            yield Relay(upstream, crib, user, connect, era, upstream_era)


@pytest.fixture
def user() -> User:
    """Who is at a client."""
    return User([], [], [])


@pytest.fixture
def over_stdio() -> Callable[[str], dict[str, Any]]:
    """Makes a configuration of the server as a process, of one era."""

    def config(upstream_era: str) -> dict[str, Any]:
        options = {"protocol": {"handshake": "legacy", "modern": "modern"}[upstream_era]}
        server = {"command": sys.executable, "args": [str(UPSTREAM)], "toolcrib": options}
        return {"mcpServers": {"up": server}, "toolcrib": {"first_listing_wait": 60}}

    return config
