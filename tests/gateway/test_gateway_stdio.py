"""The gateway as a process on standard input and output: what stands on the wire, and how it ends."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from toolcrib.gateway.unread import refusals

pytestmark = pytest.mark.anyio

LIMIT = 20.0

ODD = Path(__file__).resolve().parent / "odd.py"

PROGRAM = "import sys; from toolcrib.gateway import run_stdio; run_stdio(sys.argv[1])"

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Wire:
    """A started gateway, spoken to in bytes."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._lines = BufferedByteReceiveStream(process.stdout) if process.stdout else None
        self._asked = 0

    async def write(self, content: bytes) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send(content)

    async def read(self) -> dict[str, Any]:
        assert self._lines is not None
        return json.loads(await self._lines.receive_until(b"\n", 1_000_000))

    async def send(self, method: str, **params: Any) -> None:
        """Send a request."""
        self._asked += 1
        message = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params}
        await self.write(json.dumps(message).encode() + b"\n")

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request, and return the whole message that answers it."""
        await self.send(method, **params)
        while (answer := await self.read()).get("id") != self._asked:
            pass
        return answer

    async def modern(self, method: str, **params: Any) -> dict[str, Any]:
        """The same with the envelope of 2026-07-28."""
        return await self.ask(method, **params, _meta=ENVELOPE)

    async def initialize(self, version: str) -> dict[str, Any]:
        about = {"name": "test", "version": "1"}
        answer = await self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo=about)
        await self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return answer


Start = Callable[..., Any]


@asynccontextmanager
async def started(folder: Path, program: str = PROGRAM, stdout: int = subprocess.PIPE) -> AsyncIterator[Wire]:
    """A gateway in front of the stub upstream."""
    config = folder / "mcp.json"
    args = ["-S", str(ODD), "modern", "--log", str(folder / "odd.log")]
    config.write_text(json.dumps({"mcpServers": {"odd": {"command": sys.executable, "args": args}}}))
    state = {"TOOLCRIB_STATE_DIR": str(folder), "TOOLCRIB_CONFIG_DIR": str(folder)}
    process = await anyio.open_process(
        [sys.executable, "-c", program, str(config)], stdout=stdout, env={**os.environ, **state}
    )
    try:
        yield Wire(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.aclose()


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a gateway of the test's own: `async with start() as wire`, also with another program."""
    return partial(started, tmp_path)


@pytest.fixture(scope="module")
async def modern(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Wire]:
    """A gateway that was opened in the era of 2026-07-28, shared by the tests that leave it as it is."""
    folder = tmp_path_factory.mktemp("gateway")
    async with started(folder) as wire:
        await wire.modern("tools/list")
        yield wire


@pytest.fixture(autouse=True)
async def _in_time() -> AsyncIterator[None]:
    with anyio.fail_after(LIMIT):
        yield


def upstream_events(folder: Path) -> list[str]:
    """What the upstream's process wrote down."""
    return [json.loads(line)["event"] for line in (folder / "odd.log").read_text().splitlines()]


def upstream_pid(folder: Path) -> int:
    return json.loads((folder / "odd.log").read_text().splitlines()[0])["pid"]


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def use_upstream(wire: Wire) -> None:
    answer = await wire.modern("tools/call", name="call_tool", arguments={"name": "odd.nothing"})
    assert answer["result"]["content"] == []


async def test_junk_on_the_input_costs_nothing_but_itself(modern: Wire) -> None:
    await modern.write(b"hello\n\n{\n[1, 2]\n\xff\xfe\n" + b'{"jsonrpc":"2.0"}\n')
    first = await modern.modern("tools/list")
    await modern.write(b"null\n" + b'{"jsonrpc":"2.0","id":1,"method":7}\n')
    second = await modern.modern("tools/list")

    assert first["result"] == second["result"]
    assert len(first["result"]["tools"]) == 5


@pytest.mark.parametrize(
    "arguments",
    [
        '{"name": "odd.nothing", "arguments": {"text": "cut \\ud83d"}}',  # as JavaScript cuts an emoji
        '{"a":' * 300 + "1" + "}" * 300,
        '{"limit": ' + "9" * 6_000 + "}",
    ],
    ids=["half a surrogate pair", "too deep", "too many digits"],
)
async def test_a_request_that_cannot_be_read_is_answered(modern: Wire, arguments: str) -> None:
    await modern.write(
        b'{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{"name":"call_tool","arguments":%b}}\n'
        % arguments.encode()
    )
    answer = await modern.read()
    after = await modern.modern("tools/list")

    assert answer["id"] == "odd"
    assert answer["error"]["code"] == -32600  # JSON-RPC 2.0, 5.1: Invalid Request
    assert "can't be read" in answer["error"]["message"]
    assert "result" in after


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","method":"notifications/x","params":[1]}',
        '{"jsonrpc":"2.0","id":1,"result":[1]}',
        '{"jsonrpc":"2.0","id":1,"error":"no"}',
        '{"id":1',
        "[" * 100_000,
        '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    ],
)
async def test_only_requests_are_answered(line: str) -> None:
    assert not refusals(line)


async def test_each_request_of_a_modern_connection_needs_its_envelope(modern: Wire) -> None:
    answer = await modern.ask("tools/list")
    still = await modern.modern("tools/list")

    assert answer["error"]["code"] == -32602  # specification 2026-07-28, basic, `_meta`
    assert "result" in still


