"""Definitions: schemas that are odd, definitions that are too large, and texts that change with time and place."""

import os
import re
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from toolcrib.catalog import Tool, definition_tokens, to_line
from toolcrib.doctor.finding import Finding, Level, listed
from toolcrib.errors import shown
from toolcrib.hidden import hidden_places, hidden_texts, kinds_of
from toolcrib.schema import UnusableSchemaError, compile_validator, is_object

MOST_TOKENS = 5_000
"""Tokens of one definition, which a model reads whole before it calls the tool."""

MOST_SERVER_TOKENS = 20_000
"""Tokens of all definitions of one server, which a client without Toolcrib sends with every request."""

_LEAST_NAME = 4
"""Characters of a folder or host name below which it would be found inside other words."""


def check_schemas(server: str, tools: Sequence[Tool]) -> Iterator[Finding]:
    """Whether the arguments and results of each tool can be checked; equal faults of several tools are one finding."""
    groups: dict[tuple[Level, str, str], list[str]] = {}
    for tool in tools:
        for fault in _schema_faults(tool):
            groups.setdefault(fault, []).append(tool.id)
    for (level, fault, hint), ids in groups.items():
        yield Finding("schema", level, server, f"{listed(ids)}: {fault}.", hint, tuple(ids) if len(ids) > 1 else ())


def _schema_faults(tool: Tool) -> Iterator[tuple[Level, str, str]]:
    try:
        validator = compile_validator(tool.input_schema)
    except UnusableSchemaError as error:
        yield "warning", f"the input schema can't be used: {error.reason}", "Calls go out unchecked. Tell its author."
    else:
        if validator.unchecked:
            places = listed(validator.unchecked)
            yield "note", f"patterns in no known dialect are not checked: {places}", "Tell its author."
    if tool.definition.get("inputSchema") is None:
        yield "note", "there is no input schema, though MCP demands one", "Tell its author."
    if tool.output_schema is None:
        return
    try:
        compile_validator(tool.output_schema, any_root=True)
    except UnusableSchemaError as error:
        yield "note", f"the output schema can't be used: {error.reason}", "Tell its author."
    else:
        if is_object(tool.output_schema) and tool.output_schema.get("type", "object") != "object":
            yield "note", "the output schema is not that of an object, which clients before 2026-07-28 refuse", ""


def check_hidden(server: str, tools: Sequence[Tool], about: str) -> Iterator[Finding]:
    """Whether anything that a model reads of a server holds text that people can't see.

    Args:
        server: The server's id.
        tools: Its tools.
        about: What is said of the server.
    """
    hint = "People can't see it, and models read it: ask its author what it is for, or do not use the server."
    values: dict[str, object] = {"its description": about}
    values |= {f"the definition of {tool.id}": tool.definition for tool in tools}
    for name, value in values.items():
        if places := hidden_places(value):
            spelled = [f"it spells {shown(each.spelled)}" for each in hidden_texts(value) if each.spelled]
            where = [f"{each.path or 'text'}: {', '.join(each.kinds)}" for each in places]
            message = f"{name[:1].upper()}{name[1:]} holds hidden text: {kinds_of(places)}."
            yield Finding("hidden", "warning", server, message, hint, (*where, *spelled))


def count_tools(tools: Sequence[Tool]) -> dict[str, int]:
    """The tokens of each tool's definition, by its id."""
    return {tool.id: definition_tokens(tool) for tool in tools}


def check_sizes(server: str, tokens: Mapping[str, int]) -> Iterator[Finding]:
    """Whether a definition, or all of a server together, is too large.

    Args:
        server: The server's id.
        tokens: Tokens of its definitions by tool id.
    """
    large = sorted((each for each in tokens.items() if each[1] > MOST_TOKENS), key=lambda each: -each[1])
    for tool, count in large:
        message = f"The definition of {tool} takes {count:,} tokens, more than {MOST_TOKENS:,}."
        yield Finding("size", "warning", server, message, "`toolcrib.deny` leaves out what is not needed.")
    total = sum(tokens.values())
    if total > MOST_SERVER_TOKENS:
        message = f"Its definitions take {total:,} tokens, more than {MOST_SERVER_TOKENS:,}."
        yield Finding("size", "note", server, message, "Behind Toolcrib they stay out of the context until asked for.")


@dataclass(frozen=True, slots=True)
class Here:
    """What a text that was made on this machine today may hold, and one made elsewhere or later would not.

    Attributes:
        texts: What to look for, by what it is.
    """

    texts: Mapping[str, re.Pattern[str]]

    @classmethod
    def now(cls) -> "Here":
        """This machine, today."""
        today = date.today()
        dates = [
            today.isoformat(),
            f"{today:%B} {today.day}, {today.year}",
            f"{today.day} {today:%B} {today.year}",
            f"{today.day} {today:%b} {today.year}",
            f"{today:%m/%d/%Y}",
        ]
        folders = [str(Path.home()), os.getcwd(), tempfile.gettempdir()]
        host = socket.gethostname()
        texts = {"today's date": _any_of(dates), "a folder of this machine": _any_of(_telling(folders))}
        if len(host) >= _LEAST_NAME and host.lower() != "localhost":
            texts["the name of this machine"] = _any_of([host])
        return cls(texts)


def _telling(folders: Sequence[str]) -> list[str]:
    """Folders that say something about a machine: `/tmp` and `/root` are found in examples everywhere."""
    return [folder for folder in folders if len(Path(folder).parts) > 2]


def _any_of(texts: Sequence[str]) -> re.Pattern[str]:
    spelled = sorted({spelling for text in texts for spelling in (text, text.replace("\\", "\\\\"))}, key=len)
    alternatives = "|".join(re.escape(text) for text in reversed(spelled)) or r"(?!)"
    return re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])")


def check_texts(server: str, tools: Sequence[Tool], here: Here) -> Iterator[Finding]:
    """Whether definitions hold what is other tomorrow or on another machine, and so miss the prompt cache there."""
    found: dict[str, list[str]] = {}
    for tool in tools:
        text = to_line(tool.definition).decode()
        for what, pattern in here.texts.items():
            if pattern.search(text):
                found.setdefault(what, []).append(tool.id)
    for what, ids in found.items():
        level: Level = "warning" if what == "today's date" else "note"
        message = f"{listed(ids)}: the definition holds {what}."
        hint = "A client that sends it to a model loses the prompt cache when that changes; Toolcrib's tools stay."
        yield Finding("cache", level, server, message, hint, tuple(ids) if len(ids) > 1 else ())
