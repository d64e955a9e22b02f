"""Plain HTTP/1.1 to servers (RFC 9112), against sockets whose every byte is known, and against uvicorn."""

import asyncio
import gc
import socket
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import httpx2
import pytest

from toolcrib.servers import plain
from toolcrib.servers.plain import PlainTransport

pytestmark = pytest.mark.anyio

QUICK = 20.0
REQUEST_END = b'{"a":1}'
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def sockets(script: Script):
    """A client on the transport, the URL of a server that runs a script for each connection, and how many came."""
    opened: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(1)
        try:
            await script(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    try:
        with anyio.fail_after(QUICK):
            async with httpx2.AsyncClient(transport=PlainTransport(), timeout=QUICK) as client:
                yield client, url, opened
    finally:
        server.close()


def answering(*answers: bytes) -> Script:
    """One answer a request, on one connection, which then ends."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.readuntil(REQUEST_END)
            writer.write(answer)
            await writer.drain()
        await reader.read()

    return script


async def test_a_connection_is_used_again_after_a_body_of_each_framing():
    known, chunked = b"content-length: 2\r\n\r\n{}", b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
    async with sockets(answering(OK + known, OK + chunked, OK + known)) as (client, url, opened):
        texts = [(await client.post(url, json={"a": 1})).text for _ in range(3)]

    assert texts == ["{}", "{}", "{}"]
    assert len(opened) == 1


async def test_a_request_leaves_in_one_piece():
    pieces: list[bytes] = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pieces.append(await reader.read(65_536))
        writer.write(OK + b"content-length: 2\r\n\r\n{}")
        await reader.read()

    async with sockets(script) as (client, url, _):
        await client.post(url, json={"a": 1})

    assert len(pieces) == 1
    assert pieces[0].startswith(b"POST /mcp HTTP/1.1\r\n")
    assert pieces[0].endswith(b"\r\n\r\n" + REQUEST_END)


async def test_a_connection_that_the_server_has_ended_is_not_used_again():
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(REQUEST_END)
        writer.write(OK + b"content-length: 2\r\n\r\n{}")

    async with sockets(script) as (client, url, opened):
        for _ in range(2):
            assert (await client.post(url, json={"a": 1})).text == "{}"
            [connection] = client._transport._open  # pyright: ignore
            while not connection._ended:
                await anyio.lowlevel.checkpoint()

    assert len(opened) == 2


async def test_what_nobody_asked_for_is_no_answer_to_the_next_request():
    """It may be another caller's (RFC 9112, 9.2: such a connection is closed)."""
    unasked = OK + b'content-length: 8\r\n\r\n{"no":1}'
    framings = (b"content-length: 2\r\n\r\n{}", b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
    for framing in framings:
        answers = answering(OK + framing + unasked, OK + framing)
        async with sockets(answers) as (client, url, opened):
            assert [(await client.post(url, json={"a": 1})).json() for _ in range(2)] == [{}, {}]
        assert len(opened) == 2


async def test_a_body_in_chunks_is_not_taken_whole_for_the_length_beside_them():
    """RFC 9112, 6.3: the chunks count, and they may go on for ever."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(REQUEST_END)
        writer.write(OK + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n")
        await reader.read()

    async with sockets(script) as (client, url, _), client.stream("POST", url, json={"a": 1}) as response:
        assert await anext(response.aiter_raw()) == b"{}"


async def test_requests_at_the_same_time_have_a_connection_each():
    arrived = anyio.Event()
    waiting = 0

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal waiting
        await reader.readuntil(REQUEST_END)
        waiting += 1
        if waiting == 3:
            arrived.set()
        await arrived.wait()
        writer.write(OK + b"content-length: 2\r\n\r\n{}")
        await reader.read()

    async with sockets(script) as (client, url, opened), anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(lambda: client.post(url, json={"a": 1}))

    assert len(opened) == 3


async def test_an_event_stream_is_read_as_it_comes_and_its_end_by_the_caller_closes_the_connection():
    hung_up = anyio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(REQUEST_END)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: one\n\n")
        await reader.read()
        hung_up.set()

    async with sockets(script) as (client, url, _):
        async with client.stream("POST", url, json={"a": 1}) as response:
            assert await anext(response.aiter_text()) == "data: one\n\n"
        await hung_up.wait()


async def test_a_body_of_megabytes_is_read_whole_and_makes_its_server_wait_meanwhile():
    body = bytes(range(256)) * 40_000

    large = answering(OK + b"content-length: %d\r\n\r\n" % len(body) + body)
    async with sockets(large) as (client, url, _), client.stream("POST", url, json={"a": 1}) as response:
        await anyio.sleep(0.05)  # what the system would hand over by then
        connection = response.stream._stream._connection  # pyright: ignore
        assert connection._ahead < 2 * plain._READ_AHEAD  # pyright: ignore[reportPrivateUsage]
        assert await response.aread() == body


async def test_what_is_compressed_is_read_as_it_was_before():
    import gzip

    body = gzip.compress(b'{"b": 2}')
    head = OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(body)
    async with sockets(answering(head + body)) as (client, url, _):
        assert (await client.post(url, json={"a": 1})).json() == {"b": 2}


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", httpx2.RemoteProtocolError),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", httpx2.RemoteProtocolError),
        (OK + b"content-length: 10\r\n\r\n{}", httpx2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000, httpx2.RemoteProtocolError),
        (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", httpx2.RemoteProtocolError),
    ],
    ids=["nothing", "another-protocol", "half-a-body", "an-endless-head", "a-switch"],
)
async def test_what_is_no_answer_is_told_and_leaves_no_connection(answer: bytes, error: type[Exception]):
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(REQUEST_END)
        writer.write(answer)

    async with sockets(script) as (client, url, opened):
        for _ in range(2):
            with pytest.raises(error):
                await client.post(url, json={"a": 1})

    assert len(opened) == 2


async def test_a_server_that_says_nothing_is_waited_for_as_long_as_is_allowed():
    async with sockets(answering()) as (client, url, _):
        with pytest.raises(httpx2.ReadTimeout):
            await client.post(url, json={"a": 1}, timeout=httpx2.Timeout(QUICK, read=0.05))


async def test_an_interim_response_is_passed_over():
    answer = b"HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n" + OK + b"content-length: 2\r\n\r\n{}"
    async with sockets(answering(answer)) as (client, url, _):
        assert (await client.post(url, json={"a": 1})).status_code == 200


async def test_a_port_on_which_nobody_listens_is_told():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # bound, and not listened on: connections are refused
        async with httpx2.AsyncClient(transport=PlainTransport()) as client:
            with pytest.raises(httpx2.ConnectError):
                await client.post(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp", json={})


@pytest.mark.parametrize("host", ["127.0.0.1", "two.example"])
async def test_who_gives_up_while_it_connects_leaves_no_socket(host: str, monkeypatch: pytest.MonkeyPatch):
    """At whichever step of the loop; a socket that nobody closes is told by a warning, which is an error in tests."""
    async with sockets(answering()) as (_, url, _), httpx2.AsyncClient(transport=PlainTransport()) as client:
        resolves_to(monkeypatch, "127.0.0.1", "127.0.0.1")
        given_up = 0
        for steps in range(30):
            task = asyncio.create_task(client.post(url.replace("127.0.0.1", host), json={"a": 1}))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            given_up += task.cancelled()
        assert given_up > 20
        gc.collect()


@pytest.mark.parametrize("refusing", [0, 1, 2])
async def test_of_all_addresses_of_a_name_one_that_answers_is_taken(refusing: int, monkeypatch: pytest.MonkeyPatch):
    """Port 9 of 127.0.0.2 and 127.0.0.3 is nobody's; so is that of a server which listens on 127.0.0.1 alone."""
    async with sockets(answering(OK + b"content-length: 2\r\n\r\n{}")) as (client, url, opened):
        resolves_to(monkeypatch, *["127.0.0.2", "127.0.0.3"][:refusing], "127.0.0.1")
        assert (await client.post(url.replace("127.0.0.1", "some.example"), json={"a": 1})).text == "{}"
    assert len(opened) == 1


async def test_a_name_of_which_no_address_answers_says_so_of_each(monkeypatch: pytest.MonkeyPatch):
    resolves_to(monkeypatch, "127.0.0.2", "127.0.0.3")
    async with sockets(answering()) as (client, url, _):
        with pytest.raises(httpx2.ConnectError, match=r"127\.0\.0\.2.*; .*127\.0\.0\.3"):
            await client.post(url.replace("127.0.0.1", "some.example"), json={"a": 1})


def resolves_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name have these addresses."""
    found = socket.getaddrinfo

    def look_up(host: object, port: int, *args: object, **options: object) -> object:
        return [each for address in addresses for each in found(address, port, type=socket.SOCK_STREAM)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


async def test_header_values_that_would_make_two_headers_are_refused():
    async with sockets(answering()) as (client, url, _):
        with pytest.raises(httpx2.LocalProtocolError):
            await client.post(url, json={"a": 1}, headers={"x": "1\r\ny: 2"})


async def test_no_more_connections_are_opened_than_are_allowed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plain, "_MOST_CONNECTIONS", 2)
    under_way, most = 0, 0

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        while True:
            await reader.readuntil(REQUEST_END)
            under_way += 1
            most = max(most, under_way)
            await anyio.lowlevel.checkpoint()
            under_way -= 1
            writer.write(OK + b"content-length: 2\r\n\r\n{}")

    async with sockets(script) as (client, url, opened), anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(lambda: client.post(url, json={"a": 1}))

    assert most <= 2
    assert len(opened) <= 2
