"""Pools of stub servers, with what they reported; see `tests/stubs`."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.catalog import Snapshot, SnapshotStore
from toolcrib.config import Variables, config_from_mapping
from toolcrib.servers import McpServer, ServerPool, ServerStatus, Vault

STUBS = Path(__file__).resolve().parent.parent / "stubs"
LIMIT = 20.0


class Stub:
    """An entry for a stub server, and the log that its processes write."""

    def __init__(self, mode: str, log: Path, **options: Any) -> None:
        self.log = log
        # -S: without site-packages the interpreter starts in half the time.
        self.entry: dict[str, Any] = {
            "command": sys.executable,
            "args": ["-S", str(STUBS / "misbehave.py"), mode, "--log", str(log)],
            "toolcrib": options,
        }

    @property
    def records(self) -> list[dict[str, Any]]:
        """What the server wrote down so far."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    @property
    def starts(self) -> int:
        """How many processes were started."""
        return sum(record["event"] == "start" for record in self.records)

    @property
    def received(self) -> list[dict[str, Any]]:
        """The messages that reached it."""
        return [record["message"] for record in self.records if record["event"] == "received"]

    @property
    def methods(self) -> list[str]:
        """The methods that reached it."""
        return [message["method"] for message in self.received if "method" in message]

    def pid(self, event: str) -> int:
        """The process id in the newest record of an event."""
        return [record["pid"] for record in self.records if record["event"] == event][-1]


class Opened:
    """An open pool, with the states and listings that it told of."""

    def __init__(self) -> None:
        self.pool: ServerPool
        self.states: list[ServerStatus] = []
        self.listings: list[Snapshot] = []
        self._happened = anyio.Event()

    def __getitem__(self, server: str) -> McpServer:
        return self.pool.get(server)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that the pool told of makes the condition true."""
        while not condition():
            self._happened = anyio.Event()
            await self._happened.wait()

    def on_state(self, status: ServerStatus) -> None:
        self.states.append(status)
        self._happened.set()

    def on_listed(self, snapshot: Snapshot) -> None:
        self.listings.append(snapshot)
        self._happened.set()


@pytest.fixture
def stub(tmp_path: Path) -> Callable[..., Stub]:
    """Makes stub servers: `stub("Mode", option=…)`, the options being those of `toolcrib`."""
    made: list[Stub] = []

    def make(mode: str, **options: Any) -> Stub:
        made.append(Stub(mode, tmp_path / f"{len(made)}-{mode}.log", **options))
        return made[-1]

    return make


@pytest.fixture
def replay(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Makes the entry of a server that lists a catalog: `replay(catalog, "--page", "10")`."""

    def make(catalog: dict[str, Any], *options: str) -> dict[str, Any]:
        path = tmp_path / "catalog.json"
        path.write_text(json.dumps(catalog))
        return {"command": sys.executable, "args": ["-S", str(STUBS / "replay.py"), str(path), *options]}

    return make


@pytest.fixture
def spoken() -> Callable[..., list[dict[str, Any]]]:
    """What a server answers to requests, read from its output by nothing but a JSON parser."""

    def ask(entry: dict[str, Any], *requests: dict[str, Any]) -> list[dict[str, Any]]:
        lines = b"".join(json.dumps(request).encode() + b"\n" for request in requests)
        done = subprocess.run([entry["command"], *entry["args"]], input=lines, stdout=subprocess.PIPE, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return ask


@pytest.fixture
def open_pool(tmp_path: Path) -> Callable[..., Any]:
    """Opens pools: `async with open_pool(name=stub_or_entry, …) as opened`; all of it is over in 20 s."""

    @asynccontextmanager
    async def open_one(settings: dict[str, Any] | None = None, **servers: Any):
        entries = {
            name.replace("__", "-"): each.entry if isinstance(each, Stub) else each for name, each in servers.items()
        }
        config = config_from_mapping({"mcpServers": entries, "toolcrib": settings or {}})
        opened = Opened()
        with anyio.fail_after(LIMIT):
            async with anyio.create_task_group() as tasks:
                opened.pool = ServerPool(
                    config,
                    tasks,
                    variables=Variables(),
                    snapshots=SnapshotStore(tmp_path / "snapshots"),
                    vault=Vault(tmp_path / "auth"),
                    marker="an-instance",
                    on_listed=opened.on_listed,
                    on_state=opened.on_state,
                    on_heard=lambda *_: None,
                )
                try:
                    yield opened
                finally:
                    with anyio.CancelScope(shield=True), anyio.fail_after(LIMIT):
                        await opened.pool.close()
                tasks.cancel_scope.cancel()

    return open_one


@pytest.fixture
def alive() -> Callable[[int], bool]:
    """Tells whether a process still runs; one that is only waiting to be collected does not."""

    def look(pid: int) -> bool:
        if Path("/proc/self").exists():
            try:
                return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
            except (FileNotFoundError, ProcessLookupError):
                return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True

    return look


async def call(server: McpServer, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    """Call a tool by its raw name."""
    return await server.request("tools/call", {"name": name, "arguments": arguments or {}})


@pytest.fixture(name="call")
def call_fixture() -> Callable[..., Any]:
    """Calls a tool by its raw name: `await call(server, "echo", {...})`."""
    return call
