"""The demo's story: what a model does with Toolcrib, told by real answers and real figures."""

import base64
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from toolcrib.broker import content_of, text_of
from toolcrib.catalog import JsonObject, Tool
from toolcrib.cli.costs import Costs
from toolcrib.crib import Crib
from toolcrib.metatools import CALL_TOOL, GET_TOOL_DETAILS, RUN_CODE, SEARCH_TOOLS, MetaTools, tool_signature
from toolcrib.metatools.metatools import CHANGES_META
from toolcrib.schema import first_sentence
from toolcrib.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

_PNG = b"\x89PNG\r\n\x1a\n"
_WIDTH = 110


@dataclass(frozen=True, slots=True)
class Chapter:
    """One chapter of the story.

    Attributes:
        key: Its name for a program.
        title: Its heading.
        asked: What the model sends; None where it sends nothing.
        lines: What comes of it.
        figures: The same for a program.
    """

    key: str
    title: str
    asked: str | None
    lines: "Sequence[str]"
    figures: Mapping[str, Any]


@dataclass(slots=True)
class Model:
    """Stands for a model: asks through the constant tools, and counts the tokens of what it says and reads.

    Attributes:
        tools: The constant tools.
        tokens: Tokens of all calls and answers so far.
    """

    tools: MetaTools
    tokens: int = 0
    asked: str = field(default="", init=False)

    async def ask(self, tool: str, arguments: JsonObject) -> JsonObject:
        """Call one of the constant tools and return the result."""
        self.asked = f"{tool}({json.dumps(arguments, ensure_ascii=False)})"
        result = await self.tools.call(tool, arguments)
        texts = [str(block.get("text", "")) for block in content_of(result)]
        self.tokens += count_tokens(self.asked) + sum(count_tokens(text) for text in texts)
        return result

    async def call(self, tool_id: str, arguments: JsonObject) -> JsonObject:
        """Call a tool of a server and return the result."""
        return await self.ask(CALL_TOOL, {"name": tool_id, "arguments": arguments})


def surface(costs: Costs, constant: int) -> Chapter:
    """The first chapter: what a model has in its context before it does anything."""
    lines = [
        f"{len(costs.servers)} servers offer {len(costs.tools):,} tools. With every request, a client sends the model",
        f"  all definitions:                   {costs.total:>8,} tokens",
        f"  or Toolcrib's {constant} constant tools:    {costs.surface:>8,} tokens",
    ]
    if costs.saved > 0:
        lines.append(f"That is {costs.saved_percent} less, and a thousand more tools add nothing to it.")
    else:
        lines.append(f"With so few tools that saves nothing; it does from {costs.pays_from} tools of this size.")
    return Chapter("surface", "What the model sees up front", None, lines, costs.to_json())


async def search(model: Model, query: str) -> Chapter:
    """The chapter of the search."""
    before = model.tokens
    result = await model.ask(SEARCH_TOOLS, {"query": query})
    text = text_of(result)
    found = [line.partition("(")[0] for line in text.splitlines() if line and not line.startswith(" ")]
    cost = model.tokens - before
    lines = [*_first(text, 6), f"({cost} tokens)"]
    return Chapter(
        "search", "It searches in its own words", model.asked, lines, {"query": query, "found": found, "tokens": cost}
    )


async def details(model: Model, tool: Tool) -> Chapter:
    """The chapter of the definition."""
    before = model.tokens
    await model.ask(GET_TOOL_DETAILS, {"name": tool.id})
    cost = model.tokens - before
    lines = [
        *_first(tool_signature(tool), 1),
        *_first(first_sentence(tool.description, _WIDTH), 1),
        f"… schemas, annotations and an example ({cost} tokens)",
    ]
    return Chapter("details", "It reads that one definition", model.asked, lines, {"tool": tool.id, "tokens": cost})


async def call(model: Model, tool_id: str, arguments: JsonObject) -> Chapter:
    """The chapter of the call."""
    result = await model.call(tool_id, arguments)
    lines = _first(text_of(result), 3)
    return Chapter(
        "call",
        "It calls the tool by its id",
        model.asked,
        lines,
        {"tool": tool_id, "is_error": bool(result.get("isError"))},
    )


async def demo_story(crib: Crib, model: Model) -> AsyncIterator[Chapter]:
    """The chapters on the demo servers after the first."""
    free = "calendar.find_free_slots"
    yield await search(model, "find a time when two people are free")
    yield await details(model, await crib.tool(free))
    week: JsonObject = {"from": "2026-03-16T09:00:00Z", "to": "2026-03-20T17:00:00Z"}
    people: JsonObject = {"calendars": ["noor", "ines"], **week}
    yield await call(model, free, {**people, "duration_minutes": 90, "limit": 2})
    yield await _mended(model, free, {**people, "duration_minutes": "90", "limit": "1"})
    yield await _corrected(model)
    yield await _whole(model)
    yield await _script(model)
    yield await _half_way(model)


async def own_story(crib: Crib, model: Model, costs: Costs) -> AsyncIterator[Chapter]:
    """The chapters on the reader's own servers after the first: nothing is called but what may be."""
    tool = _example(crib, costs)
    yield await search(model, first_sentence(tool.description, 80) or tool.name)
    yield await details(model, tool)
    if _harmless(tool):
        yield await call(model, tool.id, {})


