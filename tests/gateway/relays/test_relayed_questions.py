"""What a server asks in the middle of a call, and what it is answered, as both stand on the wire: whole."""

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

from asks import ANSWERS, QUESTIONS, STEPS  # noqa: E402

LIMIT = 30.0
ERAS = ["handshake", "modern"]
CAPABILITIES: dict[str, Any] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
}
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.fixture(params=ERAS)
async def url(request: pytest.FixtureRequest, tmp_path: Path, over_http: Callable[..., Any]) -> AsyncIterator[str]:
    """A gateway before a server of an era."""
    # A connection of the caller's own, since over HTTP a process gets one only after it has asked in vain.
    server = {
        "command": sys.executable,
        "args": ["-S", str(STUBS / "asks.py"), request.param],
        "toolcrib": {"connection": "caller"},
    }
    with anyio.fail_after(LIMIT):
        async with (
            Crib.open({"mcpServers": {"up": server}}, state_dir=tmp_path) as crib,
            over_http(Gateway(crib, "all")) as address,
        ):
            yield address


@pytest.fixture
async def web() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=LIMIT) as client:
        yield client


def literal(value: Any) -> str:
    """As text, in which 1 and 1.0 differ."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("name", QUESTIONS)
async def test_a_question_comes_whole_to_a_modern_client_and_its_answer_to_the_server(
    url: str, web: httpx2.AsyncClient, name: str
) -> None:
    headers = {
        **HEADERS,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": f"up__{name}",
    }

    async def call(**more: Any) -> Any:
        params = {"name": f"up__{name}", "arguments": {}, "_meta": ENVELOPE, **more}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return messages(await web.post(url, content=json.dumps(message), headers=headers))[-1]["result"]

    asked = await call()
    [(key, question)] = asked["inputRequests"].items()
    answered = await call(inputResponses={key: ANSWERS[name]}, requestState=asked["requestState"])

    method, params = QUESTIONS[name]
    assert literal(question) == literal({"method": method, "params": params})
    assert literal(answered["structuredContent"]["told"]) == literal(ANSWERS[name])


@pytest.mark.parametrize("name", QUESTIONS)
async def test_a_question_comes_whole_to_a_client_of_the_handshake_era_and_its_answer_to_the_server(
    url: str, web: httpx2.AsyncClient, name: str
) -> None:
    """After the progress that the server told of before."""
    headers = {**HEADERS, "mcp-protocol-version": "2025-11-25"}
    about = {
        "protocolVersion": "2025-11-25",
        "capabilities": CAPABILITIES,
        "clientInfo": {"name": "test", "version": "1"},
    }

    async def post(**message: Any) -> httpx2.Response:
        return await web.post(url, content=json.dumps({"jsonrpc": "2.0", **message}), headers=headers)

    hello = await post(id=0, method="initialize", params=about)
    headers["mcp-session-id"] = hello.headers["mcp-session-id"]
    await post(method="notifications/initialized")
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": f"up__{name}", "arguments": {}, "_meta": {"progressToken": 0}},
    }
    steps: list[int] = []
    questions: list[Any] = []
    told: Any = None
    async with web.stream("POST", url, content=json.dumps(call), headers=headers) as stream:
        async for line in stream.aiter_lines():
            if not line.startswith("data:") or not (text := line.removeprefix("data:").strip()):
                continue
            message = json.loads(text)
            if message.get("method") == "notifications/progress":
                assert questions == []
                steps.append(message["params"]["progress"])
            elif "method" in message:
                questions.append({"method": message["method"], "params": message["params"]})
                await post(id=message["id"], result=ANSWERS[name])
            else:
                told = message["result"]["structuredContent"]["told"]

    method, params = QUESTIONS[name]
    assert steps == list(range(STEPS))
    assert literal(questions) == literal([{"method": method, "params": params}])
    assert literal(told) == literal(ANSWERS[name])


def messages(answer: httpx2.Response) -> list[Any]:
    """The messages of an answer, in one piece or as a stream."""
    if answer.headers["content-type"].startswith("application/json"):
        return [answer.json()]
    lines = (line.removeprefix("data:").strip() for line in answer.text.splitlines() if line.startswith("data:"))
    return [json.loads(line) for line in lines if line]
