"""What a server reports in the middle of a call, as it stands on the wire to a client: whole, and in its order."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from toolcrib import Crib
from toolcrib.gateway import Gateway

pytestmark = pytest.mark.anyio

STUBS = Path(__file__).resolve().parents[2] / "stubs"
sys.path.insert(0, str(STUBS))

from reports import REPORTS  # noqa: E402

LIMIT = 30.0
ERAS = ["handshake", "modern"]
VERSION = {"handshake": "2025-11-25", "modern": "2026-07-28"}
TOKEN = "the client's own"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": VERSION["modern"],
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/logLevel": "debug",
}
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Wire:
    """A client that speaks by hand over HTTP."""

    def __init__(self, web: httpx2.AsyncClient, url: str, era: str) -> None:
        self.web = web
        self.url = url
        self.era = era
        self.headers = {**HEADERS, "mcp-protocol-version": VERSION[era]}

    async def post(self, method: str, headers: dict[str, str] | None = None, **message: Any) -> httpx2.Response:
        sent = {"jsonrpc": "2.0", "method": method, **message}
        return await self.web.post(self.url, content=json.dumps(sent), headers={**self.headers, **(headers or {})})

    async def greet(self) -> None:
        """What a client of the handshake era has to say first."""
        if self.era == "modern":
            return
        about = {
            "protocolVersion": VERSION["handshake"],
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        hello = await self.post("initialize", id=0, params=about)
        self.headers["mcp-session-id"] = hello.headers["mcp-session-id"]
        await self.post("notifications/initialized")

    async def call(self, name: str, arguments: dict[str, Any], token: Any = TOKEN) -> list[dict[str, Any]]:
        """All messages that come in answer to a call."""
        meta = {**(ENVELOPE if self.era == "modern" else {}), **({} if token is None else {"progressToken": token})}
        params = {"name": name, "arguments": arguments, "_meta": meta}
        headers = {"mcp-method": "tools/call", "mcp-name": name} if self.era == "modern" else {}
        answer = await self.post("tools/call", headers, id=1, params=params)
        if answer.headers["content-type"].startswith("application/json"):
            return [answer.json()]
        lines = (line.removeprefix("data:").strip() for line in answer.text.splitlines() if line.startswith("data:"))
        return [json.loads(line) for line in lines if line]


@pytest.fixture(params=[(a, b) for a in ERAS for b in ERAS], ids=lambda pair: f"{pair[0]}-to-{pair[1]}")
async def connect(
    request: pytest.FixtureRequest, tmp_path: Path, over_http: Callable[..., Any]
) -> AsyncIterator[Callable[..., Any]]:
    """Connects a client to a gateway with a profile, for each pair of eras."""
    era, upstream_era = request.param
    server = {"command": sys.executable, "args": ["-S", str(STUBS / "reports.py"), upstream_era]}
    with anyio.fail_after(LIMIT):
        async with (
            Crib.open({"mcpServers": {"up": server}}, state_dir=tmp_path) as crib,
            httpx2.AsyncClient(timeout=LIMIT) as web,
            over_http(Gateway(crib)) as url,
        ):

            async def connected(profile: str) -> Wire:
                wire = Wire(web, f"{url}/{profile}", era)
                await wire.greet()
                return wire

            yield connected


def told(token: Any) -> list[dict[str, Any]]:
    """The notifications of a call as they are to come: the server's words, under the client's token."""
    named = {} if token is None else {"progressToken": token}
    return [
        {"jsonrpc": "2.0", "method": method, "params": {**(named if "progress" in report else {}), **report}}
        for method, report in REPORTS
        if token is not None or "progress" not in report
    ]


def literal(messages: list[dict[str, Any]]) -> list[str]:
    """As text, in which 1 and 1.0 differ."""
    return [json.dumps(each, sort_keys=True) for each in messages]


@pytest.mark.parametrize("token", [TOKEN, 0, None])
async def test_reports_come_whole_in_order_and_before_the_answer(connect: Any, token: Any) -> None:
    *reports, answer = await (await connect("all")).call("up__report", {}, token)

    assert literal(reports) == literal(told(token))
    assert answer["result"]["content"][0]["text"] == "done"


async def test_reports_of_a_call_by_the_meta_tool_come_alike(connect: Any) -> None:
    *reports, answer = await (await connect("discover")).call("call_tool", {"name": "up.report"})

    assert literal(reports) == literal(told(TOKEN))
    assert answer["result"]["content"][0]["text"] == "done"


async def test_reports_come_before_an_error_too(connect: Any) -> None:
    *reports, answer = await (await connect("all")).call("up__fail", {})

    assert literal(reports) == literal(told(TOKEN))
    assert answer["error"]["message"] == "no"


async def test_what_tells_of_no_progress_is_dropped_and_so_is_a_member_of_the_wrong_type(connect: Any) -> None:
    *reports, answer = await (await connect("all")).call("up__odd", {})

    # schema of 2026-07-28, ProgressNotificationParams: `progress` and `total` are numbers, `message` a text
    assert [each["params"] for each in reports] == [{"progressToken": TOKEN, "progress": 1}]
    assert answer["result"]["content"][0]["text"] == "done"
