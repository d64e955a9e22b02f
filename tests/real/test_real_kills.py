"""Real servers, each killed at random while it is used through the gateway: nothing hangs, and the next call works."""

import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from toolcrib import Crib
from toolcrib.gateway import Gateway
from toolcrib.servers.watchdog import marked_processes
from toolcrib.servers.wire import raw_request

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="reads other processes' environment in /proc"),
]

SEED = 20_261_130
KILLS = 2
"""For each server; after three failures in a row it would be left alone for a while."""

THOUGHT = {"thought": "So.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
NOON = {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "UTC"}


@pytest.fixture
def own_entries(workplace: Any, tmp_path: Path) -> dict[str, Any]:
    """The real servers over stdio, with files of their own: some lock theirs."""
    real = {
        name: entry
        for name, entry in workplace.entries.items()
        if "command" in entry and "toolcrib" not in entry and name != "missing"
    }
    (tmp_path / "files").mkdir()
    return json.loads(json.dumps(real).replace(str(workplace.folder) + "/", f"{tmp_path}/"))


async def test_each_server_is_killed_while_it_is_used_and_the_next_call_works(
    own_entries: dict[str, Any], workplace: Any, page: str, tmp_path: Path
) -> None:
    (tmp_path / "kubeconfig").write_text((workplace.folder / "kubeconfig").read_text())
    calls = {
        "everything.echo": {"message": "well"},
        "filesystem.list_directory": {"path": str(tmp_path / "files")},
        "memory.read_graph": {},
        "sequential_thinking.sequentialthinking": THOUGHT,
        "kubernetes.configuration_view": {},
        "time_.convert_time": NOON,
        "fetch_.fetch": {"url": page},
        "motherduck.execute_query": {"sql": "SELECT 6 * 7 AS answer"},
        "excel.create_workbook": {"path": str(tmp_path / "book.xlsx"), "overwrite": True},
        "chroma.chroma_list_collections": {},
    }
    assert len(calls) == len(own_entries)
    settings = {"start_timeout": 60.0}
    with anyio.fail_after(150):
        config = {"mcpServers": own_entries, "toolcrib": settings}
        async with Crib.open(config, state_dir=tmp_path / "state") as crib:
            async with Client(Gateway(crib).server) as client, anyio.create_task_group() as servers:
                for number, (tool_id, arguments) in enumerate(calls.items()):
                    use = _Use(crib, client, tool_id, arguments, random.Random(SEED + number))
                    servers.start_soon(use.kill_again_and_again)
            marker = crib.instance
    assert list(marked_processes(marker)) == []


class _Use:
    """One server in use."""

    def __init__(
        self, crib: Crib, client: Client, tool_id: str, arguments: dict[str, Any], chance: random.Random
    ) -> None:
        self._crib = crib
        self._client = client
        self._tool_id = tool_id
        self._server = tool_id.partition(".")[0]
        self._arguments = arguments
        self._chance = chance

    async def kill_again_and_again(self) -> None:
        await self._works()
        for _ in range(KILLS):
            async with anyio.create_task_group() as both:
                both.start_soon(self._ends_clearly)
                both.start_soon(self._kill)
            await self._works()

    async def _works(self) -> None:
        failed, text = await self._call()
        assert not failed, text

    async def _ends_clearly(self) -> None:
        failed, text = await self._call()
        if failed:
            assert f"{self._server} ended its connection while tools/call was under way" in text

    async def _kill(self) -> None:
        """Kill it at a moment that chance picks: before the call is sent, while it is under way, or after."""
        for _ in range(self._chance.randrange(60)):
            await anyio.lowlevel.checkpoint()
        pid = self._pid
        assert pid is not None
        with self._crib.events.subscribe() as changes:
            os.killpg(pid, signal.SIGKILL)  # some are a wrapper around the server
            async for _ in changes:
                if self._pid != pid:
                    break  # what is called from here on is called of another process

    @property
    def _pid(self) -> int | None:
        return next(status.pid for status in self._crib.servers if status.id == self._server)

    async def _call(self) -> tuple[bool, str]:
        params = {"name": "call_tool", "arguments": {"name": self._tool_id, "arguments": self._arguments}}
        result = await raw_request(self._client.session, "tools/call", params)
        return result.get("isError") is True, json.dumps(result)
