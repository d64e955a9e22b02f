"""Requests that can't be read, answered all the same: whoever sent one waits for the answer.

The SDK passes over a line that its parser refuses. Such a line may be a request: half a surrogate pair, which
JavaScript writes where it cuts a text, more nesting than the parser follows, or params that are no object.
"""

import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, cast

from mcp_types import INVALID_REQUEST, jsonrpc_message_adapter
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
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        request = _request_in(line)
        return None if request is None else _answer(request, error)
    return None


def _request_in(line: str) -> JsonObject | None:
    """What a line holds, if it has an id to answer to and is itself no answer."""
    try:
        message: Any = json.loads(line, parse_int=_whole)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    request = cast("JsonObject", message)
    answerable = isinstance(request.get("id"), str | int) and not isinstance(request["id"], bool)
    return request if answerable and not request.keys() & {"result", "error"} else None


def _whole(digits: str) -> int:
    return int(digits) if len(digits) <= _MOST_DIGITS else 0


def _answer(request: JsonObject, error: ValidationError) -> JsonObject:
    problem = error.errors(include_url=False, include_input=False)[0]
    where = "/".join(str(part) for part in problem["loc"][1:])
    reason = f"{where}: {problem['msg']}" if where else problem["msg"]
    message = f"This request can't be read. {reason}."
    return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": INVALID_REQUEST, "message": message}}
