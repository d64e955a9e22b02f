"""A protected server with its authorization server, and ways to log in to it."""

import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import keyring
import pytest
from keyring.backends import fail
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette

sys.path.insert(0, str(Path(__file__).resolve().parent))

from authority import Authority, serving

from toolcrib.config import Variables, config_from_mapping
from toolcrib.servers import Vault
from toolcrib.servers.auth.login import LoggedIn, Person, log_in
from toolcrib.servers.causes import unwrapped


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test touches the keyring of whoever runs it."""
    before = keyring.get_keyring()
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    keyring.set_keyring(fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def authority(request: pytest.FixtureRequest) -> Iterator[Authority]:
    """Both servers, running; of the MCP server's transports `http`, unless a parameter says `sse`."""
    older = getattr(request, "param", "http") == "sse"
    both = Authority(_older_transport(), "/sse") if older else Authority()
    with serving(both.app()) as url:
        both.url = url
        yield both


def _older_transport() -> Starlette:
    server = MCPServer("notes")

    @server.tool()
    def read() -> str:
        """Read a note."""
        return "read: done"

    return server.sse_app()


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """The vault of the pools that `open_pool` opens."""
    return Vault(tmp_path / "auth")


@pytest.fixture
def log_in_to(authority: Authority, vault: Vault) -> Callable[..., Any]:
    """Logs in to the authority's server: `await log_in_to("one")`."""

    async def login(server: str, *, port: int | None = None, **entry: Any) -> LoggedIn:
        config = config_from_mapping({"mcpServers": {server: {**authority.entry, **entry}}})
        resolved = config.servers[server].resolve(Variables())
        with anyio.fail_after(20), unwrapped():
            async with anyio.create_task_group() as browser:

                async def follow(url: str) -> None:
                    async with httpx2.AsyncClient(follow_redirects=True) as client:
                        await client.get(url)

                async def show(url: str) -> None:
                    browser.start_soon(follow, url)

                try:
                    return await log_in(server, resolved, vault, Person(show, None, pytest.fail), port=port)
                finally:
                    browser.cancel_scope.cancel()

    return login


@pytest.fixture
def unused_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]
