"""What the checker of types in Monty says of a script, with what is no mistake left out."""

import json
import re
from typing import Any

from pydantic_monty import MontyComplete, MontyError, MontySession, MontyTypingError, NameLookupSnapshot

from toolcrib.sandbox.contract import Finding
from toolcrib.sandbox.monty.hints import hint_for
from toolcrib.sandbox.monty.prelude import GATE

_REFUSED = frozenset(
    (
        "unresolved-attribute",
        "unresolved-reference",
        "missing-argument",
        "unknown-argument",
        "too-many-positional-arguments",
        "invalid-argument-type",
        "invalid-key",
        "unused-awaitable",
        "positional-only-parameter-as-kwarg",
        "parameter-already-assigned",
        "call-non-callable",
        "no-matching-overload",
    )
)
"""Rules whose breach stops a script; others only warn."""
_OF_RESULTS = frozenset(("not-iterable", "not-subscriptable", "non-subscriptable", "unsupported-operator"))
_TOOLS_FUNCTION = re.compile(r"(?:bound method `_|function `\w+_)")
_MOST_STEPS = 100
_MOST_FINDINGS = 50


def types_of(session: MontySession, code: str) -> list[Finding]:
    """What the checker and the parser say of a script, which is stopped before its first line. Blocks.

    Args:
        session: With the stubs to check against.
        code: The script, rewritten.
    """
    try:
        step: Any = session.feed_start(f"{GATE}\n{code}", print_callback=lambda _stream, _text: None)
        for _ in range(_MOST_STEPS):
            if isinstance(step, MontyComplete) or (isinstance(step, NameLookupSnapshot) and step.variable_name == GATE):
                return []
            # stubs of modules are asked for before the script starts
            step = step.resume_auto()
    except MontyTypingError as error:
        return _findings(error.display())
    except MontyError as error:
        inner = error.exception()
        traceback = getattr(error, "traceback", None)
        frames: list[Any] = traceback() if traceback else []
        kind, text = type(inner).__name__, str(inner)
        rule = "unsupported" if kind == "NotImplementedError" else "syntax"
        line = max(frames[-1].line - 1, 1) if frames else 1
        message = text.replace("The monty syntax parser does not yet support", "This dialect of Python has no")
        return [Finding(line, frames[-1].column if frames else 0, rule, message, hint=hint_for(kind, text))]
    return []


def _findings(text: str) -> list[Finding]:
    """The checker's findings, read."""
    try:
        found: Any = json.loads(text)
    except ValueError:
        return [Finding(1, 0, "types", text[:2_000], is_error=False)]
    findings: list[Finding] = []
    each: Any
    for each in found[:_MOST_FINDINGS]:
        rule = str(each.get("name") or each.get("code") or "")
        place: Any = each.get("location") or {}
        # the gate is the first line
        line, column = max(int(place.get("row", 2)) - 1, 1), int(place.get("column", 0))
        message = str(each.get("message", ""))
        if rule == "invalid-syntax" and "return" in message:
            continue
        findings.append(Finding(line, column, rule, message, is_error=_is_error(rule, message)))
    return sorted(findings, key=lambda finding: (finding.line, finding.column))


def _is_error(rule: str, message: str) -> bool:
    """Whether a finding is surely a mistake: what is only unlikely to work must not stop a script."""
    found = message.rpartition("found `")[2]
    if rule == "invalid-argument-type":
        # A variable that holds a literal of objects is taken for a plain dict or list, and one of several types may
        # be the right one; deleting a member that a schema requires harms nobody.
        return not found.startswith(("dict[", "list[")) and " | " not in found and "required field" not in message
    if rule in _OF_RESULTS:
        # A call that was not awaited; else most often a variable that begins as None.
        return "Coroutine" in message
    if rule == "unresolved-attribute" and "`None`" in message:
        return False
    if rule == "no-matching-overload":
        # Of what is not a tool's function, such as `dict.get` of something that may be None, most often no mistake.
        return _TOOLS_FUNCTION.search(message) is not None
    # What gather gives where it keeps exceptions is taken to be one.
    return rule in _REFUSED and "BaseException" not in message
