"""Messages that can't be read, answered all the same: whoever sent a request waits for the answer.

The SDK passes over a line that its parser refuses, and answers a POST of that kind in the words of its parser. Such a
message may be a request: half a surrogate pair, which JavaScript writes where it cuts a text, more nesting than the
parser follows, or params that are no object.
"""

import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, cast

from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError

from toolcrib.schema.jsonvalues import JsonObject

_MOST_DIGITS = 4_000
"""Python reads no longer integers."""


class Readable:
    """The lines to hand on: all but the requests that can't be read, which are answered with an error.

    Args:
        lines: What a client wrote, line by line.
        write: Takes each answer.
    """

    def __init__(self, lines: AsyncIterable[str], write: Callable[[str], Awaitable[None]]) -> None:
        self._lines = lines
        self._write = write

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            answer = refusal(line)
            if answer is None:
                yield line
            else:
                await self._write(f"{json.dumps(answer)}\n")


def refusal(line: str) -> JsonObject | None:
    """The error that answers a request which can't be read; None for all other lines."""
    answer = posted_refusal(line)
    return None if answer is None or answer["id"] is None else answer


def posted_refusal(content: str | bytes) -> JsonObject | None:
    """The error that answers a message which can't be read, whatever it is: over HTTP each gets a response, with null
    for an id that it does not have (JSON-RPC 2.0, 5); None for those that can be read."""
    try:
        jsonrpc_message_adapter.validate_json(content, by_name=False)
    except ValidationError:
        pass
    else:
        return None
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        message: Any = json.loads(text, parse_int=_whole)
    except (ValueError, RecursionError):
        return _answer(None, "It is no JSON in UTF-8.", PARSE_ERROR)
    if isinstance(message, list):  # 2025-06-18 took batches out of the protocol
        return _answer(None, "It is a batch, and each message has to be sent by itself.")
    if not isinstance(message, dict):
        return _answer(None, "It is no object.")
    return _answer(_id_of(cast("JsonObject", message)), _reason(cast("JsonObject", message)))


def _id_of(message: JsonObject) -> str | int | None:
    """What an answer to a message has to carry; None for one that has no id, or is itself an answer."""
    number: Any = message.get("id")
    answerable = isinstance(number, str | int) and not isinstance(number, bool)
    return number if answerable and not message.keys() & {"result", "error"} else None


def _reason(message: JsonObject) -> str:
    """Why a message can't be read (JSON-RPC 2.0, 4 and 5; MCP, basic, messages)."""
    if message.get("jsonrpc") != "2.0":
        return 'Its `jsonrpc` is not "2.0".'
    number: Any = message.get("id", 0)
    if isinstance(number, bool) or not isinstance(number, str | int):
        return "Its `id` is neither a text nor an integer."
    if "method" not in message:
        if "result" not in message and "error" not in message:
            return "It has no `method`."
        return "It is an answer, and its `result` or `error` is not an object of the protocol."
    if not isinstance(message["method"], str):
        return "Its `method` is no text."
    if not isinstance(message.get("params", {}), dict):
        return "Its `params` are no object."
    return "It holds half a surrogate pair, a number with too many digits, or more levels than are read."


def _whole(digits: str) -> int:
    return int(digits) if len(digits) <= _MOST_DIGITS else 0


def _answer(request_id: str | int | None, reason: str, code: int = INVALID_REQUEST) -> JsonObject:
    message = f"This request can't be read. {reason}"
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
