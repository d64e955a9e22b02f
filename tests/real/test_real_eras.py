"""A real server that dies of the modern probe: restarted in the handshake era, which is remembered."""

import json
import sys

import anyio
import pytest

from toolcrib import Crib

pytestmark = pytest.mark.anyio


async def test_chroma_dies_of_the_probe_once_and_is_never_probed_again(installed, workplace, stubs, tmp_path):
    log = tmp_path / "sent.log"
    chroma = workplace.entries["chroma"]
    arguments = ["-S", str(stubs / "tee.py"), str(log), chroma["command"], *chroma["args"][:-1]]
    entry = {"command": sys.executable, "args": [*arguments, str(tmp_path / "data")]}

    async def listed():
        """The methods that reach it while a crib lists it, start by start, and its state."""
        log.write_text("")
        async with Crib.open({"mcpServers": {"chroma": entry}}, state_dir=tmp_path / "state") as crib:
            with anyio.fail_after(60):
                [status] = await crib.refresh()
        records = [json.loads(line) for line in log.read_text().splitlines()]
        return [record.get("method", "(start)") for record in records], status

    handshake = ["(start)", "initialize", "notifications/initialized", "tools/list"]
    methods, status = await listed()
    assert methods == ["(start)", "server/discover", *handshake]
    assert (status.state, status.era, status.protocol_version) == ("ready", "handshake", "2024-11-05")
    methods, status = await listed()
    assert methods == handshake
    assert (status.state, status.tools) == ("ready", 13)  # thirteen tools are in chroma-mcp 0.2.6
