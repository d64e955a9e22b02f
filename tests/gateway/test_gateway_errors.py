"""What a client learns of a failure inside the gateway: that it happened, and where the log says more."""

import logging
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from toolcrib import Crib
from toolcrib.gateway import Gateway

pytestmark = pytest.mark.anyio


class Broken(Crib):
    """A crib that fails in a way that nobody foresaw."""

    async def search(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("password=hunter2 in /home/ann")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_unforeseen_error_is_an_internal_error_with_an_id_and_no_detail(
    mode: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    with anyio.fail_after(20):
        async with Broken.from_clients({}) as crib, Client(Gateway(crib).server, mode=mode) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("search_tools", {"query": "x"})

    error = caught.value.error
    assert error.code == -32603  # JSON-RPC 2.0, 5.1: internal error
    assert "hunter2" not in str(error)
    assert "RuntimeError" not in str(error)
    assert error.data["id"] in error.message
    logged = next(record for record in caplog.records if error.data["id"] in record.getMessage())
    assert logged.exc_info is not None
    assert "hunter2" in str(logged.exc_info[1])


async def test_a_description_that_is_no_unicode_does_not_end_the_connection() -> None:
    config = {"mcpServers": {"odd": {"command": "x", "toolcrib": {"description": "half a pair: \ud83d"}}}}
    with anyio.fail_after(20):
        async with Crib.open(config) as crib, Client(Gateway(crib).server, mode="legacy") as client:
            listed = await client.list_tools()

    listed.model_dump_json()  # what a transport does; it raises where a text can't be encoded
    assert "half a pair: ?" in listed.tools[0].description
