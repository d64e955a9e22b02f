"""What is on record of a run: itself, its calls with effects, and what it goes on from when it sleeps."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from toolcrib.sandbox import Language
from toolcrib.scripts.outcome import MadeCall
from toolcrib.scripts.replaying import EarlierCall

RunState = Literal["running", "ok", "failed", "suspended", "unknown"]
"""How a run stands; `unknown`: Toolcrib ended while it ran."""

RUN_STATES: tuple[RunState, ...] = get_args(RunState)

MOST_CALLS = 2_000
"""Calls of a run that are on record with the run itself; with effects, all are in the journal."""

_MOST_RESULT = 4 * 1024 * 1024
_MOST_VALUE = 256 * 1024
_OVERLAP = 4_096


@dataclass(frozen=True, slots=True)
class RunHead:
    """One run, as it stands in a list. Texts are without secrets.

    Attributes:
        id: Names it.
        principal: Who ran it.
        conversation: In which conversation.
        language: What the script is written in.
        script: The saved script that it ran; empty for one that was given.
        begins: How the script begins: its first 200 characters.
        retry_of: The run that it repeats; empty for none.
        parent: The run that it is a part of; empty for none.
        status: How it stands.
        detail: What went wrong, or what it waits for.
        started_at: Seconds since 1970.
        ended_at: The same; None while it runs.
    """

    id: str
    principal: str
    conversation: str
    language: Language
    script: str
    begins: str
    retry_of: str
    parent: str
    status: RunState
    detail: str
    started_at: float
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class Run:
    """One run, as it stands on record. Texts are without secrets.

    Attributes:
        id: Names it.
        principal: Who ran it.
        conversation: In which conversation.
        language: What the script is written in.
        script: The saved script that it ran; empty for one that was given.
        sandbox: Where it ran.
        code: The script.
        is_whole: Whether that is all of it: a secret in it is not kept.
        retry_of: The run that it repeats; empty for none.
        parent: The run that it is a part of; empty for none.
        status: How it stands.
        output: What it printed.
        value: The final value as JSON text, or the beginning of that; None where it did not come to one.
        cut: What was left out of the value, in words; empty for nothing.
        detail: What went wrong, or what it waits for.
        line: The line of the script where it went wrong, where that is known.
        calls: What it called, in order, as far as it was told of; of a run that Toolcrib ended in, nothing.
        started_at: Seconds since 1970.
        ended_at: The same; None while it runs.
    """

    id: str
    principal: str
    conversation: str
    language: Language
    script: str
    sandbox: str
    code: str
    is_whole: bool
    retry_of: str
    parent: str
    status: RunState
    output: str
    value: str | None
    cut: str
    detail: str
    line: int | None
    calls: tuple[MadeCall, ...]
    started_at: float
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class RunEnding:
    """How a run ended, as it is put on record.

    Attributes:
        status: How it stands.
        output: What it printed.
        detail: What went wrong, or what it waits for.
        line: The line of the script where it went wrong.
        calls: What it called since it began, or was taken up.
        value: The final value, if it came to one.
        cut: What was left out of the value, in words.
    """

    status: RunState
    output: str = ""
    detail: str = ""
    line: int | None = None
    calls: Sequence[MadeCall] = ()
    value: tuple[Any] | None = None
    cut: str = ""

    def row(self, stored: Callable[[str], str]) -> dict[str, Any]:
        """The members of a run that it gives; `calls` as JSON.

        Args:
            stored: Makes a text fit to be stored.
        """
        value, cut = (None, "") if self.value is None else _value(self.value[0], stored)
        return {
            "status": self.status,
            "output": stored(self.output),
            "detail": stored(self.detail),
            "line": self.line,
            "value": value,
            "cut": cut or self.cut,
            "calls": json.dumps(_told(self.calls[:MOST_CALLS], stored)),
        }


def _value(value: Any, stored: Callable[[str], str]) -> tuple[str | None, str]:
    """A final value as JSON text, and what was left out of it."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        return None, "The value can't be written as JSON."
    more = len(text) - _MOST_VALUE
    if more <= 0:
        return stored(text), ""
    # What is cut in two at the end is a secret that nobody would recognise, so redaction sees what follows.
    kept = stored(text[: _MOST_VALUE + _OVERLAP])[:_MOST_VALUE]
    return kept, f"{more:,} more characters of the value were not kept."


def _told(calls: Sequence[MadeCall], stored: Callable[[str], str]) -> list[dict[str, Any]]:
    names = {name: stored(name) for name in {each.name for each in calls}}
    return [
        {**each.to_json(), "name": names[each.name], "detail": stored(each.detail) if each.detail else ""}
        for each in calls
    ]


def merged(earlier: str, later: str) -> str:
    """The calls of a run that was taken up again, as JSON: what was told of one later counts."""
    calls = {each["number"]: each for text in (earlier, later) for each in json.loads(text)}
    return json.dumps([calls[number] for number in sorted(calls)][:MOST_CALLS])


@dataclass(frozen=True, slots=True)
class Asleep:
    """What a sleeping run goes on from.

    Attributes:
        code: The script.
        language: What it is written in.
        labels: The labels of what its caller had read: what it has computed may hold some of that.
        snapshot: Of the sandbox.
        seal: Tells it from what the run went on from at another time.
    """

    code: str
    language: Language
    labels: frozenset[str]
    snapshot: bytes
    seal: str = ""


def row_of_call(run: str, number: int, call: EarlierCall, expires_at: float) -> dict[str, Any]:
    """A call with effects of a run as it is stored; a result that is too large is not."""
    try:
        text = json.dumps(call.result, ensure_ascii=False)
    except (RecursionError, ValueError):
        text = ""
    is_kept = 0 < len(text) <= _MOST_RESULT
    return {
        "run": run,
        "call_id": call.call_id,
        "number": number,
        "tool": call.tool_id,
        "digest": call.digest,
        "state": call.state,
        "result": text.encode("utf-8", "replace").decode() if is_kept else None,
        "expires_at": expires_at,
    }


def call_of_row(row: Mapping[str, Any]) -> EarlierCall:
    """The same back."""
    result = None if row["result"] is None else json.loads(row["result"])
    return EarlierCall(row["call_id"], row["tool"], row["digest"], row["state"], result)


def run_of_row(row: Mapping[str, Any]) -> Run:
    """A run as it is stored."""
    given: dict[str, Any] = {name: row[name] for name in Run.__dataclass_fields__}
    given["calls"] = tuple(MadeCall(**each) for each in json.loads(row["calls"]))
    return Run(**given)


def packed(asleep: Asleep) -> bytes:
    """What a sleeping run goes on from, as it is stored."""
    head = {"code": asleep.code, "labels": sorted(asleep.labels)}
    return json.dumps(head).encode() + b"\n" + asleep.snapshot


def unpacked(stored: bytes, language: Language, seal: str) -> Asleep:
    """The same back."""
    head, _, snapshot = stored.partition(b"\n")
    read = json.loads(head)
    return Asleep(read["code"], language, frozenset(read["labels"]), snapshot, seal)
