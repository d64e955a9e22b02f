"""Messages that can't be read, answered all the same: whoever sent a request waits for the answer.

The SDK passes over a line that its parser refuses, and answers a POST of that kind in the words of its parser. Such a
message may be a request: half a surrogate pair, which JavaScript writes where it cuts a text, more nesting than the
parser follows, or params that are no object.
"""

import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, cast

from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCNotification, jsonrpc_message_adapter
from pydantic import ValidationError

from toolcrib.schema.jsonvalues import JsonObject

_BATCH = "It is a batch, and each message has to be sent by itself."
"""2025-06-18 took batches out of the protocol."""

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
            answers = refusals(line)
            if answers is None:
                yield line
            else:
                for answer in answers:
                    await self._write(f"{json.dumps(answer)}\n")


def refusals(line: str) -> list[JsonObject] | None:
    """The errors that answer a line which can't be read: one for each request in it; None for a line that can be.

    What asks for nothing gets no answer: nobody could tell whose it is.
    """
    if _is_readable(line):
        return None
    try:
        message = _loaded(line)
    except (ValueError, RecursionError):
        return []
    if isinstance(message, list):
        asked = [each for each in cast("list[Any]", message) if _is_request(each)]
        return [_answer(_id_of(each), _BATCH) for each in asked]
    return [_answer(_id_of(message), _reason(message))] if _is_request(message) else []


def posted_refusal(content: str | bytes) -> JsonObject | None:
    """The error that answers a message which can't be read, whatever it is: over HTTP each gets a response, with null
    for an id that it does not have (JSON-RPC 2.0, 5); None for those that can be read."""
    if _is_readable(content):
        return None
    try:
        message = _loaded(content)
    except (ValueError, RecursionError):
        return _answer(None, "It is no JSON in UTF-8.", PARSE_ERROR)
    if isinstance(message, list):
        return _answer(None, _BATCH)
    if not isinstance(message, dict):
        return _answer(None, "It is no object.")
    return _answer(_id_of(cast("JsonObject", message)), _reason(cast("JsonObject", message)))


def _is_readable(content: str | bytes) -> bool:
    try:
        message = jsonrpc_message_adapter.validate_json(content, by_name=False)
    except ValidationError:
        return False
    # A request whose `id` is none passes for a notification, which nobody answers.
    return not isinstance(message, JSONRPCNotification) or "id" not in _loaded(content)


def _loaded(content: str | bytes) -> Any:
    text = content if isinstance(content, str) else content.decode("utf-8")
    return json.loads(text, parse_int=_whole)


def _is_request(message: Any) -> bool:
    """Whether an answer is waited for: an `id` that is none makes no notification of it."""
    return isinstance(message, dict) and "id" in message and not message.keys() & {"result", "error"}


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
