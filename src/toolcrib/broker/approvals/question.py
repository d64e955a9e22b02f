"""The question that a person is asked about a call, as text and as a form."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from toolcrib.broker.approvals.grants import Grant
from toolcrib.broker.call import Call
from toolcrib.broker.dataflow import Trace
from toolcrib.catalog import JsonObject, Tool, to_line
from toolcrib.hidden import visible

MOST_CHARACTERS = 6_000
"""Of arguments in one question: more is more than a person reads in a dialog."""

FORM_FIELD = "decision"
ALLOW_ONCE = "allow this call"
DENY = "deny"

_STRINGS_CUT_TO = (2_000, 500, 120)
_MOST_TRACES = 20


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody is asked: may this call go on?

    Attributes:
        id: The approval's id, by which it is decided.
        call: The call.
        reason: Why the policy asks.
        rule: The rule that asks.
        traces: Which values of the arguments come from earlier results, and which ones those are.
    """

    id: str
    call: Call
    reason: str = ""
    rule: str = ""
    traces: tuple[Trace, ...] = ()

    def named(self, approval: str) -> "Question":
        """The same question under another id."""
        return replace(self, id=approval)

    @property
    def arguments(self) -> JsonObject:
        """What is asked about: the arguments of a tool, or the params of another request."""
        return self.call.arguments if self.call.tool is not None else self.call.params

    @property
    def text(self) -> str:
        """The question for a person, over several lines, at a length that a dialog takes."""
        return self.worded(MOST_CHARACTERS)

    def worded(self, most: int) -> str:
        """The question for a person, over several lines; hidden characters are visible.

        Args:
            most: Characters of arguments beyond which they are shortened.
        """
        call = self.call
        lines = [f"Allow {call.target} ({call.effect}) of server {call.source}?"]
        if self.reason or self.rule:
            lines.append(f"Why it is asked: {self.reason}{f' (rule {self.rule})' if self.rule else ''}".rstrip())
        lines.append(f"Who asks: {asker(call)}")
        lines.append(f"Arguments:\n{arguments_text(self.arguments, most)}")
        lines += map(trace_text, self.traces[:_MOST_TRACES])
        if len(self.traces) > _MOST_TRACES:
            lines.append(f"… and {len(self.traces) - _MOST_TRACES} more values from earlier results.")
        return visible("\n".join(lines))

    @property
    def form(self) -> JsonObject:
        """The params of `elicitation/create`: the text, and one flat choice (specification 2025-06-18, elicitation)."""
        choice = {
            "type": "string",
            "title": "Decision",
            "description": "Whether this call may go on",
            "enum": [ALLOW_ONCE, self._lasting, DENY],
        }
        schema = {"type": "object", "properties": {FORM_FIELD: choice}, "required": [FORM_FIELD]}
        return {"mode": "form", "message": self.text, "requestedSchema": schema}

    def read_form(self, answer: Mapping[str, Any]) -> tuple[bool, Grant]:
        """What a filled form says; everything but a clear yes is a no.

        Args:
            answer: The `ElicitResult` as on the wire.
        """
        content = answer.get("content")
        if answer.get("action") != "accept" or not isinstance(content, Mapping):
            return False, Grant()
        chosen = cast("Mapping[str, Any]", content).get(FORM_FIELD)
        if chosen == self._lasting:
            return True, Grant("tool")
        return chosen == ALLOW_ONCE, Grant()

    @property
    def _lasting(self) -> str:
        return f"allow this tool in this {'run' if self.call.caller.run else 'conversation'}"


def asker(call: Call) -> str:
    """Who makes a call, in words."""
    caller = call.caller
    doors = {"library": "a program", "stdio": "a client over stdio", "http": "a client over HTTP", "cli": "a person"}
    who = doors[caller.face] if caller.origin == "direct" else f"a {caller.origin} of {doors[caller.face]}"
    run = f", run {caller.run}" if caller.run else ""
    return f"{who} ({caller.principal.name}{run})"


def trace_text(trace: Trace) -> str:
    """Where a value comes from, in a line."""
    return f"{trace.argument or '/'} comes from {trace.tool_id} (call {trace.call_id}): {trace.excerpt!r}"


def arguments_text(arguments: JsonObject, most: int = MOST_CHARACTERS) -> str:
    """Arguments as indented JSON: in full where they fit, else with long texts cut, so that one long argument
    hides none of the others; what is cut says how much."""
    text = _dumped(arguments)
    for limit in _STRINGS_CUT_TO:
        if len(text) <= most:
            return text
        text = _dumped(_cut(arguments, limit))
    if len(text) <= most:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text[:most]}\n… and {len(text) - most:,} more characters that are NOT shown here (digest {digest})"


def definition_digest(tool: Tool | None) -> str:
    """A digest of the definition that a question was asked about; empty for a request that is no tool's."""
    return "" if tool is None else hashlib.sha256(to_line(tool.definition)).hexdigest()[:32]


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return "(nested too deep to be shown)"


def _cut(value: Any, limit: int) -> Any:
    if isinstance(value, str) and len(value) > limit:
        return f"{value[:limit]}… ({len(value) - limit:,} more characters NOT shown)"
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {str(_cut(key, limit)): _cut(item, limit) for key, item in members}
    if isinstance(value, list):
        return [_cut(item, limit) for item in cast("list[Any]", value)]
    return value
