"""From a tool to the texts that are searched, field by field."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from toolcrib.catalog.tool import Tool
from toolcrib.search.base import ServerDocs

GROUPS_KEY = "io.modelcontextprotocol/groups"
"""Where SEP-2084 has a tool name the groups that it belongs to."""

WEIGHTS: Mapping[str, float] = {
    "name": 3,
    "first": 1.5,
    "rest": 1,
    "params": 1,
    "server": 2,
    "param_text": 0.5,
    "enums": 0.5,
    "server_text": 0.5,
    "output": 0.5,
    "tags": 1,
}
"""The fields in the order of the index, and how much a word in each counts."""

FIELDS_VERSION = 2
"""Changes whenever the same tool may give other texts."""

_LONGEST_TEXT = 20_000
_MOST_NODES = 2_000
_DEEPEST = 24
_MOST_ENUM_VALUES = 30

_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？]|\n\s*\n")
_NESTED_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NESTED_MAPS = ("$defs", "definitions", "patternProperties", "dependentSchemas")
_NESTED = ("items", "additionalProperties", "if", "then", "else", "contains", "propertyNames")


@dataclass(frozen=True, slots=True)
class SchemaWords:
    """What of a schema can be searched: property names, descriptions and enum values, nested ones too."""

    names: list[str]
    texts: list[str]
    enums: list[str]


def first_sentence(text: str) -> tuple[str, str]:
    """A description's first sentence, and the rest."""
    text = text.strip()
    end = _SENTENCE_END.search(text)
    return (text, "") if end is None else (text[: end.end()], text[end.end() :])


def tool_texts(tool: Tool) -> dict[str, str]:
    """The texts of a tool's own fields, by field; `server` and `server_text` are `server_texts`'."""
    first, rest = first_sentence(tool.description[:_LONGEST_TEXT])
    given = schema_words(tool.input_schema)
    made = schema_words(tool.output_schema)
    return {
        "name": tool.name,
        "title": tool.title,
        "first": first,
        "rest": rest,
        "params": _joined(given.names),
        "param_text": _joined(given.texts),
        "enums": _joined(given.enums),
        "output": _joined([*made.names, *made.texts]),
        "tags": _joined(_tags(tool)),
    }


def server_texts(server: ServerDocs) -> dict[str, str]:
    """The texts that every tool of a server shares, by field."""
    return {
        "server": server.id,
        "server_text": _joined([server.title, server.description, server.instructions]),
        "tags": _joined(server.tags),
    }


def schema_words(schema: object) -> SchemaWords:
    """The searchable words of a JSON schema; a schema of any shape gives what it has, within bounds."""
    words = SchemaWords([], [], [])
    for node in islice(_nodes(schema), _MOST_NODES):
        properties = node.get("properties")
        if isinstance(properties, dict):
            words.names.extend(str(name) for name in cast("dict[object, object]", properties))
        description = node.get("description")
        if isinstance(description, str):
            words.texts.append(description[:_LONGEST_TEXT])
        values = node.get("enum")
        if isinstance(values, list):
            listed = cast("list[object]", values)[:_MOST_ENUM_VALUES]
            words.enums.extend(value for value in listed if isinstance(value, str))
    return words


def _nodes(schema: object) -> Iterator[Mapping[str, Any]]:
    """The schema objects inside a schema, itself first; references need no following, their targets are inside."""
    waiting: list[tuple[object, int]] = [(schema, 0)]
    while waiting:
        value, depth = waiting.pop()
        if not isinstance(value, dict) or depth > _DEEPEST:
            continue
        node = cast("dict[str, Any]", value)
        yield node
        inside: list[object] = [node[key] for key in _NESTED if key in node]
        for key in ("properties", *_NESTED_MAPS):
            if isinstance(held := node.get(key), dict):
                inside.extend(cast("dict[str, object]", held).values())
        for key in _NESTED_LISTS:
            if isinstance(held := node.get(key), list):
                inside.extend(cast("list[object]", held))
        waiting.extend((child, depth + 1) for child in reversed(inside))


def _tags(tool: Tool) -> Iterator[str]:
    """Groups as SEP-2084 has them, and tags as FastMCP sends them in `_meta.fastmcp` (once `_fastmcp`)."""
    yield from _strings(tool.meta.get(GROUPS_KEY))
    for key in ("fastmcp", "_fastmcp"):
        if isinstance(held := tool.meta.get(key), dict):
            yield from _strings(cast("dict[str, object]", held).get("tags"))


def _strings(value: object) -> Iterable[str]:
    return [v for v in cast("list[object]", value) if isinstance(v, str)] if isinstance(value, list) else []


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text)[:_LONGEST_TEXT]