async def _mended(model: Model, tool_id: str, arguments: JsonObject) -> Chapter:
    result = await model.call(tool_id, arguments)
    notes: JsonObject = result.get("_meta") or {}
    changes: list[str] = list(notes.get(CHANGES_META, ()))
    lines = [
        "Numbers as text: what can't be meant otherwise is mended, and said.",
        *changes,
        *_first(text_of(result), 1),
    ]
    return Chapter(
        "mended", "It errs a little", model.asked, lines, {"changes": changes, "is_error": bool(result.get("isError"))}
    )


async def _corrected(model: Model) -> Chapter:
    tool_id = "tickets.create_ticket"
    wrong = {"project": "WEB", "title": "Invoice shows the wrong year", "severity": "critical"}
    refused = await model.call(tool_id, wrong)
    asked = model.asked
    right: JsonObject = {"project": "WEB", "title": wrong["title"], "priority": "urgent", "reporter": "noor"}
    result = await model.call(tool_id, right)
    told = text_of(refused)
    problems = [line for line in told.splitlines() if line.startswith("- ")]
    lines = [*_first(told, 4), "… and the schema, so the next call is right:", model.asked, *_first(text_of(result), 1)]
    figures = {"problems": problems, "refused": bool(refused.get("isError")), "is_error": bool(result.get("isError"))}
    return Chapter("corrected", "It errs badly, and nothing is sent", asked, lines, figures)


async def _whole(model: Model) -> Chapter:
    bars = [{"label": "open", "value": 21}, {"label": "in review", "value": 5}, {"label": "done", "value": 34}]
    result = await model.call("files.render_chart", {"title": "Tickets", "bars": bars})
    structure: JsonObject = result.get("structuredContent") or {}
    images = [block for block in content_of(result) if block.get("type") == "image"]
    content = base64.b64decode(images[0]["data"]) if images else b""
    intact = content.startswith(_PNG) and len(content) == structure.get("bytes")
    lines = [
        text_of(result),
        f"An image stays an image: {len(content):,} bytes of {images[0]['mimeType'] if images else 'nothing'}, "
        f"{'as many as the server says' if intact else 'not what the server says'};",
        f"structured content beside it: {json.dumps(structure, ensure_ascii=False)}",
    ]
    return Chapter(
        "whole", "What comes back stays whole", model.asked, lines, {"bytes": len(content), "intact": intact}
    )


async def _script(model: Model) -> Chapter:
    code = """for project in (await tickets.list_projects())["projects"]:
    found = await tickets.search_tickets(project=project["key"], priority=["urgent"], limit=50)
    print(project["key"], [ticket["id"] for ticket in found["tickets"]])"""
    before = model.tokens
    result = await model.ask(RUN_CODE, {"code": code})
    cost = model.tokens - before
    lines = [*code.splitlines(), "It prints, after 4 calls whose results the model never saw:"]
    lines += [*_first(text_of(result), 3), f"({cost} tokens)"]
    figures = {"tokens": cost, "is_error": bool(result.get("isError"))}
    return Chapter("script", "It writes one script in place of many calls", f"{RUN_CODE}(…)", lines, figures)


async def _half_way(model: Model) -> Chapter:
    code = """note = await notes.create_note(title="Urgent", body="WEB-10 first")
await tickets.add_comment(ticket="WEB-99", author="noor", body=f"see note {note['id']}")"""
    failed = text_of(await model.ask(RUN_CODE, {"code": code}))
    run = failed.rpartition('retry_of="')[2].partition('"')[0]
    again = await model.ask(RUN_CODE, {"code": code.replace("WEB-99", "WEB-10"), "retry_of": run})
    lines = [*code.splitlines(), "It is told what was done:", *_first(failed, 6)]
    lines += ["The same for WEB-10, with retry_of; the note is not made twice:", *text_of(again).splitlines()[-3:]]
    made = await model.call("notes.search_notes", {"query": "Urgent"})
    structure: JsonObject = made.get("structuredContent") or {}
    figures = {"run": run, "is_error": bool(again.get("isError")), "notes": len(structure.get("notes") or ())}
    return Chapter("half_way", "A script dies half-way", f"{RUN_CODE}(…)", lines, figures)


def _example(crib: Crib, costs: Costs) -> Tool:
    """A tool that shows the most: one that may be called if there is any, of the largest server else."""
    known = crib.known_tools()
    harmless = next((tool for tool in known if _harmless(tool)), None)
    if harmless is not None:
        return harmless
    largest = max(costs.servers, key=lambda server: costs.servers[server])
    return next(tool for tool in known if tool.server == largest)


def _harmless(tool: Tool) -> bool:
    """Whether a tool says that it only reads, and needs no arguments."""
    schema: object = tool.input_schema
    reads = tool.annotations.get("readOnlyHint") is True
    return reads and isinstance(schema, dict) and not cast("JsonObject", schema).get("required")


def _first(text: str, count: int) -> list[str]:
    """The first lines of a text, each cut to what fits."""
    lines = text.splitlines()
    cut = [line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…" for line in lines[:count]]
    more = len(lines) - count
    return [*cut, f"… {more} more line{'s' if more > 1 else ''}"] if more > 0 else cut
