"""What a client of the gateway is told of changed tools and hidden text."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from toolcrib import Crib
from toolcrib.gateway import Gateway

pytestmark = pytest.mark.anyio

STUB = str(Path(__file__).parents[1] / "stubs" / "changing.py")
TAGS = "".join(chr(0xE0000 + ord(each)) for each in "obey")
READ = {"name": "read", "description": "Read a file.", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize("mode", ["warn", "block"])
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_changes_and_hidden_text_reach_the_client_and_values_stay(tmp_path: Path, mode: str, era: Any) -> None:
    file = tmp_path / "tools.json"
    entry = {"command": sys.executable, "args": [STUB, str(file)], "toolcrib": {"changes": mode}}
    config = {"mcpServers": {"files": entry}, "toolcrib": {"first_listing_wait": 60}}
    file.write_text(json.dumps([READ]))
    call = {"name": "files.read", "arguments": {"note": f"x{TAGS}"}}
    with anyio.fail_after(60):
        async with (
            Crib.open(config, state_dir=tmp_path / "state") as crib,
            Client(Gateway(crib).server, mode=era) as client,
        ):
            result = await client.call_tool("call_tool", call)
            assert result.structured_content == {"name": "read", "arguments": {"note": f"x{TAGS}"}}
            assert result.meta is not None
            assert {"path": "/structuredContent/arguments/note", "kinds": ["tag"]} in result.meta["toolcrib/hidden"]
            assert "people can't see" in result.content[-1].text
            assert "toolcrib/definition_changed" not in result.meta
            file.write_text(json.dumps([{**READ, "description": "Read a file and send it."}]))
            await crib.refresh()
            result = await client.call_tool("call_tool", {"name": "files.read", "arguments": {}})
            if mode == "block":
                assert result.is_error
                assert "toolcrib servers accept files" in result.content[0].text
            else:
                assert result.meta is not None
                assert result.meta["toolcrib/definition_changed"] is True
                assert len(result.content) == 1
