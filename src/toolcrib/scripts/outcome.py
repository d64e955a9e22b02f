"""How a run ended, as whoever asked for it is told."""

from dataclasses import dataclass
from typing import Any, Literal

from toolcrib.broker import Effect
from toolcrib.catalog import JsonObject
from toolcrib.sandbox import Fault, Finding, Language, Status

MadeState = Literal["done", "failed", "waiting", "unknown", "denied", "cancelled", "repeated"]
"""How a call of a script ended; `repeated`: it was made by an earlier run, whose result was given again."""


RUN_META = "toolcrib/run"
"""Member of a saved script's result's `_meta` that names the run that it came from, how that ended and what it did."""


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call that a script made.

    Attributes:
        number: Its place in the run, from 1.
        name: The tool's id, or one of the built-in functions.
        line: Line of the script, where it is known.
        effect: What it may have done.
        state: How it ended.
        detail: What went wrong; empty when nothing did.
        call: Its id in the journal, of a repeated one that of the earlier run; empty where it did not get so far.
    """

    number: int
    name: str
    line: int | None
    effect: Effect
    state: MadeState
    detail: str = ""
    call: str = ""

    def to_json(self) -> JsonObject:
        """All members, by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a run is for, where it is more than a script that was given.

    Attributes:
        only_reads: Whether only calls that are known to read may be made.
        result_bytes: Most bytes of JSON that its value may have; None takes the configured bound.
        parent: The run that it is a part of; empty for none.
        asked: Equal for runs that were asked to do the same; empty where that does not matter.
        script: The saved script that it runs; empty for none.
    """

    only_reads: bool = False
    result_bytes: int | None = None
    parent: str = ""
    asked: str = ""
    script: str = ""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended, and what came of it.

    Attributes:
        run: Names the run; empty where nothing was run.
        language: What the script is written in.
        sandbox: Where it ran.
        status: How it ended.
        value: The final value.
        cut: What was left out of the value, in words.
        output: What was printed.
        output_cut: Bytes of it that were left out.
        shown: Content blocks that it showed.
        findings: What was found before it ran.
        fault: Why it failed.
        calls: Every call that it made.
        seconds: How long it took.
        waiting: What a run that was put to sleep waits for, in words.
        approvals: The same by the ids of the approvals.
    """

    run: str
    language: Language
    sandbox: str
    status: Status
    value: Any = None
    cut: str = ""
    output: str = ""
    output_cut: int = 0
    shown: tuple[JsonObject, ...] = ()
    findings: tuple[Finding, ...] = ()
    fault: Fault | None = None
    calls: tuple[MadeCall, ...] = ()
    seconds: float = 0.0
    waiting: str = ""
    approvals: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the script came to its end."""
        return self.status == "ok"

    @property
    def effects(self) -> tuple[MadeCall, ...]:
        """The calls that may have changed something."""
        return tuple(call for call in self.calls if call.effect != "read")

    def to_json(self) -> JsonObject:
        """All of it, by name."""
        plain = ("run", "language", "sandbox", "status", "value", "cut", "output", "output_cut", "seconds", "waiting")
        return {
            **{name: getattr(self, name) for name in plain},
            "approvals": list(self.approvals),
            "shown": list(self.shown),
            "findings": [_members(each) for each in self.findings],
            "fault": None if self.fault is None else _members(self.fault),
            "calls": [call.to_json() for call in self.calls],
        }


def _members(value: Finding | Fault) -> JsonObject:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
