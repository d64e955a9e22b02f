"""The gateway over HTTP: who is let in, what is refused, and how it ends."""

import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from starlette.applications import Starlette

from toolcrib import Crib, ToolcribError
from toolcrib.gateway import Gateway, gathering, http_app, serve_http
from toolcrib.gateway.listening import GRACE_SECONDS, bound

pytestmark = pytest.mark.anyio

LIMIT = 20.0

VERSION = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": VERSION,
    "mcp-method": "tools/list",
}


def body(method: str = "tools/list", **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


LIST = body(_meta=ENVELOPE)

OLD_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
INITIALIZE = body(
    "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "test", "version": "1"}
)


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    with anyio.fail_after(LIMIT):
        async with Crib.from_clients({}) as crib:
            yield Gateway(crib)


@pytest.fixture
async def url(gateway: Gateway, over_http: Callable[..., Any]) -> AsyncIterator[str]:
    async with over_http(gateway) as address:
        yield address


@pytest.fixture
async def web() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient() as client:
        yield client


async def test_one_post_lists_the_tools(url: str, web: httpx2.AsyncClient) -> None:
    answer = await web.post(url, content=LIST, headers=HEADERS)

    assert answer.status_code == 200
    assert [tool["name"] for tool in answer.json()["result"]["tools"]][2] == "call_tool"


async def test_a_health_check_answers(url: str, web: httpx2.AsyncClient) -> None:
    answer = await web.get(url.replace("/mcp", "/healthz"))

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8931",
        "127.0.0.1.evil.example:80",
        "127.0.0.1:65536",  # no port (RFC 9293, 3.1: 16 bits)
        f"127.0.0.1:{'9' * 5000}",
    ],
)
async def test_a_foreign_host_header_is_refused(url: str, web: httpx2.AsyncClient, host: str) -> None:
    answer = await web.post(url, content=LIST, headers={**HEADERS, "host": host})

    assert answer.status_code == 421  # RFC 9110, 15.5.20: misdirected request


async def test_the_page_of_a_foreign_origin_is_refused(url: str, web: httpx2.AsyncClient) -> None:
    answer = await web.post(url, content=LIST, headers={**HEADERS, "origin": "https://evil.example"})

    assert answer.status_code == 403  # specification 2026-07-28, transports, Streamable HTTP, security


async def test_a_page_of_this_machine_is_let_in(url: str, web: httpx2.AsyncClient) -> None:
    answer = await web.post(url, content=LIST, headers={**HEADERS, "origin": "http://localhost:3000"})

    assert answer.status_code == 200


async def test_only_the_given_origins_are_let_in(gateway: Gateway, over_http: Any, web: httpx2.AsyncClient) -> None:
    async with over_http(gateway, allowed_origins=["https://tools.example"]) as url:
        one = await web.post(url, content=LIST, headers={**HEADERS, "origin": "https://tools.example"})
        other = await web.post(url, content=LIST, headers={**HEADERS, "origin": "http://localhost:3000"})

    assert (one.status_code, other.status_code) == (200, 403)


async def test_a_body_over_the_limit_is_refused(gateway: Gateway, over_http: Any, web: httpx2.AsyncClient) -> None:
    async with over_http(gateway, max_body_bytes=1000) as url:
        answer = await web.post(url, content=body(_meta=ENVELOPE, x="x" * 1000), headers=HEADERS)

    assert answer.status_code == 413


@pytest.mark.parametrize("missing", list(ENVELOPE))
async def test_a_modern_request_without_its_envelope_is_malformed(
    url: str, web: httpx2.AsyncClient, missing: str
) -> None:
    meta = {name: value for name, value in ENVELOPE.items() if name != missing}
    answer = await web.post(url, content=body(_meta=meta), headers=HEADERS)

    # specification 2026-07-28, basic, `_meta`: missing required members are -32602, over HTTP with status 400
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32602)


async def test_a_method_that_is_not_served_is_not_found(url: str, web: httpx2.AsyncClient) -> None:
    headers = {**HEADERS, "mcp-method": "tools/invent"}
    answer = await web.post(url, content=body("tools/invent", _meta=ENVELOPE), headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, -32601)


async def test_the_path_can_be_chosen(gateway: Gateway, over_http: Any, web: httpx2.AsyncClient) -> None:
    async with over_http(gateway, path="/tools") as url:
        assert url.endswith("/tools")
        assert (await web.post(url, content=LIST, headers=HEADERS)).status_code == 200
        assert (await web.post(url.replace("/tools", "/mcp"), content=LIST, headers=HEADERS)).status_code == 404


async def test_a_port_in_use_is_a_clear_error(gateway: Gateway) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ToolcribError) as caught:
            await serve_http(gateway, port=port)

    assert caught.value.message == f"Port {port} is in use by another program."
    assert caught.value.hint


async def test_small_answers_are_not_held_back() -> None:
    # asyncio sets TCP_NODELAY on connections of sockets that name their protocol, and on no others
    with bound("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


async def test_an_address_of_another_machine_is_a_clear_error(gateway: Gateway) -> None:
    # 192.0.2.0/24 is for documentation alone (RFC 5737), so no machine has it
    with pytest.raises(ToolcribError, match=r"192\.0\.2\.1:0 can't be served on"):
        await serve_http(gateway, "192.0.2.1", 0, allowed_hosts=["tools.example"], allow_unauthenticated=True)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "tools.example"])
