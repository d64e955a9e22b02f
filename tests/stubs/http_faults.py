"""An HTTP server inside the test, with one bad habit at each path: `async with serving() as base`.

`base + "/Mode"` speaks Streamable HTTP of the handshake era; the modes are the classes below. Those that begin
with `Older` speak the older transport, with a stream of events beside the posted messages.
"""

import json
from contextlib import asynccontextmanager

import anyio
import anyio.abc

LARGE = 10_000_000


class HttpFault:
    """Has none; answers each call with its arguments."""

    def __init__(self):
        self.sessions = 0
        self.calls = 0

    async def handle(self, stream, method, headers, message):
        """Answer one HTTP request."""
        if method != "POST":
            await stream.send(response("405 Method Not Allowed"))
        elif "id" not in message or "method" not in message:
            await stream.send(response("202 Accepted"))
        elif message["method"] == "tools/call":
            self.calls += 1
            await self.call(stream, headers, message)
        else:
            await self.other(stream, message)

    async def other(self, stream, message):
        """Answer a request that is no call."""
        more = {}
        if message["method"] == "initialize":
            self.sessions += 1
            more["mcp_session_id"] = f"s{self.sessions}"
        await stream.send(as_json(answer_of(message), **more))

    async def call(self, stream, headers, message):
        """Answer a call."""
        await stream.send(as_json(answer_of(message)))


class SessionExpires(HttpFault):
    """Forgets each session after its first call."""

    async def call(self, stream, headers, message):
        if headers["mcp-session-id"] != f"s{self.sessions}" or self.calls > 1:
            self.calls = 0
            await stream.send(response("404 Not Found"))
        else:
            await super().call(stream, headers, message)


class Answers(HttpFault):
    """Answers calls with a status."""

    status = ""

    async def call(self, stream, headers, message):
        await stream.send(response(self.status, b"<html>", content_type="text/html", retry_after="7"))


class SessionAlwaysExpired(Answers):
    """Knows no session when it is called."""

    status = "404 Not Found"


class CallUnauthorized(Answers):
    """No longer takes the credentials."""

    status = "401 Unauthorized"


class CallForbidden(Answers):
    """Forbids calls."""

    status = "403 Forbidden"


class CallTooMany(Answers):
    """Is asked too much."""

    status = "429 Too Many Requests"


class CallInternalError(Answers):
    """Fails inside."""

    status = "500 Internal Server Error"


class CallGatewayTimeout(Answers):
    """Has something before it that gave up."""

    status = "504 Gateway Timeout"


class FailsOnce(Answers):
    """Fails inside at the first call."""

    status = "503 Service Unavailable"

    async def call(self, stream, headers, message):
        await (super().call if self.calls == 1 else super(Answers, self).call)(stream, headers, message)


class StartAnswers(HttpFault):
    """Answers everything with a status."""

    status = ""

    async def handle(self, stream, method, headers, message):
        await stream.send(response(self.status))


class StartUnauthorized(StartAnswers):
    """Wants credentials."""

    status = "401 Unauthorized"


class StartTooMany(StartAnswers):
    """Is asked too much, from the start."""

    status = "429 Too Many Requests"


class StartInternalError(StartAnswers):
    """Fails inside, from the start."""

    status = "500 Internal Server Error"


class DropsStream(HttpFault):
    """Begins an answer as a stream of events, and hangs up in the middle of one."""

    async def call(self, stream, headers, message):
        await stream.send(EVENTS + b'event: message\ndata: {"jsonrpc":"2.0",')


class DropsBody(HttpFault):
    """Announces more than it sends."""

    async def call(self, stream, headers, message):
        await stream.send(as_json(answer_of(message))[:-20])


class HangsUp(HttpFault):
    """Hangs up on a call."""

    async def call(self, stream, headers, message):
        await stream.aclose()


class NeverAnswers(HttpFault):
    """Never answers a call."""

    async def call(self, stream, headers, message):
        await anyio.sleep_forever()


class SilentStream(HttpFault):
    """Answers a call with a stream of events in which none ever comes."""

    async def call(self, stream, headers, message):
        await stream.send(EVENTS)
        await anyio.sleep_forever()


