"""Servers over HTTP: both transports against the SDK's own servers, and addresses that fail in every way."""

import json
import socket
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import mcp_types as types
import pytest
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer

from toolcrib.catalog import RequestContext
from toolcrib.errors import AuthRequiredError, ProtocolError, ServerStartError, UnknownOutcomeError

pytestmark = pytest.mark.anyio

# A server that fails must be told of long before any time limit of its start (30 s).
QUICK = 15.0


@asynccontextmanager
async def served(app: Any):
    """An ASGI application on a free port of the loopback address; gives the base URL."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        config = uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            try:
                yield f"http://127.0.0.1:{listening.getsockname()[1]}"
            finally:
                server.should_exit = True


@asynccontextmanager
async def answering(answer: Callable[[str, dict[str, str], Any], bytes | None]):
    """A bare HTTP server: `answer(method, headers, parsed body)` gives the whole response, or None to hang up."""

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            received = b""
            while b"\r\n\r\n" not in received:
                try:
                    received += await stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return
            head, _, body = received.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            while len(body) < int(headers.get("content-length", 0)):
                body += await stream.receive()
            response = answer(first.split()[0], headers, json.loads(body) if body else None)
            if response is not None:
                await stream.send(response)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        yield f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/mcp"
        tasks.cancel_scope.cancel()


def response(status: str, body: bytes = b"", **headers: str) -> bytes:
    """A whole HTTP response."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def sdk_server() -> Server:
    """A low-level server of the SDK with one tool, which answers as much text as it is asked for."""

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
        return types.ListToolsResult(tools=[types.Tool(name="text", input_schema=schema)])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        size = (params.arguments or {}).get("size", 3)
        return types.CallToolResult(content=[types.TextContent(type="text", text="x" * size)])

    return Server("over-http", on_list_tools=list_tools, on_call_tool=call_tool)


@pytest.mark.parametrize("json_response", [True, False])
@pytest.mark.parametrize(("protocol", "era"), [("auto", "modern"), ("legacy", "handshake")])
async def test_streamable_http_works_in_both_eras_and_with_answers_of_megabytes(
    open_pool, call, json_response, protocol, era
):
    app = sdk_server().streamable_http_app(json_response=json_response)
    async with served(app) as url:
        entry = {"type": "http", "url": f"{url}/mcp", "toolcrib": {"protocol": protocol}}
        async with open_pool(one=entry) as opened:
            result = await call(opened["one"], "text", {"size": 3_000_000})
            assert len(result["content"][0]["text"]) == 3_000_000
            assert (opened["one"].status.era, opened["one"].status.pid) == (era, None)


async def test_arguments_with_half_a_surrogate_pair_reach_a_server_over_http(open_pool, call):
    seen = []
    session = Session()

    def answer(method, headers, message):
        if message and message["method"] == "tools/call":
            seen.append(message["params"]["arguments"])
        return session(method, headers, message)

    async with answering(answer) as url, open_pool(one={"type": "http", "url": url}) as opened:
        await call(opened["one"], "any", {"text": "half a pair: \ud83d"})
    assert seen == [{"text": "half a pair: \ud83d"}]


async def test_the_older_transport_works(open_pool, call):
    server = MCPServer("older")

    @server.tool()
    def double(number: int) -> int:
        """Twice a number."""
        return 2 * number

    async with served(server.sse_app()) as url, open_pool(one={"type": "sse", "url": f"{url}/sse"}) as opened:
        result = await call(opened["one"], "double", {"number": 21})
        assert result["structuredContent"] == {"result": 42}


async def test_configured_headers_are_sent(open_pool):
    seen = []

    def answer(method, headers, message):
        seen.append(headers.get("authorization"))
        return response("401 Unauthorized")

    async with answering(answer) as url:
        entry = {"type": "http", "url": url, "headers": {"Authorization": "Bearer a-token"}}
        async with open_pool(one=entry) as opened:
            with pytest.raises(AuthRequiredError, match="HTTP status 401") as caught:
                await opened["one"].ensure()
    assert set(seen) == {"Bearer a-token"}
    assert "a-token" not in str(caught.value)


