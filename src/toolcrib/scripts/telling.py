"""What is told of a run, to a model or a person: what it printed, its value, and an account of what it has done."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from toolcrib.broker import is_media
from toolcrib.catalog import SAVED_SCRIPTS, JsonObject, to_line
from toolcrib.hidden import visible
from toolcrib.sandbox import Finding
from toolcrib.schema.jsonvalues import is_object
from toolcrib.scripts.outcome import MadeCall, RunOutcome

_MOST_CALLS_TOLD = 40
_MOST_DETAIL = 600
_TOLD_HINTS = frozenset({"extract-in-loop"})
"""Rules of hints that are told of a script that ran, too."""
_WORDS = {"repeated": "done by the earlier run, not again"}


def run_again(run: str) -> str:
    """How a model takes up a run."""
    return f'run_code(code=…, retry_of="{run}")'


def run_result(outcome: RunOutcome, again: Callable[[str], str] = run_again) -> JsonObject:
    """What came of a run as a tool result: what it printed, its value, what it showed, and an account of its calls.

    Args:
        outcome: What came of it.
        again: How whoever reads this takes up a run, by its id.
    """
    texts = list(_texts(outcome, again))
    blocks: list[JsonObject] = [{"type": "text", "text": text} for text in texts[:-1]]
    blocks += value_blocks(outcome)
    blocks += outcome.shown
    blocks.append({"type": "text", "text": texts[-1]})
    return {"content": blocks, "isError": not outcome.ok}


def _texts(outcome: RunOutcome, again: Callable[[str], str]) -> Iterator[str]:
    if outcome.status == "rejected":
        yield "\n".join(_rejected(outcome))
        return
    if outcome.output:
        cut = f"\n({outcome.output_cut:,} bytes of this were left out)" if outcome.output_cut else ""
        yield f"{_seen(outcome.output.rstrip())}{cut}"
    if outcome.ok and outcome.value is not None and not value_blocks(outcome):
        value = outcome.value if isinstance(outcome.value, str) else to_line(outcome.value).decode()
        yield _seen(value) + (f"\n({outcome.cut})" if outcome.cut else "")
    yield "\n".join(_account(outcome, again))


def value_blocks(outcome: RunOutcome) -> list[JsonObject]:
    """The blocks that the value of a run is, where images or sounds are among them: those are not told as text."""
    value = outcome.value if outcome.ok else None
    blocks = cast("list[Any]", value if isinstance(value, list) else [value])
    is_content = all(is_object(each) and isinstance(each.get("type"), str) for each in blocks)
    return cast("list[JsonObject]", blocks) if is_content and any(map(is_media, blocks)) else []


def _rejected(outcome: RunOutcome) -> Iterator[str]:
    yield "The script was not run, and nothing was called:"
    for finding in outcome.findings:
        yield finding_line(finding)
    if outcome.fault is not None:
        yield f"- {outcome.fault.kind}: {outcome.fault.message} {outcome.fault.hint}".rstrip()


def finding_line(finding: Finding) -> str:
    """One thing that was found in a script, on a line."""
    kind = "" if finding.is_error else " (hint)"
    hint = f" {finding.hint}" if finding.hint else ""
    return f"- line {finding.line}{kind}: {finding.message}{hint}"


def _account(outcome: RunOutcome, again: Callable[[str], str]) -> Iterator[str]:
    """How the run ended, and what it has done: every call that may have changed something, the others counted."""
    fault = outcome.fault
    yield from (finding_line(each) for each in outcome.findings if each.rule in _TOLD_HINTS)
    if outcome.status == "suspended":
        yield f"The script waits. {outcome.waiting}"
        yield f"Once that is decided, go on with: {again(outcome.run)}"
    elif not outcome.ok:
        yield _failure(outcome)
        if fault is not None and fault.source:
            yield f"  {fault.line} | {fault.source}"
        if fault is not None and fault.hint:
            yield fault.hint
    yield from _calls(outcome)
    how = "" if outcome.ok or outcome.status == "suspended" else again(outcome.run)
    if how and any(_did_something(call) for call in outcome.effects):
        yield f"To go on without doing these again: {how}"


def _did_something(call: MadeCall) -> bool:
    """Whether a call took effect; a saved script that failed may have made some that did."""
    return call.state == "done" or (call.state == "failed" and call.name.startswith(f"{SAVED_SCRIPTS}."))


def effects_line(outcome: RunOutcome) -> str:
    """The calls of a run that may have changed something, each with how it ended, on one line."""
    counts = Counter((call.name, call.state) for call in outcome.effects)
    parts = [f"{name} {state}{f' ×{count}' if count > 1 else ''}" for (name, state), count in counts.items()]
    more = f" and {len(parts) - _MOST_CALLS_TOLD} more" if len(parts) > _MOST_CALLS_TOLD else ""
    return f"{outcome.run}: {', '.join(parts[:_MOST_CALLS_TOLD]) or 'none with effects'}{more}"


def _failure(outcome: RunOutcome) -> str:
    fault = outcome.fault
    if fault is None:
        return f"The script did not come to its end ({outcome.status})."
    place = f" at line {fault.line}" if fault.line else ""
    return f"The script failed{place}: {fault.kind}: {_seen(fault.message)}"


def _calls(outcome: RunOutcome) -> Iterator[str]:
    calls, effects = outcome.calls, outcome.effects
    head = f"{outcome.run}: {_counted(len(calls), 'call')} in {outcome.seconds:.1f} s"
    if not effects:
        yield f"{head}, none with effects."
        return
    if outcome.ok and all(call.state == "done" for call in effects):
        counts = Counter(call.name for call in effects)
        names = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in counts.items())
        yield f"{head}, with effects, all done: {names}."
        return
    yield f"{head}, with effects:"
    alike: dict[tuple[str, int | None, str], list[MadeCall]] = {}
    for call in effects:
        alike.setdefault((call.name, call.line, call.state), []).append(call)
    groups = list(alike.values())
    for group in groups[:_MOST_CALLS_TOLD]:
        yield _calls_line(group)
    if len(groups) > _MOST_CALLS_TOLD:
        yield f"- and {sum(map(len, groups[_MOST_CALLS_TOLD:]))} more"


def _calls_line(calls: Sequence[MadeCall]) -> str:
    """Calls of one tool that one line of the script made and that ended alike."""
    first = calls[0]
    count = f" ×{len(calls)}" if len(calls) > 1 else ""
    place = f" (line {first.line})" if first.line else ""
    others = "; and others" if any(call.detail != first.detail for call in calls) else ""
    detail = f": {' '.join(_seen(first.detail).split())[:_MOST_DETAIL]}{others}" if first.detail else ""
    return f"- {first.name}{count}{place}: {_WORDS.get(first.state, first.state)}{detail}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _seen(text: str) -> str:
    """A text in which what is hidden can be seen."""
    return visible(text.encode("utf-8", "replace").decode())
