"""Clients under load, in a process of their own: each keeps asking, one request at a time, and checks its answers.

`python -m bench.load.clients URL TOOL CLIENTS SECONDS` prints one JSON document. What they send is bare HTTP, so that
nothing of a client's own work is in the way of so many.
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from bench.processes import META, VERSION

_TIMEOUT = 60.0


@dataclass
class Seen:
    """What the clients have seen.

    Attributes:
        answers: Right ones.
        errors: By what they were, how many.
        crossed: Answers that carry what another client or an earlier request has asked with.
        milliseconds: How long each answer took.
    """

    answers: int = 0
    errors: dict[str, int] = field(default_factory=dict[str, int])
    crossed: int = 0
    milliseconds: list[float] = field(default_factory=list[float])

    def failed(self, what: str) -> None:
        self.errors[what] = self.errors.get(what, 0) + 1


class Asker:
    """One client on a connection of its own.

    Args:
        url: Of the server.
        tool: What it calls: `echo`, or `call_tool` with the tool behind it.
        number: Tells it from the others.
    """

    def __init__(self, url: str, tool: str, number: int) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._at = (parts.hostname, parts.port)
        self._tool = tool
        self._number = number
        self._count = 0
        name = "echo" if tool == "echo" else "call_tool"
        self._head = (
            f"POST {parts.path} HTTP/1.1\r\nHost: {parts.hostname}:{parts.port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {VERSION}\r\n"
            f"Mcp-Method: tools/call\r\nMcp-Name: {name}\r\n"
        )

    async def keep_asking(self, until: float, seen: Seen) -> None:
        """Ask until a time of the monotonic clock."""
        reader, writer = await asyncio.open_connection(*self._at)
        try:
            while time.monotonic() < until:
                await self._ask(reader, writer, seen)
        except (OSError, EOFError, TimeoutError) as error:
            seen.failed(type(error).__name__)
        finally:
            writer.close()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: Seen) -> None:
        self._count += 1
        nonce = f"client {self._number}, request {self._count}"
        begun = time.perf_counter()
        async with asyncio.timeout(_TIMEOUT):
            writer.write(self._request(nonce))
            status, body = await _response(reader)
        spent = (time.perf_counter() - begun) * 1000
        if status != 200:
            seen.failed(f"status {status}")
            return
        answer = json.loads(body)
        text = answer.get("result", {}).get("content", [{}])[0].get("text")
        if answer.get("id") != self._count or text != nonce:
            if isinstance(text, str) and text.startswith("client "):
                seen.crossed += 1
            else:
                seen.failed(f"answer {str(text)[:80]!r}")
            return
        seen.answers += 1
        seen.milliseconds.append(spent)

    def _request(self, nonce: str) -> bytes:
        params: dict[str, Any] = {"name": "echo", "arguments": {"text": nonce}, "_meta": META}
        if self._tool != "echo":
            params |= {"name": "call_tool", "arguments": {"name": self._tool, "arguments": {"text": nonce}}}
        message = {"jsonrpc": "2.0", "id": self._count, "method": "tools/call", "params": params}
        body = json.dumps(message).encode()
        return f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Status and body of one response, which has to say how long it is."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
    status = int(lines[0].split()[1])
    if "content-length" not in headers:
        raise OSError(f"a response of another form: {headers.get('content-type')}")
    return status, await reader.readexactly(int(headers["content-length"]))


async def load(url: str, tool: str, clients: int, seconds: float) -> Seen:
    """What clients see that ask for some seconds."""
    seen = Seen()
    until = time.monotonic() + seconds
    await asyncio.gather(*(Asker(url, tool, number).keep_asking(until, seen) for number in range(clients)))
    return seen


def main() -> None:
    url, tool, clients, seconds = sys.argv[1:]
    json.dump(asdict(asyncio.run(load(url, tool, int(clients), float(seconds)))), sys.stdout)


if __name__ == "__main__":
    main()