@pytest.mark.parametrize("kind", ["http", "sse"])
@pytest.mark.parametrize("status", ["404 Not Found", "500 Internal Server Error", "502 Bad Gateway"])
async def test_a_status_of_failure_is_named_quickly(open_pool, kind, status):
    page = response(status, b"<html>", content_type="text/html")
    async with answering(lambda *_: page) as url, open_pool(one={"type": kind, "url": url}) as opened:
        with anyio.fail_after(QUICK), pytest.raises(ServerStartError) as caught:
            await opened["one"].ensure()
        assert f"HTTP status {status[:3]}" in caught.value.message
        assert opened["one"].status.state == "failed"


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_an_address_where_nobody_listens_is_told_quickly(open_pool, kind):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # bound, and not listened on: connections are refused
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
        async with open_pool(one={"type": kind, "url": url}) as opened:
            with anyio.fail_after(QUICK), pytest.raises(ServerStartError, match=r"one can't be reached: .") as caught:
                await opened["one"].ensure()
            assert "url" in caught.value.hint


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_that_hangs_up_is_told_quickly(open_pool, kind):
    async with answering(lambda *_: None) as url, open_pool(one={"type": kind, "url": url}) as opened:
        with anyio.fail_after(QUICK), pytest.raises(ServerStartError, match="one can't be reached"):
            await opened["one"].ensure()


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_page_in_place_of_a_server_is_told_quickly(open_pool, kind):
    page = response("200 OK", b"<html>Welcome</html>", content_type="text/html")
    async with answering(lambda *_: page) as url, open_pool(one={"type": kind, "url": url}) as opened:
        with anyio.fail_after(QUICK), pytest.raises(ServerStartError) as caught:
            await opened["one"].ensure()
        assert "text/html" in caught.value.message


async def test_the_older_transport_that_takes_no_messages_is_told_quickly(open_pool):
    # The stream opens and names its address for messages, which then refuses them.
    events = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: endpoint\ndata: /messages\n\n"
    forever = anyio.Event()

    async def handle(stream):
        async with stream:
            request = await stream.receive()
            if request.startswith(b"POST"):
                await stream.send(response("503 Service Unavailable"))
            else:
                await stream.send(events)
                await forever.wait()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/sse"
        async with open_pool(one={"type": "sse", "url": url}) as opened:
            with anyio.fail_after(QUICK), pytest.raises(ServerStartError, match="HTTP status 503"):
                await opened["one"].ensure()
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_an_address_that_never_answers_is_given_up_at_the_start_limit(open_pool, kind):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # connections are taken by the system, and nobody reads
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        entry = {"type": kind, "url": url, "toolcrib": {"start_timeout": 0.4}}
        async with open_pool(one=entry) as opened:
            with anyio.fail_after(QUICK), pytest.raises(ServerStartError, match=r"did not answer within 0\.4 s"):
                await opened["one"].ensure()


class Session:
    """Answers as a handshake server over HTTP that forgets its sessions, or hangs up on a call."""

    def __init__(self, *, forgets_after: int = 10**9, hangs_up: bool = False) -> None:
        self.initialized = 0
        self.calls = 0
        self.forgets_after = forgets_after
        self.hangs_up = hangs_up

    def __call__(self, method: str, headers: dict[str, str], message: Any) -> bytes | None:
        if method != "POST":
            return response("405 Method Not Allowed")
        if "id" not in message:
            return response("202 Accepted")
        if message["method"] == "initialize":
            self.initialized += 1
            self.calls = 0
            info = {"name": "forgetful", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            return self.result(message, result, mcp_session_id=f"s{self.initialized}")
        if message["method"] == "tools/list":
            return self.result(message, {"tools": []})
        if message["method"] == "tools/call":
            if self.hangs_up:
                start = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
                return start + b": the first sign of life\n\n"
            self.calls += 1
            if self.calls > self.forgets_after:
                return response("404 Not Found")
            return self.result(message, {"content": [], "session": headers["mcp-session-id"]})
        error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}}
        return response("200 OK", json.dumps(error).encode(), content_type="application/json")

    def result(self, message: Any, result: Any, **headers: str) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        return response("200 OK", body, content_type="application/json", **headers)


async def test_a_session_that_the_server_forgot_is_replaced_and_the_call_repeated(open_pool, call):
    # Specification 2025-11-25, transports: on 404 the client must start a new session; the request was not taken.
    session = Session(forgets_after=2)
    async with answering(session) as url, open_pool(one={"type": "http", "url": url}) as opened:
        sessions = [(await call(opened["one"], "any"))["session"] for _ in range(4)]
    assert sessions == ["s1", "s1", "s2", "s2"]
    assert session.initialized == 2


async def test_an_answer_that_breaks_off_is_an_unknown_outcome(open_pool, call):
    async with answering(Session(hangs_up=True)) as url, open_pool(one={"type": "http", "url": url}) as opened:
        with anyio.fail_after(QUICK), pytest.raises(UnknownOutcomeError):
            await call(opened["one"], "any")


