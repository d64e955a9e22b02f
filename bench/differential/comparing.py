"""Whether two answers to the same call are the same."""

import json
from collections.abc import Mapping
from typing import Any, cast

from bench.differential.ways import Answer, Kind
from toolcrib import text_of, value_of

_OWN = {"resultType"}
"""Belongs to one hop of the wire (specification 2026-07-28, basic)."""

_STAMP = "io.modelcontextprotocol/serverInfo"
_NOTES = "toolcrib/"
"""What begins so in `_meta` is Toolcrib's word beside the result."""


def differences(kind: Kind, direct: Answer, other: Answer) -> list[str]:
    """What is not the same in the answer that came another way; a text for each.

    Args:
        kind: The other way.
        direct: The server's own answer.
        other: The same through Toolcrib.
    """
    found: list[str] = []
    # A script reports a step of its own for each call that ended.
    steps = direct.progress + (1 if kind == "script" else 0)
    if other.progress != steps:
        found.append(f"{other.progress} reports of progress, not {steps}")
    if kind == "script":
        return found + _in_a_script(direct, other)
    if direct.error is not None and kind == "call_tool":
        return found + _told(direct.error, other)
    if direct.error != other.error:
        found.append(f"error {_shown(other.error)}, not {_shown(direct.error)}")
    ours, theirs = _bare(direct.result), _bare(other.result)
    found += [
        f"{member}: {_shown(theirs.get(member))}, not {_shown(ours.get(member))}"
        for member in sorted(ours.keys() | theirs.keys())
        if _text(theirs.get(member)) != _text(ours.get(member))
    ]
    return found


def _told(error: tuple[int, str, Any], other: Answer) -> list[str]:
    """A model reads an error of JSON-RPC as a result, with the server's text and code in it."""
    code, message, _ = error
    result = other.result or {}
    told = text_of(result)
    if result.get("isError") and message in told and str(code) in told:
        return []
    return [f"error told as {_shown(result)}, not {_shown(error)}"]


def _in_a_script(direct: Answer, other: Answer) -> list[str]:
    if other.value is None:
        return [f"the script failed: {_shown(other.result or other.error)}"]
    if direct.result is None or direct.result.get("isError"):
        raised = str(other.value.get("error"))
        wanted = direct.error[1] if direct.error else text_of(direct.result or {})
        return [] if wanted in raised else [f"raised {_shown(raised)}, not {_shown(wanted)}"]
    value, wanted = other.value.get("value"), value_of(direct.result)
    return [] if _text(value) == _text(wanted) else [f"value {_shown(value)}, not {_shown(wanted)}"]


def _bare(result: Mapping[str, Any] | None) -> dict[str, Any]:
    """A result without what belongs to the hop."""
    if result is None:
        return {}
    bare = {name: value for name, value in result.items() if name not in _OWN}
    meta = cast("dict[str, Any]", bare.pop("_meta", None) or {})
    kept = {name: value for name, value in meta.items() if name != _STAMP and not name.startswith(_NOTES)}
    return {**bare, "_meta": kept} if kept else bare


def _text(value: Any) -> str:
    """A JSON value as text, in which 1, 1.0 and true differ, and the order of members counts for nothing."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _shown(value: Any) -> str:
    text = _text(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