async def test_a_host_that_others_reach_needs_its_names_said(gateway: Gateway, host: str) -> None:
    with pytest.raises(ToolcribError, match="must be given"):
        http_app(gateway, host=host)
    named = http_app(gateway, host=host, allowed_hosts=["tools.example"], allow_unauthenticated=True)
    assert isinstance(named, Starlette)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1"])
async def test_a_loopback_host_needs_nothing_said(gateway: Gateway, host: str) -> None:
    assert isinstance(http_app(gateway, host=host), Starlette)


async def test_an_ipv6_loopback_serves(gateway: Gateway, over_http: Any, web: httpx2.AsyncClient) -> None:
    async with over_http(gateway, host="::1") as url:
        assert url.startswith("http://[::1]:")
        assert (await web.post(url, content=LIST, headers=HEADERS)).status_code == 200


@pytest.mark.alone
async def test_it_ends_although_a_client_keeps_its_stream_open(gateway: Gateway, over_http: Any) -> None:
    opened = anyio.Event()
    ended = anyio.Event()

    async def listen(url: str) -> None:
        """The stream that a handshake client holds open for what the server may have to say."""
        async with httpx2.AsyncClient(timeout=None) as web:
            hello = await web.post(url, content=INITIALIZE, headers=OLD_HEADERS)
            headers = {**OLD_HEADERS, "mcp-session-id": hello.headers["mcp-session-id"]}
            async with web.stream("GET", url, headers={**headers, "accept": "text/event-stream"}) as answer:
                assert answer.status_code == 200
                opened.set()
                await answer.aread()
                ended.set()

    async with anyio.create_task_group() as clients:
        async with over_http(gateway) as url:
            clients.start_soon(listen, url)
            await opened.wait()
            started = anyio.current_time()
        await ended.wait()

    # without an end to its streams it takes the whole grace
    assert anyio.current_time() - started < GRACE_SECONDS


CALL = {**HEADERS, "mcp-method": "tools/call", "mcp-name": "search_tools"}
SEARCH = body("tools/call", name="search_tools", arguments={"query": ""}, _meta=ENVELOPE)


@pytest.mark.parametrize(
    "changed",
    [
        {"mcp-method": None},
        {"mcp-method": "tools/list"},
        {"mcp-name": None},
        {"mcp-name": "call_tool"},
        {"mcp-name": "=?base64?Y2FsbF90b29s?="},
    ],
    ids=str,
)
async def test_headers_that_do_not_fit_the_body_are_refused(
    url: str, web: httpx2.AsyncClient, changed: dict[str, str | None]
) -> None:
    headers = {name: value for name, value in {**CALL, **changed}.items() if value is not None}
    answer = await web.post(url, content=SEARCH, headers=headers)

    # specification 2026-07-28, transports, Streamable HTTP, headers: 400 and HeaderMismatch
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


async def test_a_version_that_is_not_served_is_refused(url: str, web: httpx2.AsyncClient) -> None:
    meta = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    answer = await web.post(url, content=body(_meta=meta), headers={**HEADERS, "mcp-protocol-version": "2099-01-01"})

    # the same, protocol version header: 400 and UnsupportedProtocolVersion
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32022)


async def test_headers_that_are_too_large_are_refused(url: str, web: httpx2.AsyncClient) -> None:
    answer = await web.post(url, content=LIST, headers={**HEADERS, "x-long": "x" * 33_000})
    many = await web.post(url, content=LIST, headers={**HEADERS, **{f"x-{number}": "" for number in range(250)}})

    assert (answer.status_code, many.status_code) == (431, 431)  # RFC 6585, 5


async def test_a_body_of_unknown_length_is_cut_off_at_the_limit(
    gateway: Gateway, over_http: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "REST_SECONDS", 0.05)
    async with over_http(gateway, max_body_bytes=2_000) as url:
        host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
        head = [
            "POST /mcp HTTP/1.1", f"host: {host}:{port}", "transfer-encoding: chunked",
            *(f"{name}: {value}" for name, value in HEADERS.items()),
        ]  # fmt: skip
        async with await anyio.connect_tcp(host, int(port)) as stream, anyio.create_task_group() as tasks:
            await stream.send("\r\n".join([*head, "", ""]).encode())

            async def send_on() -> None:
                with suppress(anyio.BrokenResourceError):
                    while True:
                        await stream.send(b"3e8\r\n" + b"x" * 1_000 + b"\r\n")
                        await anyio.sleep(0.001)

            tasks.start_soon(send_on)
            answer = b""
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):  # without the end it would go on without one
                while True:
                    answer += await stream.receive()
            tasks.cancel_scope.cancel()
    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_a_body_that_says_that_it_is_too_long_is_not_waited_for(url: str) -> None:
    host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
    async with await anyio.connect_tcp(host, int(port)) as stream:
        head = [
            "POST /mcp HTTP/1.1", f"host: {host}:{port}", f"content-length: {10**9}",
            *(f"{name}: {value}" for name, value in HEADERS.items()),
        ]  # fmt: skip
        await stream.send("\r\n".join([*head, "", ""]).encode())
        answer = await stream.receive()
    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_the_host_is_one_whatever_its_case(url: str, web: httpx2.AsyncClient) -> None:
    answer = await web.post(url, content=LIST, headers={**HEADERS, "host": "LocalHost:7"})
    assert answer.status_code == 200
