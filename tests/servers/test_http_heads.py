"""Heads that are written and read at once, against h11, which has the rules of RFC 9110 and 9112."""

import h11
import httpx2
import pytest

from toolcrib.servers import heads

URL = "http://tools.example:8931/mcp?a=%20b"
BODY = b'{"a":1}'
USUAL = [(b"Host", b"tools.example:8931"), (b"Content-Length", b"7"), (b"Authorization", b"Bearer a b")]


def request(headers: list[tuple[bytes, bytes]], method: str = "POST") -> httpx2.Request:
    return httpx2.Request(method, URL, headers=headers, stream=httpx2.ByteStream(BODY))


def by_h11(made: httpx2.Request) -> bytes:
    connection = h11.Connection(h11.CLIENT)
    head = connection.send(h11.Request(method=made.method, target=made.url.raw_path, headers=made.headers.raw))
    return (head or b"") + (connection.send(h11.Data(data=BODY)) or b"")


@pytest.mark.parametrize(
    "more",
    [
        [],
        [(b"connection", b"Keep-Alive"), (b"X-Empty", b""), (b"x-latin", b"caf\xe9"), (b"x-tab", b"a\t b")],
        [(b"x-twice", b"1"), (b"x-twice", b"2")],
    ],
)
def test_a_request_of_the_usual_form_has_the_bytes_that_h11_would_write(more: list[tuple[bytes, bytes]]):
    made = request(USUAL + more)

    assert heads.written(made, BODY) == by_h11(made)


@pytest.mark.parametrize(
    "headers",
    [
        USUAL[1:],  # no Host
        [*USUAL, (b"host", b"other.example")],
        USUAL[:1],  # no length
        [*USUAL, (b"content-length", b"7")],
        [USUAL[0], (b"content-length", b"8")],
        [*USUAL, (b"transfer-encoding", b"chunked")],
        [*USUAL, (b"connection", b"close")],
        [*USUAL, (b"expect", b"100-continue")],
        [*USUAL, (b"upgrade", b"h2c")],
        [*USUAL, (b"x-two", b"a\r\nx-three: b")],
        [*USUAL, (b"x-two", b"a\nb")],
        [*USUAL, (b"x-two", b"a\x00b")],
        [*USUAL, (b"x-two", b" a")],
        [*USUAL, (b"x two", b"a")],
        [*USUAL, (b"x-two: a\r\nx-three", b"b")],
        [*USUAL, (b"", b"a")],
    ],
)
def test_any_other_request_is_left_to_h11(headers: list[tuple[bytes, bytes]]):
    assert heads.written(request(headers), BODY) is None


def test_a_request_without_a_body_to_send_is_left_to_h11():
    assert heads.written(request(USUAL, "GET"), BODY) is None


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\ncontent-length:2\r\nx-spaces: \t a  b \t\r\nx-empty:\r\n\r\n",
        b"HTTP/1.1 200 \r\nconnection: Keep-Alive\r\ncontent-length: 0\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n\r\n",
        b"HTTP/1.1 500\r\ncontent-length: 002\r\n\r\n",
    ],
)
def test_a_response_of_the_usual_form_is_read_as_h11_reads_it(head: bytes):
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="POST", target="/", headers=USUAL))
    connection.receive_data(head)
    event = connection.next_event()
    assert isinstance(event, h11.Response)

    read = heads.read(head + b"{}", 100, 1_000)

    assert read is not None
    assert (read.status, read.reason, read.headers) == (event.status_code, event.reason, event.headers.raw_items())
    assert (read.size, read.length) == (len(head), int(dict(event.headers)[b"content-length"]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n",  # not whole
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n{}",  # up to the end of the connection
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 101\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-encoding: gzip\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-folded: a\r\n b\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\ncontent-length: 2\n\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-bare: a\nx: b\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-null: a\x00b\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-long: " + b"a" * 1_000 + b"\r\n\r\n{}",
    ],
)
def test_any_other_response_is_left_to_h11(data: bytes):
    assert heads.read(data, 100, 1_000) is None