async def test_a_revision_that_is_not_spoken_is_answered_with_those_that_are(modern: Wire) -> None:
    meta = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2027-01-01"}
    answer = await modern.ask("server/discover", _meta=meta)

    # specification 2026-07-28, basic/versioning: -32022 with what is supported
    assert answer["error"]["code"] == -32022
    assert "2026-07-28" in answer["error"]["data"]["supported"]


async def test_the_discovery_says_how_long_it_holds(modern: Wire) -> None:
    result = (await modern.modern("server/discover"))["result"]

    assert result["supportedVersions"] == ["2026-07-28"]
    assert result["capabilities"] == {
        "tools": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "prompts": {"listChanged": True},
        "completions": {},
        "logging": {},
    }
    assert result["ttlMs"] >= 0
    assert result["cacheScope"] in {"public", "private"}


async def test_a_client_that_asked_for_no_progress_gets_none(modern: Wire) -> None:
    await modern.send("tools/call", name="call_tool", arguments={"name": "odd.steps"}, _meta=ENVELOPE)

    assert (await modern.read())["result"]["content"] == [{"type": "text", "text": "done"}]


async def test_a_crash_of_an_upstream_is_told_and_the_next_call_starts_it_again(modern: Wire) -> None:
    crashed = await modern.modern("tools/call", name="call_tool", arguments={"name": "odd.die"})

    assert crashed["result"]["isError"] is True
    assert "odd" in crashed["result"]["content"][0]["text"]
    await use_upstream(modern)


async def test_a_handshake_connection_serves_every_older_revision_once_it_is_initialised(start: Start) -> None:
    async with start() as wire:
        early = await wire.ask("tools/list")
        unknown = await wire.ask("nonsense")
        hello = await wire.initialize("2024-11-05")
        listed = await wire.ask("tools/list")

    assert early["error"]["code"] == -32602
    assert unknown["error"]["code"] == -32601
    assert hello["result"]["protocolVersion"] == "2024-11-05"
    assert len(listed["result"]["tools"]) == 5


async def test_the_end_of_input_ends_the_gateway_and_its_servers(start: Start, tmp_path: Path) -> None:
    async with start() as wire:
        await use_upstream(wire)
        await wire.process.stdin.aclose()
        code = await wire.process.wait()

    assert code == 0
    assert upstream_events(tmp_path)[-1] == "end of input"
    assert not runs(upstream_pid(tmp_path))


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_gateway_and_its_servers_while_the_client_stays(
    start: Start, tmp_path: Path, number: int
) -> None:
    async with start() as wire:
        await use_upstream(wire)
        wire.process.send_signal(number)
        wire.process.send_signal(number)  # launchers pass on what the terminal has sent already
        code = await wire.process.wait()

    assert code == 0
    assert not runs(upstream_pid(tmp_path))


async def test_a_client_that_is_gone_ends_the_gateway(start: Start) -> None:
    readable, writable = os.pipe()
    async with start(stdout=writable) as wire:
        os.close(writable)
        os.close(readable)
        await wire.send("tools/list", _meta=ENVELOPE)
        code = await wire.process.wait()

    assert code == 0


@pytest.mark.skipif(os.name != "posix", reason="the shell of POSIX")
@pytest.mark.parametrize(("closing", "name"), [("<&-", "input"), (">&-", "output")])
async def test_a_process_without_standard_streams_says_so(closing: str, name: str) -> None:
    program = "from toolcrib.gateway.pipes import standard_streams\nwith standard_streams(): pass"
    command = shlex.join([sys.executable, "-c", program])
    done = await anyio.run_process(f"{command} {closing}", check=False)

    assert f"There is no standard {name} to serve on." in done.stderr.decode()


PRINTING = """
import asyncio
from toolcrib import Crib
from toolcrib.gateway import Gateway, serve_stdio

def chatter() -> str:
    "Says something."
    print("this is not JSON")
    return "said"

async def main():
    async with Crib.open({"mcpServers": {}}) as crib:
        crib.add_functions(chatter)
        await serve_stdio(Gateway(crib))
    print("after")

asyncio.run(main())
"""


async def test_what_other_code_prints_meanwhile_stays_off_the_wire(start: Start) -> None:
    async with start(PRINTING) as wire:
        answer = await wire.modern("tools/call", name="call_tool", arguments={"name": "local.chatter"})
        await wire.process.stdin.aclose()
        rest = b"".join([chunk async for chunk in wire.process.stdout])
        errors = b"".join([chunk async for chunk in wire.process.stderr])

    assert answer["result"]["content"][0]["text"] == "said"
    assert rest == b"after\n"
    assert b"this is not JSON" in errors


IMPORTS = """
import sys
from toolcrib.gateway import run_stdio
run_stdio(sys.argv[1])
print(",".join(sorted(sys.modules)))
"""


async def test_what_a_first_list_does_not_need_is_not_loaded(start: Start) -> None:
    async with start(IMPORTS) as wire:
        await wire.modern("tools/list")
        await wire.process.stdin.aclose()
        loaded = set(b"".join([chunk async for chunk in wire.process.stdout]).decode().strip().split(","))

    # The SDK itself loads starlette, and uvicorn by way of sse-starlette; the gateway's own HTTP server is not.
    assert loaded.isdisjoint({"toolcrib.gateway.listening", "numpy", "sqlalchemy", "keyring", "rich", "typer"})
    assert loaded.isdisjoint({"jsonschema_rs", "Stemmer", "toktok"})
    assert loaded.isdisjoint({"jinja2", "prometheus_client", "ruamel.yaml", "tomlkit", "opentelemetry.sdk"})
    assert loaded.isdisjoint({"toolcrib.servers.http", "toolcrib.scripts.runner", "toolcrib.sandbox.monty.sandbox"})
