"""What a child may say, read and checked: it may be the script that says it."""

import json
from typing import Any

from toolcrib.sandbox.contract import Fault, Status
from toolcrib.sandbox.engine import Broken, Called, Event, Finished, Printed
from toolcrib.schema.jsonvalues import is_array, is_object

_MOST_NAME = 400
_MOST_TEXT = 20_000
_MOST_ARGUMENTS = 1_000


class BrokenMessageError(Exception):
    """A child said something that no worker of ours says."""


def read(line: bytes, next_call: int) -> Event:
    """The event in a line.

    Args:
        line: What the child wrote.
        next_call: The number that its next call must have.

    Raises:
        BrokenMessageError: It is none.
    """
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BrokenMessageError("a line that is no JSON") from error
    if not is_object(message):
        raise BrokenMessageError("a line that is no message")
    match message.get("t"):
        case "call":
            return _call(message, next_call)
        case "print":
            return Printed("stderr" if message.get("stream") == "stderr" else "stdout", _text(message.get("text")))
        case "done":
            return Finished(message.get("value"))
        case "error":
            return _error(message)
        case _:
            raise BrokenMessageError("a message of no known kind")


def _call(message: dict[str, Any], next_call: int) -> Called:
    key, name, line = message.get("id"), message.get("name"), message.get("line")
    args, kwargs = message.get("args"), message.get("kwargs")
    if type(key) is not int or key != next_call:
        raise BrokenMessageError("a call out of turn")
    if not isinstance(name, str) or len(name) > _MOST_NAME or not is_array(args) or not is_object(kwargs):
        raise BrokenMessageError("a call that is none")
    if len(args) > _MOST_ARGUMENTS:
        raise BrokenMessageError("a call with too many arguments")
    return Called(key, name, args, kwargs, line if type(line) is int and 0 < line < 10_000_000 else None)


def _error(message: dict[str, Any]) -> Broken:
    kind, text = _text(message.get("kind"))[:_MOST_NAME], _text(message.get("message"))[:_MOST_TEXT]
    trace = message.get("trace")
    lines = [line for line in trace[:64] if type(line) is int] if is_array(trace) else []
    status: Status = "memory" if kind == "MemoryError" else "script_error"
    if message.get("rejected") is True or (kind in ("SyntaxError", "IndentationError", "TabError") and len(lines) == 1):
        status = "rejected"
    return Broken(status, Fault(kind, text, lines[-1] if lines else None, trace=tuple(lines)))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BrokenMessageError("a text that is none")
    return value
