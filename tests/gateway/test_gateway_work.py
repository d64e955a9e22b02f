"""Calls side by side, calls under way when the gateway is told to stop, and a whole setup of real processes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from toolcrib import Crib
from toolcrib.demo.config import demo_config
from toolcrib.gateway import Gateway

pytestmark = pytest.mark.anyio

LIMIT = 20.0
TOGETHER = 20


@pytest.fixture(autouse=True)
async def _in_time() -> Any:
    with anyio.fail_after(LIMIT):
        yield


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("kind", ["memory", "http"])
async def test_calls_of_one_client_run_side_by_side(over_http: Any, mode: Any, kind: str) -> None:
    arrived = 0
    all_here = anyio.Event()

    async def meet(number: int) -> int:
        """Answers when everybody has come."""
        nonlocal arrived
        arrived += 1
        if arrived == TOGETHER:
            all_here.set()
        await all_here.wait()
        return number

    async def call(client: Client, number: int) -> None:
        result = await client.call_tool("call_tool", {"name": "local.meet", "arguments": {"number": number}})
        assert result.content[0].text == str(number)

    async def all_calls(target: Any) -> None:
        async with Client(target, mode=mode) as client, anyio.create_task_group() as calls:
            for number in range(TOGETHER):
                calls.start_soon(call, client, number)

    async with Crib.from_clients({}) as crib:
        crib.add_functions(meet)
        gateway = Gateway(crib)
        if kind == "memory":
            await all_calls(gateway.server)
        else:
            async with over_http(gateway) as url:
                await all_calls(url)
    assert arrived == TOGETHER


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_under_way_is_answered_although_the_gateway_was_told_to_stop(over_http: Any, mode: Any) -> None:
    called = anyio.Event()
    release = anyio.Event()
    answers: list[Any] = []

    async def slow() -> str:
        """Takes its time."""
        called.set()
        await release.wait()
        return "in the end"

    async def call(url: str) -> None:
        async with Client(url, mode=mode) as client:
            answers.append(await client.call_tool("call_tool", {"name": "local.slow"}))

    async with Crib.from_clients({}) as crib:
        crib.add_functions(slow)
        async with anyio.create_task_group() as clients, over_http(Gateway(crib)) as url:
            clients.start_soon(call, url)
            await called.wait()
            clients.start_soon(_later, release)
    assert [answer.content[0].text for answer in answers] == ["in the end"]


async def _later(event: anyio.Event) -> None:
    """Set an event once everything that is ready now has run: the stop among it."""
    for _ in range(100):
        await anyio.lowlevel.checkpoint()
    event.set()


HTTP_PROGRAM = """
import sys
from toolcrib.gateway import run_http
run_http(sys.argv[1], port=0, on_ready=lambda url: print(url, flush=True))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
async def test_a_real_server_is_used_over_http_and_ended_by_a_signal(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"tickets": demo_config()["mcpServers"]["tickets"]}}))
    state = {"TOOLCRIB_STATE_DIR": str(tmp_path), "TOOLCRIB_CONFIG_DIR": str(tmp_path)}
    process = await anyio.open_process(
        [sys.executable, "-c", HTTP_PROGRAM, str(config)], stdin=subprocess.DEVNULL, env={**os.environ, **state}
    )
    async with process:
        url = (await process.stdout.receive()).decode().strip()
        async with Client(url) as client:
            found = await client.call_tool("search_tools", {"query": "create a ticket", "detail": "name"})
            name = found.content[0].text.splitlines()[0].strip()
            details = json.loads((await client.call_tool("get_tool_details", {"name": name})).content[0].text)
            listed = await client.call_tool("call_tool", details["example"])
        process.send_signal(signal.SIGTERM)
        code = await process.wait()
        errors = b"".join([chunk async for chunk in process.stderr])

    assert name.startswith("tickets.")
    assert listed.content
    assert code == 0
    assert errors == b""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
async def test_a_request_whose_rest_never_comes_does_not_hold_up_the_end_nor_litter_the_log(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {}}))
    state = {"TOOLCRIB_STATE_DIR": str(tmp_path), "TOOLCRIB_CONFIG_DIR": str(tmp_path)}
    process = await anyio.open_process(
        [sys.executable, "-c", HTTP_PROGRAM, str(config)], stdin=subprocess.DEVNULL, env={**os.environ, **state}
    )
    async with process:
        url = (await process.stdout.receive()).decode().strip()
        host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
        async with await anyio.connect_tcp(host, int(port)) as half:
            head = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
            await half.send(f'{head}Content-Length: 1000\r\n\r\n{{"jsonrpc"'.encode())
            async with await anyio.connect_tcp(host, int(port)) as other:  # answered after the half one was read
                await other.send(f"GET /healthz HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
                assert b"200 OK" in await other.receive()
            process.send_signal(signal.SIGTERM)
            assert (await half.receive()).startswith(b"HTTP/1.1 503")
            code = await process.wait()
        errors = b"".join([chunk async for chunk in process.stderr])

    assert code == 0
    assert errors == b""
