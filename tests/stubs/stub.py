"""A minimal MCP server over stdio, in the standard library alone: the base of the programs beside it.

It answers what a test needs and nothing else, starts in a few hundredths of a second, and writes down what it
receives, one JSON object a line, so that a test can read what really went over the wire.
"""

import json
import os
import sys
import time
from pathlib import Path

METHOD_NOT_FOUND = -32601
MODERN = "2026-07-28"
ANY = {"type": "object"}


class RpcError(Exception):
    """Answered as a JSON-RPC error."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.body = {"code": code, "message": message}
        if data is not None:
            self.body["data"] = data


class Stub:
    """A server that lists `tools` and answers each call with its arguments."""

    name = "stub"
    protocol_version = "2025-11-25"
    claims = ("tools",)
    tells_of_changes = False
    eras = ("handshake",)
    page = 0
    tools = (
        {
            "name": "echo",
            "description": "Answers its arguments.",
            "inputSchema": {"type": "object"},
        },
    )

    def __init__(self, log=None):
        self.log_path = Path(log) if log else None
        self.capabilities = {claim: {"listChanged": True} if self.tells_of_changes else {} for claim in self.claims}
        self.asked = 0
        self.note({"event": "start", "pid": os.getpid()})

    def note(self, record):
        """Append one record to the log; one write a record, so that several processes may share a file."""
        if self.log_path is not None:
            with self.log_path.open("ab", buffering=0) as file:
                file.write(json.dumps({**record, "at": time.monotonic()}).encode() + b"\n")

    def run(self):
        """Serve until standard input ends."""
        for line in sys.stdin.buffer:
            message = json.loads(line)
            self.note({"event": "received", "message": message})
            self.take(message)
        self.note({"event": "end of input"})
        self.ended()

    def ended(self):
        """What is done when standard input has ended."""

    def take(self, message):
        """Answer one message."""
        if "method" not in message:
            return
        method, params = message["method"], message.get("params") or {}
        if "id" not in message:
            self.notified(method, params)
            return
        try:
            result = self.answer(method, params, message["id"])
        except RpcError as error:
            self.send({"jsonrpc": "2.0", "id": message["id"], "error": error.body})
            return
        if result is not None:
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def notified(self, method, params):
        """Take a notification."""

    def answer(self, method, params, request_id):
        """The result of a request; None leaves it unanswered."""
        if method == "initialize" and "handshake" in self.eras:
            return self.initialize()
        if method == "server/discover" and "modern" in self.eras:
            return self.discover()
        if method == "tools/list":
            return self.list_page("tools", self.tools, params)
        if method == "tools/call":
            return self.call(params["name"], params.get("arguments", {}), params, request_id)
        if method == "ping":
            return {}
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")

    def initialize(self):
        """The result of the handshake."""
        return {
            "protocolVersion": self.protocol_version,
            "capabilities": self.capabilities,
            "serverInfo": {"name": self.name, "version": "1"},
        }

    def discover(self):
        """The result of the modern probe."""
        return {
            "supportedVersions": [MODERN],
            "capabilities": self.capabilities,
            "resultType": "complete",
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": self.name, "version": "1"}},
        }

    def list_page(self, member, entries, params):
        """One page of a listing, by `page` entries; all of them when that is 0."""
        if not self.page:
            return {member: list(entries)}
        start = int(params.get("cursor", 0))
        result = {member: list(entries[start : start + self.page])}
        if start + self.page < len(entries):
            result["nextCursor"] = str(start + self.page)
        return result

    def call(self, name, arguments, params, request_id):
        """The result of a tool call: what was received, as text and as structure."""
        received = {"name": name, "arguments": arguments}
        return {
            "content": [{"type": "text", "text": json.dumps(received)}],
            "structuredContent": received,
            "isError": False,
        }

    def send(self, message):
        """Write one message."""
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, data):
        """Write bytes to standard output as they are."""
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def notify(self, method, params=None):
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else {**message, "params": params})

    def ask(self, method, params=None):
        """Send a request to the client; its answer is written down like all that is received."""
        self.asked += 1
        message = {"jsonrpc": "2.0", "id": f"ask-{self.asked}", "method": method}
        self.send(message if params is None else {**message, "params": params})


def tool(name, schema=ANY, **more):
    """A tool definition."""
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, **more}


def text(value):
    """A result of one text."""
    return {"content": [{"type": "text", "text": value}], "isError": False}
