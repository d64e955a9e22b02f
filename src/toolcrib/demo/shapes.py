"""Short spellings for the JSON Schemas of the demo tools."""

from collections.abc import Sequence
from typing import Any

Schema = dict[str, Any]


def arguments(properties: dict[str, Schema], required: Sequence[str] = ()) -> Schema:
    """An object of which only `required` must be given and nothing else may be added."""
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return {**schema, "additionalProperties": False}


def record(properties: dict[str, Schema]) -> Schema:
    """An object that always has every one of `properties` and no other."""
    return arguments(properties, list(properties))


def text(description: str = "", **more: Any) -> Schema:
    """A string."""
    return _described("string", description, more)


def integer(description: str = "", **more: Any) -> Schema:
    """A whole number."""
    return _described("integer", description, more)


def number(description: str = "", **more: Any) -> Schema:
    """A number."""
    return _described("number", description, more)


def flag(description: str = "", **more: Any) -> Schema:
    """A boolean."""
    return _described("boolean", description, more)


def choice(values: Sequence[str], description: str = "", **more: Any) -> Schema:
    """A string out of a fixed set."""
    return _described("string", description, {"enum": list(values), **more})


def many(items: Schema, description: str = "", **more: Any) -> Schema:
    """An array."""
    return _described("array", description, {"items": items, **more})


def nullable(schema: Schema) -> Schema:
    """The same, or null."""
    widened = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        widened["enum"] = [*schema["enum"], None]
    return widened


def _described(kind: str, description: str, more: dict[str, Any]) -> Schema:
    schema: Schema = {"type": kind, **more}
    return {**schema, "description": description} if description else schema
