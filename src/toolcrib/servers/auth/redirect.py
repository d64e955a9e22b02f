"""The end of a login in the browser: it comes back to a port of this machine, or is pasted by hand."""

import re
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qs, urlsplit

import anyio
from anyio.abc import ByteStream, Listener, SocketAttribute, SocketStream

_PATH = "/callback"
_MOST_BYTES = 32_768
_REQUEST_SECONDS = 10.0

_BARE_CODE = re.compile(r"[\x21-\x7e]{8,2048}")


@dataclass(frozen=True, slots=True, repr=False)
class Redirected:
    """What an authorization server sent a browser back with (RFC 6749, 4.1.2). Its `repr` shows no code.

    Attributes:
        state: What ties it to a login; None in a code that was pasted alone.
        code: The authorization code; None in a refusal.
        issuer: The server that says it sent it (RFC 9207).
        error: Why there is no code.
    """

    state: str | None
    code: str | None = None
    issuer: str | None = None
    error: str | None = None

    def __repr__(self) -> str:
        return f"Redirected(error={self.error!r})"


def parse_redirect(text: str) -> Redirected | None:
    """What a person pasted: the whole address, its query, or the code alone; None for anything else."""
    text = text.strip()
    found = _from_query(_split(text).query if "://" in text else text.removeprefix("?"))
    if found is None and _BARE_CODE.fullmatch(text) and "://" not in text and "=" not in text.rstrip("="):
        return Redirected(None, code=text)
    return found


class Loopback:
    """A port of the loopback address that waits for one browser (RFC 8252, 7.3).

    Attributes:
        redirect_uri: Its address.
    """

    def __init__(self, listener: Listener[SocketStream], port: int) -> None:
        self._listener = listener
        self.redirect_uri = f"http://127.0.0.1:{port}{_PATH}"

    async def wait(self, state: str) -> Redirected:
        """Answer whatever comes, until what belongs to this login does."""
        found: list[Redirected] = []
        async with anyio.create_task_group() as tasks:

            async def answer(stream: SocketStream) -> None:
                async with stream:
                    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                        redirected = await _answer(stream, state)
                        if redirected is not None:
                            found.append(redirected)
                            tasks.cancel_scope.cancel()

            await self._listener.serve(answer, tasks)
        return found[0]


@asynccontextmanager
async def loopback(port: int) -> AsyncGenerator[Loopback]:
    """Listen on a port of 127.0.0.1; 0 takes a free one.

    Raises:
        OSError: The port is taken.
    """
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port) as listener:
        yield Loopback(listener, listener.extra(SocketAttribute.local_port))


async def _answer(stream: ByteStream, state: str) -> Redirected | None:
    with anyio.move_on_after(_REQUEST_SECONDS):
        head = b""
        while b"\r\n\r\n" not in head and len(head) < _MOST_BYTES:
            head += await stream.receive()
        method, _, rest = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
        target = _split(rest.partition(" ")[0])
        if method != "GET" or target.path != _PATH:
            await stream.send(_page("404 Not Found", "There is nothing here."))
            return None
        found = _from_query(target.query)
        # Any page that the browser shows could send a request here; only this login knows its state.
        if found is None or not secrets.compare_digest((found.state or "").encode(), state.encode()):
            await stream.send(_page("400 Bad Request", "This belongs to no login that is under way."))
            return None
        message = "You are logged in." if found.code else "The login was refused."
        await stream.send(_page("200 OK", f"{message} You can close this page and go back to Toolcrib."))
        return found
    return None


def _page(status: str, text: str) -> bytes:
    # With an icon of its own, since a browser would ask for one when nobody listens here any more.
    beginning = '<!doctype html><meta charset=utf-8><link rel=icon href="data:,"><title>Toolcrib</title>'
    body = f"{beginning}<p>{text}</p>\n".encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _split(address: str) -> SplitResult:
    """An address in parts; empty ones where it is none, as whatever comes to a port or is pasted may be."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _from_query(query: str) -> Redirected | None:
    fields = {name: values[0] for name, values in parse_qs(query).items()}
    code, error = fields.get("code"), fields.get("error")
    if code is None and error is None:
        return None
    return Redirected(fields.get("state", ""), None if error else code, fields.get("iss"), error)
