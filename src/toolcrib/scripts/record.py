"""What is on record of a run: itself, its calls with effects, and what it goes on from when it sleeps."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolcrib.sandbox import Language
from toolcrib.scripts.replaying import EarlierCall

RunState = Literal["running", "ok", "failed", "suspended", "unknown"]
"""How a run stands; `unknown`: Toolcrib ended while it ran."""

_MOST_RESULT = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Run:
    """One run, as it stands on record.

    Attributes:
        id: Names it.
        principal: Who ran it.
        conversation: In which conversation.
        language: What the script is written in.
        sandbox: Where it ran.
        code: The script, without secrets.
        retry_of: The run that it repeats; empty for none.
        status: How it stands.
        output: What it printed.
        detail: What went wrong, or what it waits for.
        started_at: Seconds since 1970.
        ended_at: The same; None while it runs.
    """

    id: str
    principal: str
    conversation: str
    language: Language
    sandbox: str
    code: str
    retry_of: str
    status: RunState
    output: str
    detail: str
    started_at: float
    ended_at: float | None


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
    return Run(**{name: row[name] for name in Run.__dataclass_fields__})


def packed(asleep: Asleep) -> bytes:
    """What a sleeping run goes on from, as it is stored."""
    head = {"code": asleep.code, "labels": sorted(asleep.labels)}
    return json.dumps(head).encode() + b"\n" + asleep.snapshot


def unpacked(stored: bytes, language: Language, seal: str) -> Asleep:
    """The same back."""
    head, _, snapshot = stored.partition(b"\n")
    read = json.loads(head)
    return Asleep(read["code"], language, frozenset(read["labels"]), snapshot, seal)