class AnswersOther(HttpFault):
    """Answers a call under an id that nobody used."""

    async def call(self, stream, headers, message):
        await stream.send(as_json({**answer_of(message), "id": 987_654}))


class NoJson(HttpFault):
    """Answers a call with what it says is JSON and is not."""

    async def call(self, stream, headers, message):
        await stream.send(response("200 OK", b"{oops", content_type="application/json"))


class Page(HttpFault):
    """Answers a call with a page."""

    async def call(self, stream, headers, message):
        await stream.send(response("200 OK", b"<html>", content_type="text/html"))


class AcceptsCalls(HttpFault):
    """Accepts a call, and so will never answer it."""

    async def call(self, stream, headers, message):
        await stream.send(response("202 Accepted"))


class Redirects(HttpFault):
    """Sends whoever calls somewhere else."""

    async def call(self, stream, headers, message):
        await stream.send(response("307 Temporary Redirect", location="http://127.0.0.1:9/mcp"))


class JunkEvents(HttpFault):
    """Sends events of unknown kinds, comments and a repeated answer around that to a call."""

    async def call(self, stream, headers, message):
        junk = b": a comment\n\nevent: weather\ndata: fine\n\n"
        answer = event(answer_of(message))
        await stream.send(EVENTS + junk + answer + answer)


class BrokenEvent(HttpFault):
    """Sends an event that is no JSON in place of an answer."""

    async def call(self, stream, headers, message):
        await stream.send(EVENTS + b"event: message\ndata: {oops\n\n")


class LargeEvent(HttpFault):
    """Answers a call in one event of ten megabytes."""

    async def call(self, stream, headers, message):
        content = {"content": [{"type": "text", "text": "x" * LARGE}]}
        await stream.send(EVENTS + event({"jsonrpc": "2.0", "id": message["id"], "result": content}))


class Older(HttpFault):
    """Has none; speaks the older transport."""

    events = None

    async def handle(self, stream, method, headers, message):
        if method == "GET":
            self.events = stream
            await stream.send(EVENTS + b"event: endpoint\ndata: /" + type(self).__name__.encode() + b"\n\n")
            await anyio.sleep_forever()
        elif message.get("method") == "tools/call":
            await self.call(stream, headers, message)
        else:
            await stream.send(response("202 Accepted"))
            if "id" in message:
                await self.events.send(event(answer_of(message)))

    async def call(self, stream, headers, message):
        await stream.send(response("202 Accepted"))
        await self.events.send(event(answer_of(message)))


class OlderDrops(Older):
    """Ends the stream of events at a call."""

    async def call(self, stream, headers, message):
        await stream.send(response("202 Accepted"))
        await self.events.aclose()


class OlderFails(Older):
    """Takes no calls."""

    async def call(self, stream, headers, message):
        await stream.send(response("500 Internal Server Error"))


class OlderNeverAnswers(Older):
    """Takes a call and never answers it."""

    async def call(self, stream, headers, message):
        await stream.send(response("202 Accepted"))


EVENTS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"

MODES = {
    kind.__name__: kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, HttpFault) and kind not in {Answers, StartAnswers}
}


def answer_of(message):
    """The answer of a server without faults."""
    method, params = message["method"], message.get("params") or {}
    info = {"name": "http", "version": "1"}
    results = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info},
        "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]},
    }
    if method in results:
        return {"jsonrpc": "2.0", "id": message["id"], "result": results[method]}
    return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}}


def response(status, body=b"", **headers):
    """A whole HTTP response."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def as_json(message, **headers):
    """A response that is one message."""
    return response("200 OK", json.dumps(message).encode(), content_type="application/json", **headers)


def event(message):
    """An event that is one message."""
    return b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n"


@asynccontextmanager
async def serving():
    """Serve all modes on a free port of the loopback address; gives the URL before the mode's name."""
    faults = {name: kind() for name, kind in MODES.items()}

    async def handle(stream):
        async with stream:
            try:
                path, method, headers, message = await _request(stream)
                await faults[path.strip("/")].handle(stream, method, headers, message)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        yield f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        tasks.cancel_scope.cancel()


async def _request(stream):
    received = b""
    while b"\r\n\r\n" not in received:
        received += await stream.receive()
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += await stream.receive()
    method, path, _ = first.split()
    return path, method, headers, json.loads(body) if body else {}
