"""The same before a server that is a process, where nothing on the wire tells whose a question or a message is."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from toolcrib import Crib
from toolcrib.gateway import Gateway

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]

MODES: dict[str, Any] = {"handshake": "legacy", "modern": "auto"}


@pytest.mark.parametrize("upstream_era", MODES)
async def test_questions_and_messages_pass(over_stdio: Any, user: Any, tmp_path: Path, upstream_era: str) -> None:
    async with Crib.open(over_stdio(upstream_era), state_dir=tmp_path) as crib:
        for era, mode in MODES.items():
            user.logs.clear()
            with anyio.fail_after(60):
                async with Client(Gateway(crib, "all").server, mode=mode, **user.callbacks) as client:
                    assert (await client.call_tool("up__ask_form", {})).content[0].text == "accept:green"
                    meta = {} if era == "handshake" else {"io.modelcontextprotocol/logLevel": "error"}
                    if era == "handshake":
                        await client.set_logging_level("error")
                    await client.call_tool("up__log", {}, meta=meta)
                    while not user.logs:
                        await anyio.lowlevel.checkpoint()
            assert [each["level"] for each in user.logs] == ["error"]
