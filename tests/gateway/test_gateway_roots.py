"""Roots of a client of the handshake era: passed on to a server on the caller's own connection, and its changes too."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ListRootsResult, Root, RootsListChangedNotification

from toolcrib import Crib
from toolcrib.gateway import Gateway

pytestmark = pytest.mark.anyio

STUB = Path(__file__).resolve().parent.parent / "stubs" / "misbehave.py"
LIMIT = 20.0


class Folders:
    """The roots of one client."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    async def tell(self, context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=f"file:///{self.folder}")])


Connecting = Callable[[Folders], Any]


def crib_over(mode: str, folder: Path) -> Crib:
    args = ["-S", str(STUB), mode, "--log", str(folder / "log")]
    entry = {"command": sys.executable, "args": args, "toolcrib": {"connection": "caller", "protocol": "legacy"}}
    return Crib.open({"one": entry}, state_dir=folder / "state")


@asynccontextmanager
async def connecting(crib: Crib, over_http: Callable[..., Any] | None) -> AsyncIterator[Connecting]:
    """How clients connect to a gateway: in memory, or over HTTP."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(crib)
        gateway = Gateway(crib)
        url = await stack.enter_async_context(over_http(gateway)) if over_http else None

        def connect(folders: Folders) -> Client:
            target = gateway.server if url is None else streamable_http_client(url)
            return Client(target, mode="legacy", list_roots_callback=folders.tell)

        with anyio.fail_after(LIMIT):
            yield connect


async def known_roots(client: Client) -> list[str]:
    result = await client.call_tool("call_tool", {"name": "one.echo"})
    told = json.loads(result.content[0].text)
    return [each["uri"] for each in (told["roots"] if isinstance(told, dict) else told)]


@pytest.fixture(params=["memory", "http"])
def transport(request: pytest.FixtureRequest, over_http: Callable[..., Any]) -> Callable[..., Any] | None:
    return over_http if request.param == "http" else None


async def test_a_server_gets_the_roots_of_whom_it_works_for(tmp_path: Path, transport: Any) -> None:
    crib = crib_over("AsksInCall", tmp_path)
    async with (
        connecting(crib, transport) as connect,
        connect(Folders("a")) as alice,
        connect(Folders("b")) as bob,
    ):
        for client, expected in ((alice, "file:///a"), (bob, "file:///b"), (alice, "file:///a")):
            assert await known_roots(client) == [expected]


async def test_a_change_of_roots_reaches_the_servers_of_that_client(tmp_path: Path, transport: Any) -> None:
    mine, others = Folders("before"), Folders("other")
    crib = crib_over("KeepsRoots", tmp_path)
    async with connecting(crib, transport) as connect, connect(mine) as alice, connect(others) as bob:
        assert await known_roots(alice) == []
        assert await known_roots(bob) == []
        mine.folder = "after"
        await alice.session.send_notification(RootsListChangedNotification())
        while await known_roots(alice) != ["file:///after"]:
            await anyio.lowlevel.checkpoint()
        assert await known_roots(bob) == []


async def test_the_end_of_a_session_ends_its_own_connections(tmp_path: Path, transport: Any) -> None:
    crib = crib_over("KeepsRoots", tmp_path)
    async with connecting(crib, transport) as connect, connect(Folders("b")) as bob:
        await known_roots(bob)
        async with connect(Folders("a")) as alice:
            await known_roots(alice)
            assert crib.servers[0].connections == 3  # and the shared one, which lists
        while crib.servers[0].connections > 2:
            await anyio.lowlevel.checkpoint()
        assert await known_roots(bob) == []
