"""Clients that take nothing of an answer, or don't send the rest of a request."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from toolcrib.gateway import gathering
from toolcrib.gateway.listening import bound, serve_app

pytestmark = pytest.mark.anyio

LIMIT = 20.0
STALL = 0.2
GET = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
MORE_THAN_FITS = b"x" * 20_000_000
"""More than the buffers of both ends of a connection on one machine hold together."""


class App:
    """Answers GET with more than its client takes, and anything else once `going` is set."""

    def __init__(self) -> None:
        self.begun, self.going, self.given_up = anyio.Event(), anyio.Event(), anyio.Event()

    async def __call__(self, scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        if scope["type"] == "lifespan":
            for word in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{word}.complete"})
            return
        self.begun.set()
        if scope["method"] != "GET":
            await self.going.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["method"] == "GET":
            await send({"type": "http.response.body", "body": MORE_THAN_FITS, "more_body": True})
            await send({"type": "http.response.body", "body": b"more", "more_body": True})
            self.given_up.set()  # what is sent to a client that has gone is dropped
        await send({"type": "http.response.body", "body": b"done"})


@pytest.fixture
async def app(monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setattr(gathering, "STALL_SECONDS", STALL)
    return App()


@pytest.fixture
async def port(app: App) -> AsyncIterator[int]:
    """Where the application is served."""
    ready = anyio.Event()
    with bound("127.0.0.1", 0) as listener:
        at: int = listener.getsockname()[1]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve_app, app, listener, ready.set)
            await ready.wait()
            yield at
            tasks.cancel_scope.cancel()


async def test_an_answer_of_which_nothing_is_taken_is_given_up(app: App, port: int) -> None:
    with anyio.fail_after(LIMIT):
        async with await anyio.connect_tcp("127.0.0.1", port) as client:
            await client.send(GET)
            await app.given_up.wait()


@pytest.mark.parametrize(
    "part",
    [
        b"",
        b"POST / HTTP/1.1\r\nHost: 127",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
    ],
    ids=["nothing", "head", "body"],
)
async def test_a_request_whose_rest_does_not_come_is_given_up_and_one_under_way_is_not(
    app: App, port: int, part: bytes
) -> None:
    with anyio.fail_after(LIMIT):
        async with (
            await anyio.connect_tcp("127.0.0.1", port) as patient,
            await anyio.connect_tcp("127.0.0.1", port) as client,
        ):
            await patient.send(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n")
            await app.begun.wait()
            await client.send(part)
            assert await _end_of(client) == b""
            app.going.set()  # for which the other one has waited as long
            assert b"200 OK" in await patient.receive()


async def _end_of(client: SocketStream) -> bytes:
    try:
        return await client.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return b""
