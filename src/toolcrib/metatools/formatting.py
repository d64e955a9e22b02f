"""What a model reads: search answers, definitions and errors as short texts."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from toolcrib.broker import Effect, InvalidArgumentsError, Unsettled
from toolcrib.catalog import JsonObject, Tool, to_line
from toolcrib.crib import Availability, AvailableServer, Enabled, FoundTool, OffServer, SearchAnswer, SourceSummary
from toolcrib.errors import ToolcribError
from toolcrib.hidden import escape_hidden, visible
from toolcrib.metatools.remarks import definition_remarks, tool_remarks
from toolcrib.metatools.skills import READ_HINT, skill_hits, skills_line
from toolcrib.schema import example_call, first_sentence, signature

BRIEF_CHARACTERS = 120
_FEW = 5
_SCHEMA_CHARACTERS = 6_000
"""A schema longer than this is left to get_tool_details; the signature and the problems are enough to mend a
call, and the longest real schema alone has 77,000 characters."""


def compact(value: Any) -> str:
    """A value as JSON without blanks, readable in any script."""
    return to_line(value).decode()


def search_text(
    answer: SearchAnswer,
    detail: str,
    cursor: str | None,
    is_changed: Callable[[Tool], bool] = lambda _: False,
    *,
    skill_hint: str = READ_HINT,
) -> str:
    """A search answer as text; what is hidden in it is shown.

    Args:
        answer: What was found.
        detail: How much to say of each tool; see `DETAILS`.
        cursor: Leads to the next hits; None when there are none.
        is_changed: Whether a tool has changed since it was first used.
        skill_hint: How a skill is read that was found.
    """
    if answer.sources is not None:
        told = _sources_text(answer.sources)
        return visible(f"{told}\n{skills_line(answer.skills)}" if answer.skills else told)
    lines: list[str] = [f"Unknown: {problem}" for problem in answer.unknown]
    lines += skill_hits(answer.skills, detail, skill_hint)
    if answer.found and answer.nothing_fits:
        what = "no tool" if answer.skills else "nothing"
        lines.append(f"Probably {what} here does this. The nearest:")
    elif not answer.found and not answer.unknown and not answer.skills:
        lines.append("Nothing found. Try other words for the action and its object; an empty query lists the servers.")
    for group in _by_server(answer.found):
        lines += [_hit_text(each, detail, is_changed(each.tool)) for each in group]
    if cursor is not None:
        left = answer.total - answer.offset - len(answer.found)
        lines.append(f'{"At least " if answer.at_least else ""}{left} more with cursor "{cursor}".')
    if answer.missing:
        lines.append(f"Not searched yet, still starting: {', '.join(answer.missing)}.")
    if answer.failed:
        lines.append(f"Not searched, since they could not be started: {', '.join(answer.failed)}.")
    lines += map(_off_text, answer.off)
    return visible("\n".join(lines))


def available_text(answer: Availability) -> str:
    """Servers that are there or could be, as text: one a line, with what enabling it would take."""
    lines = [_available_line(server) for server in answer.found]
    if not lines:
        lines.append("No server fits. Try other words for what it is for.")
    if answer.unread:
        lines.append(f"Not searched yet, still being read: {', '.join(answer.unread)}.")
    lines += answer.problems
    return visible("\n".join(lines))


def unsettled_text(earlier: Unsettled) -> str:
    """The remark beside a result that an earlier call of the same may have done its work too."""
    when = datetime.fromtimestamp(earlier.started_at, UTC).isoformat(" ", "seconds")
    return (
        f"Remark of Toolcrib: the same was called before ({when}, call {earlier.id}), and no answer came. If that call "
        "took effect, it has now happened twice. Look before you go on."
    )


def enabled_text(enabled: Enabled) -> str:
    """What enabling a server has brought."""
    few = ", ".join(enabled.tools[:_FEW])
    named = f", such as {few}" if len(enabled.tools) > _FEW else f": {few}" if few else ""
    return f"{enabled.id} is on, with {_tools(len(enabled.tools))}{named}. search_tools finds them now."


def details_text(tool: Tool, effect: Effect, *, changed: bool = False, seen: str = "") -> str:
    """A tool's full definition as one JSON object: its id, what a call of it may do, signature, an example call, and
    the definition with exactly the values that the server sent. What is hidden in it is written as escapes, and told.

    Args:
        tool: The tool.
        effect: What a call of it may do.
        changed: Whether it is known to have changed since it was first used.
        seen: The shape of an earlier result, which is told where the definition says nothing of results.
    """
    members = {
        "id": tool.id,
        "effect": effect,
        **definition_remarks(tool, changed=changed),
        "signature": tool_signature(tool),
        **({"seen_before": seen} if seen and tool.output_schema is None else {}),
        "example": {"name": tool.id, "arguments": example_call(tool.input_schema)},
        "definition": tool.definition,
    }
    return escape_hidden(compact(members))


def tool_signature(tool: Tool) -> str:
    """The tool's id with its parameters and result on one line."""
    return signature(tool.id, tool.input_schema, tool.output_schema)


