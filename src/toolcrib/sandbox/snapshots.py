"""The bytes of a suspended run: what the driver knows of it, and the engine's own state."""

import json
from typing import Any, cast

from toolcrib.errors import SandboxError
from toolcrib.sandbox.contract import CallError
from toolcrib.sandbox.engine import Answer, Past, Pending

FORMAT = 1
"""Changes whenever an older snapshot could no longer be read."""


def pack(past: Past, state: bytes) -> bytes:
    """A run as bytes: a line of JSON, then the engine's state."""
    head = {
        "format": FORMAT,
        "code": past.code,
        "calls": past.calls,
        "pending": [[e.key, e.number, e.name, e.args, e.kwargs, e.line] for e in past.pending],
        "held": [[key, _written(answer)] for key, answer in past.held.items()],
        "records": past.records,
        "used": [past.wall, past.own, past.cpu],
        "output": past.output,
    }
    return json.dumps(head).encode() + b"\n" + state


def unpack(snapshot: bytes) -> tuple[Past, bytes]:
    """The run behind such bytes.

    Raises:
        SandboxError: They are none, or of another version.
    """
    head, _, state = snapshot.partition(b"\n")
    try:
        read = json.loads(head)
        if read["format"] != FORMAT:
            raise ValueError
        past = Past(
            code=read["code"],
            calls=read["calls"],
            pending=[Pending(*each) for each in read["pending"]],
            held={key: _read(answer) for key, answer in read["held"]},
            records=[(number, name, line, ended) for number, name, line, ended in read["records"]],
            wall=read["used"][0],
            own=read["used"][1],
            cpu=read["used"][2],
            output=read["output"],
        )
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise SandboxError(
            "The stored state of a script can't be read: it is damaged, or another version wrote it.",
            hint="Run the script again.",
        ) from error
    return past, state


def _written(answer: Answer) -> Any:
    if isinstance(answer, CallError):
        return {"kind": answer.kind, "message": answer.message, "tool": answer.tool, "data": answer.data}
    return [answer[0]]


def _read(answer: Any) -> Answer:
    if isinstance(answer, list):
        return (cast("list[Any]", answer)[0],)
    return CallError(answer["message"], kind=answer["kind"], tool=answer["tool"], data=answer["data"])
