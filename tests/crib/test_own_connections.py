"""Whose connection a call takes, as the configuration says: everybody's, the caller's, the run's."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import Crib
from toolcrib.broker import LOCAL, Caller, Options, Principal, Question, text_of
from toolcrib.catalog import JsonObject

pytestmark = pytest.mark.anyio

STUB = Path(__file__).resolve().parent.parent / "stubs" / "misbehave.py"
ALICE = Caller(Principal("alice"), "monday")
BOB = Caller(Principal("bob"), "monday")


@dataclass
class Client:
    """A client with one root."""

    root: str
    capabilities: dict[str, Any] = field(default_factory=lambda: {"roots": {}})

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        return {"roots": [{"uri": self.root}]}


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[str], Crib]:
    """Opens a crib over a server that asks for the roots in each call."""

    def make(connection: str) -> Crib:
        args = ["-S", str(STUB), "AsksInCall", "--log", str(tmp_path / "log")]
        entry = {"command": sys.executable, "args": args, "toolcrib": {"connection": connection}}
        return Crib.open({"one": entry}, state_dir=tmp_path / "state")

    return make


@pytest.fixture
def starts(tmp_path: Path) -> Callable[[], int]:
    """Counts the processes of the server."""

    def count() -> int:
        return sum(json.loads(line)["event"] == "start" for line in (tmp_path / "log").read_text().splitlines())

    return count


async def root(crib: Crib, caller: Caller, client: Client | None = None) -> str:
    """The root that the server was told, or the code of the error."""
    outcome = await crib.request("tools/call", "one.echo", {}, caller, Options(client=client))
    told = json.loads(text_of(outcome.result))
    return told["roots"][0]["uri"] if "roots" in told else str(told["code"])


async def test_a_shared_connection_declares_nothing_and_asks_nobody(opened, starts):
    async with opened("shared") as crib:
        for caller in (ALICE, BOB, LOCAL):
            assert (
                await root(crib, caller, Client("file:///secret")) == "-32600"
            )  # the SDK's code for what was never declared
    assert starts() == 1


async def test_a_server_that_asked_in_vain_gets_connections_of_its_callers(opened, starts):
    async with opened("auto") as crib:
        assert await root(crib, ALICE, Client("file:///alice")) == "-32600"  # its first question tells that it asks
        assert await root(crib, ALICE, Client("file:///alice")) == "file:///alice"
        assert await root(crib, BOB, Client("file:///bob")) == "file:///bob"
        assert await root(crib, LOCAL) == "-32600"  # nobody can be asked: it stays shared
    assert starts() == 3


async def test_callers_of_a_server_have_connections_of_their_own_by_principal_and_conversation(opened, starts):
    tuesday = replace(ALICE, conversation="tuesday")
    async with opened("caller") as crib:
        clients = [Client(f"file:///{number}") for number in range(3)]
        for _ in range(2):
            for number, caller in enumerate((ALICE, BOB, tuesday)):
                assert await root(crib, caller, clients[number]) == f"file:///{number}"
        assert await root(crib, LOCAL) == "-32600"  # nothing stands behind it
        script = replace(ALICE, origin="script", run="1")
        assert await root(crib, script, clients[0]) == "file:///0"  # a run is part of its conversation
        [status] = crib.servers
        assert status.connections == 5  # and the shared one, which lists
    assert starts() == 5


async def test_each_run_has_a_connection_of_its_own_and_calls_beside_runs_that_of_their_caller(opened, starts):
    first, second = (replace(ALICE, origin="script", run=run) for run in ("1", "2"))
    async with opened("run") as crib:
        client = Client("file:///alice")
        for _ in range(2):
            for caller in (first, second, ALICE):
                assert await root(crib, caller, client) == "file:///alice"
        assert starts() == 4
        crib.release(first)
        with anyio.fail_after(10):
            while crib.servers[0].connections > 3:
                await anyio.lowlevel.checkpoint()
        assert await root(crib, second, client) == "file:///alice"
        assert starts() == 4
        assert await root(crib, first, client) == "file:///alice"
        assert starts() == 5


async def test_the_connection_of_a_run_ends_with_the_run(opened, starts):
    async with opened("run") as crib:
        client = Client("file:///alice")
        outcome = await crib.run_code("(await one.echo())['roots'][0]['uri']", caller=ALICE, client=client)
        assert outcome.value == "file:///alice", outcome
        with anyio.fail_after(10):
            while crib.servers[0].connections > 1:  # the shared one, which lists
                await anyio.lowlevel.checkpoint()
    assert starts() == 2


async def test_the_connection_of_a_run_that_is_given_up_ends_too(opened):
    asked, never = anyio.Event(), anyio.Event()

    class Silent(Client):
        async def answer(self, method: str, params: JsonObject) -> JsonObject:
            asked.set()
            await never.wait()
            raise AssertionError

    async with opened("run") as crib:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:

                async def run() -> None:
                    await crib.run_code("await one.echo()", caller=ALICE, client=Silent("file:///alice"))

                tasks.start_soon(run)
                await asked.wait()
                tasks.cancel_scope.cancel()
            while crib.servers[0].connections > 1:
                await anyio.lowlevel.checkpoint()


async def test_an_approved_call_takes_the_connection_that_it_would_have_taken_at_once(tmp_path, starts):
    args = ["-S", str(STUB), "AsksInCall", "--log", str(tmp_path / "log")]
    entry = {"command": sys.executable, "args": args, "toolcrib": {"connection": "caller"}}
    config = {"mcpServers": {"one": entry}, "toolcrib": {"policy": {"rules": [{"then": "ask"}]}}}

    async def approver(question: Question) -> bool:
        return True

    async with Crib.open(config, approver=approver, state_dir=tmp_path / "state") as crib:
        assert await root(crib, ALICE, Client("file:///alice")) == "file:///alice"
    assert starts() == 2  # and the shared one, which lists


async def test_a_server_that_always_runs_stays_shared_unless_the_configuration_says_otherwise(tmp_path):
    args = ["-S", str(STUB), "AsksInCall"]
    entry = {"command": sys.executable, "args": args, "toolcrib": {"start": "always"}}
    async with Crib.open({"one": entry}, state_dir=tmp_path) as crib:
        for _ in range(2):  # it has asked in vain by the second time
            assert await root(crib, ALICE, Client("file:///alice")) == "-32600"
        [status] = crib.servers
        assert status.connections == 1


async def test_the_one_client_of_a_gateway_over_stdio_is_asked_from_the_first_call_on(opened, starts):
    async with opened("auto") as crib:
        await crib.refresh()
        assert await root(crib, replace(ALICE, face="stdio"), Client("file:///alice")) == "file:///alice"
    assert starts() == 2