def error_text(error: ToolcribError, *, longest: int | None = _SCHEMA_CHARACTERS) -> str:
    """An error as a model reads it; with wrong arguments, also the tool's signature and schema.

    Args:
        error: The error.
        longest: Most characters of a schema that is shown; None shows any.
    """
    if not isinstance(error, InvalidArgumentsError):
        return visible(str(error))
    tool = error.tool
    lines = [f"The arguments of {tool.id} are not valid, so nothing was called:"]
    lines += [f"- {problem.path or '/'}: {problem.message}" for problem in error.result.errors]
    lines.append(f"Signature: {tool_signature(tool)}")
    schema = escape_hidden(compact(tool.input_schema))
    if longest is None or len(schema) <= longest:
        lines.append(f"Schema: {schema}")
    else:
        lines.append(f"The schema is long; get_tool_details shows it: {tool.id}")
    return visible("\n".join(lines))


def text_result(text: str, *, is_error: bool = False) -> JsonObject:
    """A tool result of one text, in which half a surrogate pair, which has no UTF-8 form, becomes `?`."""
    sendable = text.encode("utf-8", "replace").decode()
    return {"content": [{"type": "text", "text": sendable}], "isError": is_error}


def _available_line(server: AvailableServer) -> str:
    known = "" if server.tools is None else f", {_tools(server.tools)}"
    if server.state != "not configured":
        state = f"{server.state}{known}"
    elif server.may_enable:
        state = "in a registry"
    else:
        state = f"in a registry; only the user can add it: toolcrib servers add {server.name}"
    about = first_sentence(server.description, BRIEF_CHARACTERS)
    take = f'  enable_server("{server.name}")' if server.may_enable else ""
    deprecated = ", deprecated" if server.deprecated else ""
    return f"{server.name} ({state}{deprecated}){f': {about}' if about else ''}{take}"


def _off_text(server: OffServer) -> str:
    fits = "may fit by its description" if server.tools is None else f"{_tools(server.tools)} may fit"
    return f'{server.id} (off): {fits}; enable_server("{server.id}")'


def _tools(count: int) -> str:
    return "1 tool" if count == 1 else f"{count} tools"


def _by_server(found: Iterable[FoundTool]) -> list[list[FoundTool]]:
    """The tools of each server together, servers in the order of their best hit."""
    groups: dict[str, list[FoundTool]] = {}
    for each in found:
        groups.setdefault(each.tool.server, []).append(each)
    return list(groups.values())


def _hit_text(found: FoundTool, detail: str, changed: bool) -> str:
    tool = found.tool
    if detail == "name":
        return tool.id
    if detail == "full":
        return details_text(tool, found.effect, changed=changed)
    about = first_sentence(tool.description, BRIEF_CHARACTERS) or tool.title
    head = tool_signature(tool) if detail == "signature" else tool.id
    # What nothing tells of is left out: it would stand at most tools of most servers.
    mark = "" if found.effect == "unknown" else f" [{found.effect}]"
    remarks = [f"[{each}]" for each in tool_remarks(tool, changed=changed)]
    return "\n  ".join(filter(None, (head + mark, about, *remarks)))


def _sources_text(sources: Iterable[SourceSummary]) -> str:
    if not sources:
        return "No servers are configured."
    lines: list[str] = []
    for source in sources:
        count = "not listed yet" if source.tools is None else f"{source.tools} tool{'' if source.tools == 1 else 's'}"
        about = f": {first_sentence(source.description, BRIEF_CHARACTERS)}" if source.description else ""
        lines.append(f"{source.id} ({count}){about}")
    return "\n".join(lines)
