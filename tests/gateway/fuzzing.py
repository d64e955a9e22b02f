"""Malformed and mutated messages, from a seed, and what a server owes each of them by JSON-RPC 2.0 and MCP."""

import copy
import json
import random
import string
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

VERSION = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {}}

_ODD: list[Any] = [
    None, True, False, 0, -1, 1.5, 1e308, 10**30, "", "\x00", "\ud800", "x" * 5_000, "../../etc/passwd", [], {}, [[]],
    {"a": {"b": {"c": []}}}, "2026-07-28", "tools/call", {"_meta": None}, [None] * 50,
]  # fmt: skip

_BYTES: list[bytes] = [
    b"", b"{", b"}", b"[]", b"null", b"7", b'"text"', b"{}", b"\xff\xfe", b"\x00", b"[" * 3_000, b'{"a":' * 3_000,
    b'{"jsonrpc":"2.0","id":1,"method":', b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}', b"NaN",
    b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', b'{"id":' + b"9" * 5_000 + b"}", b"\xef\xbb\xbf{}",
]  # fmt: skip


@dataclass(frozen=True)
class Message:
    """One message to send.

    Attributes:
        content: Its bytes, without a line end.
        id: The id that its answer has to carry; None where it is owed none, or one without id.
        is_owed: Whether JSON-RPC owes it an answer: it is a request with a usable id.
    """

    content: bytes
    id: Any
    is_owed: bool


def messages(seed: int, count: int) -> Iterator[Message]:
    """Messages of all kinds; the same for a seed."""
    dice = random.Random(seed)
    for number in range(count):
        kind = dice.random()
        if kind < 0.1:
            yield Message(dice.choice(_BYTES), None, False)
        elif kind < 0.25:
            yield Message(_torn(dice, _valid(dice, f"f{number}")), None, False)
        else:
            message = _valid(dice, f"f{number}")
            for _ in range(dice.randrange(0, 4)):
                _mutate(dice, message)
            yield _of(message)


def _of(message: dict[str, Any]) -> Message:
    content = json.dumps(message).encode()
    number = message.get("id")
    usable = isinstance(number, str | int) and not isinstance(number, bool)
    request = usable and "method" in message and not message.keys() & {"result", "error"}
    return Message(content, number if request else None, request)


def _valid(dice: random.Random, number: Any) -> dict[str, Any]:
    info = {"name": "f", "version": "1"}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("tools/list", {}),
        ("tools/list", {"cursor": "x"}),
        ("server/discover", {}),
        ("prompts/get", {"name": "nobody"}),
        ("resources/read", {"uri": "x://y"}),
        ("ping", {}),
        ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}),
        ("tools/call", {"name": "search_tools", "arguments": {"query": _word(dice)}}),
        ("tools/call", {"name": "get_tool_details", "arguments": {"name": _word(dice)}}),
        ("tools/call", {"name": "call_tool", "arguments": {"name": "notes.ping", "arguments": {}}}),
        ("tools/call", {"name": "call_tool", "arguments": {"name": "notes.add", "arguments": {"a": 1, "b": 2}}}),
        ("tools/call", {"name": "read_result", "arguments": {"handle": "r_" + _word(dice)}}),
        ("tools/call", {"name": _word(dice), "arguments": {}}),
        (_word(dice), {}),
    ]
    method, params = dice.choice(calls)
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": dict(META)}}


def _mutate(dice: random.Random, value: dict[str, Any]) -> None:
    """Change one member somewhere."""
    at = value
    while dice.random() < 0.6:
        inner = [each for each in at.values() if isinstance(each, dict) and each]
        if not inner:
            break
        at = dice.choice(inner)
    if not at:
        return
    name = dice.choice(list(at))
    what = dice.random()
    if what < 0.3:
        del at[name]
    elif what < 0.8:
        at[name] = copy.deepcopy(dice.choice(_ODD))
    else:
        at[_word(dice)] = copy.deepcopy(dice.choice(_ODD))


def _torn(dice: random.Random, message: dict[str, Any]) -> bytes:
    """Bytes cut, doubled or replaced: no valid JSON, or JSON by luck, so that nothing is expected of it but calm."""
    content = bytearray(json.dumps(message).encode())
    for _ in range(dice.randrange(1, 4)):
        place = dice.randrange(len(content))
        what = dice.randrange(3)
        if what == 0:
            del content[place:]
            content += b" "
        elif what == 1:
            content[place] = dice.choice([0, 9, 34, 92, 123, 125, 200, 255])
        else:
            content[place:place] = content[: dice.randrange(20)]
    return bytes(content).replace(b"\n", b" ").replace(b"\r", b" ")


def _word(dice: random.Random) -> str:
    return "".join(dice.choice(string.ascii_lowercase) for _ in range(dice.randrange(1, 8)))
