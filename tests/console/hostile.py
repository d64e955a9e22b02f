"""A source whose every text is an attack on a page, and what is read of pages."""

import base64
import html
import struct
import zlib
from html.parser import HTMLParser
from typing import Any

from toolcrib import Principal
from toolcrib.catalog import NO_CONTEXT, JsonObject, RequestContext, RequestMethod
from toolcrib.functions import LocalFunctions

TOKENS = {
    "ana": {"console": "viewer"},
    "ben": {"console": "approver"},
    "cleo": {"console": "viewer", "deny": ["evil.*"]},
}


EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}"
"""Markup, in a quote of either kind, and a template's expression."""

HIDDEN = "pay\u200bload \U000e0068\U000e0069 \u202etxt \ud83d end"
"""A zero-width space, tags that spell "hi", an override of direction, and half of a surrogate pair."""

LONG = "line of text\n" * 100_000


def png() -> bytes:
    """A PNG image of one grey pixel (PNG, third edition, 5.3)."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\x80")) + chunk(b"IEND", b"")
    )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


RESULT: JsonObject = {
    "content": [
        {"type": "text", "text": EVIL + HIDDEN},
        {"type": "image", "mimeType": "image/png", "data": _base64(png())},
        {"type": "image", "mimeType": 'text/html"' + EVIL, "data": _base64(EVIL.encode())},
        {"type": "image", "mimeType": "image/png", "data": EVIL},
        {"type": "audio", "mimeType": "audio/wav", "data": _base64(b"RIFF")},
        {"type": "resource_link", "uri": "javascript:alert(1)", "name": EVIL, "size": 5},
        {"type": "resource", "resource": {"uri": "file:///x", "mimeType": "text/html", "text": EVIL}},
        {"type": EVIL, "x": EVIL},
    ],
    "structuredContent": {EVIL: [EVIL, HIDDEN, 1, None]},
}

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        EVIL: {"type": "string", "description": EVIL + HIDDEN},
        "level": {"enum": [EVIL, HIDDEN, 3, None]},
        "only": {"const": EVIL},
        "tags": {"type": "array", "items": {"type": "string", "description": EVIL}},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": EVIL},
        HIDDEN: {"type": "object", "properties": {EVIL: {"type": ["integer", "null"], "default": EVIL}}},
    },
    "required": ["tags", "only"],
}


class Hostile(LocalFunctions):
    """The source, whose hints are believed as those of local functions are."""

    def __init__(self) -> None:
        super().__init__("evil", EVIL)
        self.calls: list[JsonObject] = []

    @property
    def definitions(self) -> list[JsonObject]:
        tool: Any = {"description": EVIL + "\n" + HIDDEN, "title": EVIL, "inputSchema": SCHEMA, "outputSchema": SCHEMA}
        free: Any = {"description": EVIL, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
        return [
            {"name": "run", **tool},
            {"name": "drop", **tool, "annotations": {"destructiveHint": True}},
            {"name": EVIL, **tool},
            *({"name": name, **free} for name in ("look", "long", "fail", "crash")),
        ]

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        self.calls.append(params)
        if params["name"] == "crash":
            raise RuntimeError(EVIL)
        if params["name"] == "long":
            return {"content": [{"type": "text", "text": LONG}]}
        return {**RESULT, "isError": params["name"] == "fail"}


class Wordy(LocalFunctions):
    """A source of one tool with a description of any length."""

    def __init__(self, text: str) -> None:
        super().__init__("wordy")
        self._definitions["wordy"] = {"name": "wordy", "description": text, "inputSchema": {"type": "object"}}


class Elements(HTMLParser):
    """What a browser makes of a page: its elements, with their attributes, and the text of each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def elements(text: str) -> list[tuple[str, dict[str, str | None]]]:
    return Elements(text).found


def assert_harmless(page: str) -> None:
    """No element and no attribute comes from what a server has said; a script is the console's own."""
    found = elements(page)
    assert [each["src"] for tag, each in found if tag == "script"] == ["/console/static/console.js"]
    for tag, attributes in found:
        assert not any(name.startswith("on") or name == "style" for name in attributes), (tag, attributes)
        link = attributes.get("href") or attributes.get("action") or attributes.get("formaction") or ""
        assert link.startswith(("/console", "#", "?")) or not link, link
        if tag == "img":
            assert str(attributes["src"]).startswith(("/console/static/", "data:image/png;base64,iVBOR"))
    assert "onerror=alert(1)>49" not in html.unescape(page)


def hidden_fields(page: str) -> dict[str, str]:
    """The hidden fields of the first form that has any beside the guard's."""
    return {
        str(each["name"]): str(each.get("value") or "")
        for tag, each in elements(page)
        if tag == "input" and each.get("type") == "hidden"
    }


def become(browser: Any, name: str) -> None:
    """Give the browser's session to a principal, as a token does."""
    keeper = browser.console.doorkeeper
    [key] = keeper._sessions
    role = keeper.role_of(Principal(name))
    keeper._put(key, Principal(name), role, "")
