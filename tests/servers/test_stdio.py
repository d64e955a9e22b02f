"""The stdio transport, against processes whose every line is known."""

import sys
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from toolcrib.servers.stderr import StderrTail
from toolcrib.servers.stdio import StdioCommand, stdio_transport
from toolcrib.servers.watchdog import Watchdog

pytestmark = pytest.mark.anyio

LIMIT = 20.0

DEAF = """
import os, sys, time
os.close(0)
print('{"jsonrpc":"2.0","id":1,"result":{}}', flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.001)
print('{"jsonrpc":"2.0","id":2,"result":{}}', flush=True)
while os.path.exists(sys.argv[1]):
    time.sleep(0.001)
"""
"""Reads nothing; answers at its start and once a file is there, and ends when it is no longer there."""


async def test_an_answer_that_is_on_its_way_is_read_though_nobody_reads_what_is_sent_any_more(tmp_path: Path) -> None:
    """A server may answer one call and close its input while another is sent to it."""
    told, watchdog = tmp_path / "told", Watchdog(uuid4().hex)
    start = StdioCommand(sys.executable, ["-S", "-c", DEAF, str(told)], {}, None)
    try:
        with anyio.fail_after(LIMIT):
            async with stdio_transport("deaf", start, watchdog, StderrTail(), StderrTail()) as streams:
                assert (await streams.read.receive()).message.id == 1  # pyright: ignore
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it could not be sent
                    while True:
                        await streams.write.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=3, method="ping")))
                await anyio.Path(told).touch()
                assert (await streams.read.receive()).message.id == 2  # pyright: ignore
                with pytest.raises(anyio.EndOfStream):  # and yet the session sees the end
                    await streams.read.receive()
                await anyio.Path(told).unlink()
    finally:
        await anyio.to_thread.run_sync(watchdog.close)
