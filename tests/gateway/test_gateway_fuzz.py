"""Malformed and mutated messages over stdio and HTTP: nothing crashes, hangs or tells how Toolcrib is built inside.

What is owed: a request with a usable id gets one answer with that id, `result` or `error` (JSON-RPC 2.0, 5); over HTTP
every POST gets a response, a JSON-RPC error with status 400 where it is none that can be read (MCP 2026-07-28,
transports). Afterwards the server works as before.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import httpx2
import pytest

from toolcrib import Crib
from toolcrib.gateway import Gateway

pytestmark = pytest.mark.anyio

SHORT, FULL = 1_000, 50_000
LIMIT, FULL_LIMIT = 60.0, 3_600.0
LEAKS = ("Traceback", 'File "', ".py", "site-packages", "pydantic")

COUNTS = [
    pytest.param(SHORT, LIMIT, id="short"),
    pytest.param(FULL, FULL_LIMIT, id="full", marks=pytest.mark.slow),
]


def ping() -> str:
    """Answer."""
    return "pong"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def check(answer: dict[str, Any], text: str) -> None:
    """What holds of every answer."""
    assert answer["jsonrpc"] == "2.0"
    assert ("result" in answer) != ("error" in answer)
    assert not [leak for leak in LEAKS if leak in text], text[:500]
    if "error" in answer:
        assert isinstance(answer["error"]["code"], int)
        assert "failed inside" not in answer["error"]["message"], text[:500]


@pytest.mark.parametrize(("count", "limit"), COUNTS)
async def test_over_http_every_message_is_answered(
    fuzzing: ModuleType, talking: Any, tmp_path: Path, over_http: Callable[..., Any], count: int, limit: float
) -> None:
    with anyio.fail_after(limit):
        async with Crib.open({"mcpServers": {}}, state_dir=tmp_path) as crib, httpx2.AsyncClient(timeout=30) as web:
            crib.add_functions(ping, add, server="notes")
            async with over_http(Gateway(crib)) as url:
                for message in fuzzing.messages(20261130, count):
                    await _post(web, url, message)
                assert talking.text_of(await talking.call(web, url, "notes.ping")) == "pong"


async def _post(web: httpx2.AsyncClient, url: str, message: Any) -> None:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    headers["mcp-protocol-version"] = "2026-07-28"
    try:
        sent = json.loads(message.content)
        params = sent.get("params") if isinstance(sent, dict) else None
        name = params.get("name", params.get("uri")) if isinstance(params, dict) else None
        for header, value in (("mcp-method", sent.get("method")), ("mcp-name", name)):
            if isinstance(value, str) and value.isascii() and value.isprintable() and value:
                headers[header] = value
    except (ValueError, AttributeError, RecursionError):
        pass
    answer = await web.post(url, content=message.content, headers=headers)
    assert answer.status_code < 500, (message.content[:300], answer.text[:500])
    if answer.status_code == 202:  # a notification
        assert not message.is_owed
        return
    text = _text(answer)
    body = json.loads(text)
    check(body, text)
    if message.is_owed:  # of torn ones some are whole by luck
        told = (message.id,) if answer.status_code == 200 else (message.id, None)
        assert body["id"] in told, message.content[:300]


def _text(answer: httpx2.Response) -> str:
    """The message of an answer, which comes as a stream of one where it was long in coming."""
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return answer.text
    [data] = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    return data


@pytest.fixture
def piped(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A gateway over stdio, as a process."""
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {}}')
    env = {**os.environ, "TOOLCRIB_STATE_DIR": str(tmp_path), "TOOLCRIB_CONFIG_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "toolcrib", "serve", "--config", str(config)]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize(("count", "limit"), COUNTS)
def test_over_stdio_every_request_is_answered_once(
    fuzzing: ModuleType, piped: subprocess.Popen[bytes], count: int, limit: float
) -> None:
    assert piped.stdin is not None
    assert piped.stdout is not None
    assert piped.stderr is not None
    last = {"jsonrpc": "2.0", "id": "last", "method": "tools/list", "params": {"_meta": fuzzing.META}}
    owed = {"last"}
    told: list[str] = []
    timer = threading.Timer(limit, piped.kill)
    timer.start()

    def send(stream: Any) -> None:
        for message in fuzzing.messages(20261201, count):
            stream.write(message.content + b"\n")
        stream.write(json.dumps(last).encode() + b"\n")
        stream.flush()

    for message in fuzzing.messages(20261201, count):
        if message.is_owed:
            owed.add(message.id)
    sender = threading.Thread(target=send, args=(piped.stdin,), daemon=True)
    reader = threading.Thread(target=lambda: told.append(piped.stderr.read().decode()), daemon=True)
    sender.start()
    reader.start()
    answered: list[Any] = []
    unanswered = set(owed)
    for line in piped.stdout:
        answer = json.loads(line)
        if "method" in answer:
            continue
        check(answer, line.decode())
        answered.append(answer.get("id"))
        unanswered.discard(answered[-1])
        if not unanswered:
            piped.stdin.close()  # then the rest, which is owed to nobody, may go unanswered
    timer.cancel()
    reader.join()
    assert piped.wait() == 0, (len(answered), list(unanswered)[:5], told)
    assert "Traceback" not in told[0]
    assert owed - set(answered) == set()
    own = [each for each in answered if each in owed and str(each).startswith("f")]  # others were made more than once
    assert len(own) == len(set(own))
