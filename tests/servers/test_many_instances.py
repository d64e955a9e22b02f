"""Ten gateways on one state directory, started together, one of them killed: nothing is lost and nothing doubled."""

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from toolcrib import Crib
from toolcrib.store import STORE_FILE

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="counts processes in /proc"),
]

INSTANCES = 10
LIMIT = 120.0
MOST = 1_000_000


class Served:
    """A `toolcrib serve` process, spoken to in lines of JSON by nothing but a JSON parser."""

    def __init__(self, process: Any) -> None:
        self.process = process
        self._lines = BufferedByteReceiveStream(process.stdout)
        self._asked = 0

    async def send(self, method: str, **params: Any) -> int:
        """Send a request; gives its id."""
        self._asked += 1
        await self._write({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        return self._asked

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        sent = await self.send(method, **params)
        while True:
            message = json.loads(await self._lines.receive_until(b"\n", MOST))
            if message.get("id") == sent and "method" not in message:
                return message["result"]

    async def begin(self) -> None:
        """Shake hands."""
        about = {"name": "test", "version": "1"}
        await self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=about)
        await self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, name: str, **arguments: Any) -> Any:
        """Call a tool; gives the arguments that its server says it got."""
        params = {"name": "call_tool", "arguments": {"name": name, "arguments": arguments}}
        result = await self.ask("tools/call", **params)
        assert not result.get("isError"), result
        return result["structuredContent"]["arguments"]

    async def _write(self, message: dict[str, Any]) -> None:
        await self.process.stdin.send(json.dumps(message).encode() + b"\n")


@asynccontextmanager
async def serving(config: Path, state: Path) -> AsyncIterator[Served]:
    env = {**os.environ, "TOOLCRIB_STATE_DIR": str(state), "TOOLCRIB_CONFIG_DIR": str(state)}
    process = await anyio.open_process(
        [sys.executable, "-m", "toolcrib", "serve", "--config", str(config)], env=env, stderr=subprocess.DEVNULL
    )
    try:
        yield Served(process)
        await process.stdin.aclose()
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()


def received(stub: Any, name: str) -> list[dict[str, Any]]:
    """The arguments of all calls of a tool that reached a server, in whichever of its processes."""
    calls = [each["params"] for each in stub.received if each.get("method") == "tools/call"]
    return [each["arguments"] for each in calls if each["name"] == name]


def pids(*stubs: Any) -> list[int]:
    return [record["pid"] for each in stubs for record in each.records if record["event"] == "start"]


async def until(condition: Any) -> None:
    while not condition():  # noqa: ASYNC110 - other processes tell nobody
        await anyio.sleep(0.02)


async def test_ten_instances_started_together_lose_and_double_nothing_when_one_is_killed(stub, alive, tmp_path):
    one, two = stub("Normal"), stub("HangInCall")
    config, state = tmp_path / "mcp.json", tmp_path / "state"
    config.write_text(json.dumps({"mcpServers": {"one": one.entry, "two": two.entry}}))
    echoed: list[int] = []

    async def first(instance: Served, number: int) -> None:
        await instance.begin()
        echoed.append((await instance.call("one.echo", number=number))["number"])

    async def second(instance: Served, number: int) -> None:
        echoed.append((await instance.call("one.echo", number=number))["number"])

    with anyio.fail_after(LIMIT):
        async with AsyncExitStack() as stack:
            instances = [await stack.enter_async_context(serving(config, state)) for _ in range(INSTANCES)]
            async with anyio.create_task_group() as tasks:
                for number, instance in enumerate(instances):
                    tasks.start_soon(first, instance, number)
            assert sorted(echoed) == list(range(INSTANCES))

            killed, *others = instances
            await killed.send("tools/call", name="call_tool", arguments={"name": "two.hang", "arguments": {"of": "it"}})
            await until(lambda: received(two, "hang"))
            killed.process.kill()
            async with anyio.create_task_group() as tasks:
                for number, instance in enumerate(others, INSTANCES):
                    tasks.start_soon(second, instance, number)
            await until(lambda: sum(map(alive, pids(one, two))) == len(others))
            assert not alive(pids(two)[0])
        assert [instance.process.returncode for instance in others] == [0] * len(others)
        await until(lambda: not any(map(alive, pids(one, two))))

    assert sorted(echoed) == list(range(2 * INSTANCES - 1))
    assert sorted(each["number"] for each in received(one, "echo")) == sorted(echoed)
    assert received(two, "hang") == [{"of": "it"}]
    assert (one.starts, two.starts) == (INSTANCES, 1)

    with sqlite3.connect(state / STORE_FILE) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    async with Crib.open(config, state_dir=state) as crib:
        found = await crib.search("echo")
        assert {each.tool.id for each in found.found} >= {"one.echo", "two.echo"}
        entries = await crib.journal.entries(limit=1_000)
        # What the killed one said last counts no more, though its lease has not ended.
        assert await crib.states_elsewhere() == {}
    assert Counter(each.tool for each in entries) == {"one.echo": len(echoed), "two.hang": 1}
    assert {each.state for each in entries if each.tool == "one.echo"} == {"done"}
    assert {each.state for each in entries if each.tool == "two.hang"} <= {"started", "unknown"}
    assert (one.starts, two.starts) == (INSTANCES, 1)
