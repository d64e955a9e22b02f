"""An upstream whose results use all that the protocol knows, and more: `python odd.py ERA [--log FILE]`.

Standard library alone, so that it starts at once; `conftest.py` serves the same results from memory.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "stubs"))

from stub import RpcError, Stub, text

STAMP = "io.modelcontextprotocol/serverInfo"

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

RICH = {
    "content": [
        {"type": "text", "text": "Größe: 3 · 漢字 · \u0000 \u2028", "annotations": {"priority": 0.5, "x-mood": "calm"}},
        {"type": "image", "data": PIXEL, "mimeType": "image/png", "_meta": {"example.com/page": 1}},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "note://1", "mimeType": "text/plain", "text": "inside", "x-rev": 4}},
        {"type": "resource", "resource": {"uri": "note://2", "blob": "AAEC"}},
        {"type": "resource_link", "uri": "note://3", "name": "three", "size": 12, "icons": [{"src": "data:,"}]},
        {"type": "hologram", "frames": [1, 2], "depth": None},
    ],
    "structuredContent": {"count": 12345678901234567890, "ratio": 1.0, "none": None, "deep": [{"a": []}], "t": True},
    "isError": False,
    "_meta": {"example.com/trace": {"id": "7"}, "plain": None},
    "x-vendor": {"kept": None},
}

FAILED = {"content": [{"type": "text", "text": "no such row"}], "isError": True, "structuredContent": {"row": 7}}

RESULTS = {
    "rich": RICH,
    "failed": FAILED,
    "values": {"content": [{"type": "text", "text": '[1,"two",null]'}], "structuredContent": [1, "two", None]},
    "bare_values": {"content": [], "structuredContent": [1, "two", None]},
    "nothing": {"content": []},
    "asks": {"resultType": "input_required", "inputRequests": {"q": {"method": "elicitation/create", "params": {}}}},
}

DAY = {"type": "string", "enum": ["monday", "tuesday"]}

DEFINITIONS = [
    *({"name": name, "inputSchema": {"type": "object"}} for name in RESULTS),
    {
        "name": "book",
        "title": "Book a room",
        "description": "Book a meeting room for some people.",
        "inputSchema": {
            "type": "object",
            "properties": {"people": {"type": "integer", "minimum": 1}, "day": DAY, "options": {"type": "object"}},
            "required": ["people"],
            "additionalProperties": False,
            "x-order": ["people", "day"],
        },
        "outputSchema": {"type": "object", "properties": {"arguments": {"type": "object"}}},
        "annotations": {"idempotentHint": True, "x-cost": 3},
        "icons": [{"src": "data:,"}],
        "_meta": {"example.com/owner": "facilities"},
        "x-unknown": [None],
    },
    {"name": "meta", "inputSchema": {"type": "object"}},
    {"name": "refuse", "inputSchema": {"type": "object"}},
    {"name": "big", "inputSchema": {"type": "object"}},
    {"name": "steps", "inputSchema": {"type": "object"}},
    {"name": "hang", "inputSchema": {"type": "object"}},
    {"name": "until_cancelled", "inputSchema": {"type": "object"}},
    {"name": "die", "inputSchema": {"type": "object"}},
]

STEPS = [(1, 3, "one"), (2, 3, None), (3.5, None, "three and a half")]

BIG_TEXT = "0123456789abcdef" * (6_000_000 // 16)


def answer(name, arguments, meta):
    """The result of the tools that answer at once."""
    if name in RESULTS:
        return RESULTS[name]
    if name == "book":
        return {"content": [text_block("booked")], "structuredContent": {"arguments": arguments}}
    if name == "meta":
        return {"content": [text_block("meta")], "structuredContent": meta}
    if name == "big":
        return {"content": [text_block(BIG_TEXT)]}
    return {"content": [text_block("done")]}


def text_block(value):
    """A text block."""
    return {"type": "text", "text": value}


class Odd(Stub):
    """The same over stdio."""

    name = "odd"
    tools = tuple(DEFINITIONS)
    waiting = None
    cancelled = ()

    def call(self, name, arguments, params, request_id):
        """Answer a call; `hang` never does, `until_cancelled` when a call of `hang` was cancelled."""
        meta = params.get("_meta") or {}
        if name == "refuse":
            raise RpcError(-32000, "no such row", {"row": 7})
        if name == "die":
            print("fatal: out of paper", file=sys.stderr, flush=True)
            os._exit(7)
        if name in {"steps", "hang"}:
            self.report(meta.get("progressToken"), STEPS if name == "steps" else STEPS[:1])
        if name == "hang":
            return None
        if name == "until_cancelled" and not self.cancelled:
            self.waiting = request_id
            return None
        return self.in_era(answer(name, arguments, meta))

    def in_era(self, result):
        """A result with the envelope that a modern server puts around it."""
        if self.eras != ("modern",):
            return result
        stamp = {STAMP: {"name": "odd", "version": "1"}}
        return {"resultType": "complete", **result, "_meta": {**result.get("_meta", {}), **stamp}}

    def report(self, token, steps):
        """Send progress notifications."""
        for progress, total, message in steps:
            members = {"progressToken": token, "progress": progress, "total": total, "message": message}
            self.notify("notifications/progress", {key: each for key, each in members.items() if each is not None})

    def notified(self, method, params):
        """Answer whoever waits for a cancellation."""
        if method != "notifications/cancelled":
            return
        self.cancelled = (*self.cancelled, params["requestId"])
        if self.waiting is not None:
            self.send({"jsonrpc": "2.0", "id": self.waiting, "result": self.in_era(text("cancelled"))})


def main():
    """Serve as the arguments say."""
    options = argparse.ArgumentParser()
    options.add_argument("era", choices=["handshake", "modern"])
    options.add_argument("--log")
    chosen = options.parse_args()
    server = Odd(chosen.log)
    server.eras = (chosen.era,)
    server.run()


if __name__ == "__main__":
    main()
