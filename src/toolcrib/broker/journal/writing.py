"""What is written of a call: a row, its texts redacted and bounded."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal, cast

from pydantic_core import PydanticSerializationError, to_json

from toolcrib.broker.call import Call
from toolcrib.broker.journal.withheld import given_of
from toolcrib.broker.policy import Decision
from toolcrib.catalog import JsonObject
from toolcrib.redact import REDACTED, Secrets
from toolcrib.tokens import BYTES_PER_TOKEN

Row = dict[str, Any]

MOST_CHARACTERS = 16_000
"""Of the arguments of one call, as JSON text."""

MOST_OF_ERROR = 2_000
"""Characters of an error."""

_STEPS = ((2_000, 200), (400, 50), (80, 10))
"""Characters of a text and items of a list or members of an object that are kept: the first of these pairs whose
outcome is short enough."""

OVERLAP = 4_096
"""Characters behind the cut that redaction still sees, so that no half of a secret is left standing."""

_MOST_DEPTH = 32


def keyed_digest(call: Call, key: bytes) -> str:
    """The call's digest, keyed: arguments that can be guessed can't be recognised by it without the key."""
    try:
        asked = call.digest
    except (RecursionError, TypeError, ValueError):  # a program's own arguments may be no JSON at all
        asked = f"{call.method} {call.target} {call.id}"
    return hmac.new(key, asked.encode(), hashlib.sha256).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Scribe:
    """Makes rows.

    Attributes:
        instance: This instance's id.
        key: What digests are keyed with.
        secrets: What must not be stored.
        arguments: Whether redacted arguments are stored beside the digest.
        paths: JSON Pointers into arguments of what is not stored; `*` stands for any member or item.
    """

    instance: str
    key: bytes
    secrets: Secrets
    arguments: Literal["redacted", "digest"] = "redacted"
    paths: Sequence[str] = ()

    def row(self, call: Call, decision: Decision, labels: Iterable[str], started_at: float) -> Row:
        """The row of a call that is on its way."""
        row: Row = {
            "id": call.id,
            "instance": self.instance,
            "method": call.method,
            "tool": call.target,
            "server": call.source,
            "effect": call.effect,
            "principal": call.caller.principal.name,
            "conversation": call.caller.conversation,
            "origin": call.caller.origin,
            "face": call.caller.face,
            "run": call.caller.run,
            "digest": keyed_digest(call, self.key),
            "arguments": self._arguments(call),
            "verdict": decision.verdict,
            "rule": decision.rule,
            "approval": decision.approval,
            "approved_by": decision.approved_by,
            "labels": json.dumps(sorted(labels)),
            "attempts": 1,
            "started_at": started_at,
            "ended_at": None,
            "duration_ms": None,
            "state": "started",
            "result_bytes": None,
            "result_tokens": None,
            "error": "",
            "repeated_by": "",
        }
        return {name: storable(value) if isinstance(value, str) else value for name, value in row.items()}

    def error(self, text: str) -> str:
        """An error as it is stored."""
        return storable(cut(self.secrets.text(text[: MOST_OF_ERROR + OVERLAP]), MOST_OF_ERROR))

    def _arguments(self, call: Call) -> str | None:
        if self.arguments == "digest":
            return None
        given = given_of(call)
        for text, items in _STEPS:
            kept = _bounded(given, text + OVERLAP, items, 0)
            for path in self.paths:
                kept = _without(kept, path.split("/")[1:])
            kept = _shortened(self.secrets.value(kept), text)
            line = json.dumps(kept, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            if len(line) <= MOST_CHARACTERS:
                return line
        return json.dumps({"…": f"{len(call.arguments)} arguments, too long to be kept"}, ensure_ascii=False)


def measured(result: JsonObject | None, first: int) -> tuple[int | None, int | None, bytes]:
    """Bytes of a result as compact JSON, tokens at the usual estimate, and the first so many of the bytes; None and
    nothing where there is none, or it can't be written."""
    if result is None:
        return None, None, b""
    try:
        line = to_json(result)
    except (PydanticSerializationError, RecursionError, ValueError):
        return None, None, b""
    return len(line), ceil(len(line) / BYTES_PER_TOKEN), line[:first]


def storable(text: str) -> str:
    """A text as every database can hold it: no half of a surrogate pair, no NUL."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def cut(text: str, most: int, *, whole: bool = True) -> str:
    """A text up to so many characters; what is left out is counted, where the text is whole and not a beginning."""
    if len(text) <= most:
        return text if whole else f"{text}…"
    return f"{text[:most]}… (+{len(text) - most} characters)" if whole else f"{text[:most]}…"


def _bounded(value: Any, characters: int, items: int, depth: int) -> Any:
    """A copy whose texts and collections are cut to what may be kept."""
    if value is None or isinstance(value, bool | int | str):
        return value[:characters] if isinstance(value, str) else value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if depth >= _MOST_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        members = list(cast("Mapping[object, Any]", value).items())
        kept = {str(name)[:200]: _bounded(each, characters, items, depth + 1) for name, each in members[:items]}
        return {**kept, "…": f"+{len(members) - items} members"} if len(members) > items else kept
    if isinstance(value, list | tuple):
        entries = cast("Sequence[Any]", value)
        some = [_bounded(each, characters, items, depth + 1) for each in entries[:items]]
        return [*some, f"… (+{len(entries) - items} items)"] if len(entries) > items else some
    return str(value)[:characters]


def _shortened(value: Any, characters: int) -> Any:
    if isinstance(value, str):
        return storable(cut(value, characters))
    if isinstance(value, dict):
        return {storable(name): _shortened(each, characters) for name, each in cast("JsonObject", value).items()}
    if isinstance(value, list):
        return [_shortened(each, characters) for each in cast("list[Any]", value)]
    return value


def _without(value: Any, path: Sequence[str]) -> Any:
    """A copy in which nothing is left of what a path leads to."""
    if not path:
        return REDACTED
    name = path[0].replace("~1", "/").replace("~0", "~")
    if isinstance(value, dict):
        members = cast("JsonObject", value)
        return {key: _without(each, path[1:]) if name in ("*", key) else each for key, each in members.items()}
    if isinstance(value, list):
        entries = enumerate(cast("list[Any]", value))
        return [_without(each, path[1:]) if name in ("*", str(place)) else each for place, each in entries]
    return value