class Stateless:
    """Answers as a server of 2026-07-28 over HTTP; `calls` gives the response to a call, from its id."""

    def __init__(self, calls: Callable[[Any], bytes | None]) -> None:
        self.calls = calls
        self.methods: list[str] = []

    def __call__(self, method: str, headers: dict[str, str], message: Any) -> bytes | None:
        self.methods.append(message["method"])
        if message["method"] == "tools/call":
            return self.calls(message)
        common = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
        results = {
            "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
            "tools/list": {"tools": []},
        }
        return answer_to(message["id"], {**common, **results[message["method"]]})


def answer_to(number: Any, result: Any) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
    return response("200 OK", body, content_type="application/json")


def told_by_events(*messages: Any) -> bytes:
    events = "".join(f"event: message\ndata: {json.dumps(each)}\n\n" for each in messages)
    return response("200 OK", events.encode(), content_type="text/event-stream")


async def test_an_answer_of_the_stateless_era_may_be_one_document_or_events_with_progress(open_pool, call):
    said: list[tuple[float, float | None, str | None]] = []

    async def on_progress(done: float, total: float | None, text: str | None) -> None:
        said.append((done, total, text))

    def by_events(message: Any) -> bytes:
        progress = {"progressToken": message["params"]["_meta"]["progressToken"], "progress": 1, "total": 2}
        return told_by_events(
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress},
            {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [], "kept": ["as", "sent"]}},
        )

    server = Stateless(lambda message: answer_to(message["id"], {"content": [], "kept": 1}))
    async with answering(server) as url, open_pool(one={"type": "http", "url": url}) as opened:
        assert (await call(opened["one"], "any"))["kept"] == 1
        server.calls = by_events
        context = RequestContext(on_progress=on_progress)
        result = await opened["one"].request("tools/call", {"name": "any", "arguments": {}}, context)
    assert result["kept"] == ["as", "sent"]
    assert said == [(1.0, 2.0, None)]
    assert server.methods == ["server/discover", "tools/list", "tools/call", "tools/call"]


@pytest.mark.parametrize(
    ("calls", "error", "words"),
    [
        (lambda message: answer_to(999, {"content": []}), ProtocolError, "neither a result nor an error"),
        (lambda message: response("500 Internal Server Error"), UnknownOutcomeError, "HTTP status 500"),
        (lambda message: None, UnknownOutcomeError, "ended its connection"),
        (lambda message: told_by_events(), UnknownOutcomeError, "ended its connection"),
        (lambda message: response("200 OK", b"{", content_type="application/json"), ProtocolError, "neither a result"),
    ],
    ids=["to-another-request", "status-500", "hung-up", "no-event", "no-json"],
)
async def test_a_call_of_the_stateless_era_that_is_not_answered_is_told_at_once(open_pool, call, calls, error, words):
    server = Stateless(calls)
    async with answering(server) as url, open_pool(one={"type": "http", "url": url}) as opened:
        with anyio.fail_after(QUICK), pytest.raises(error, match=words):
            await call(opened["one"], "any")
        server.calls = lambda message: answer_to(message["id"], {"content": [], "after": True})
        with anyio.fail_after(QUICK):  # and the server can be used on
            assert (await call(opened["one"], "any"))["after"]


async def test_cancelling_a_call_of_the_stateless_era_closes_its_response(open_pool):
    # Specification 2026-07-28, transports, Streamable HTTP: that is how a request is cancelled.
    called, hung_up = anyio.Event(), anyio.Event()
    discover = Stateless(lambda message: None)

    async def handle(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            with anyio.CancelScope():
                while True:
                    try:
                        received = await stream.receive()
                    except (anyio.EndOfStream, anyio.BrokenResourceError):
                        if called.is_set():
                            hung_up.set()
                        return
                    message = json.loads(received.partition(b"\r\n\r\n")[2])
                    if message["method"] == "tools/call":
                        called.set()
                    else:
                        answer = discover("POST", {}, message)
                        assert answer is not None
                        await stream.send(answer.replace(b"connection: close\r\n", b""))

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/mcp"
        async with open_pool(one={"type": "http", "url": url}) as opened, anyio.create_task_group() as calls:

            async def asking() -> None:
                await opened["one"].request("tools/call", {"name": "any", "arguments": {}})

            calls.start_soon(asking)
            with anyio.fail_after(QUICK):
                await called.wait()
                calls.cancel_scope.cancel()
        with anyio.fail_after(QUICK):
            await hung_up.wait()
        tasks.cancel_scope.cancel()
