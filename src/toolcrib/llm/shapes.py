"""Shapes that an endpoint can hold an answer to: JSON Schemas of the few keywords that all of their grammars know.

llama.cpp, vLLM, Ollama and LM Studio turn a schema into a grammar, and refuse the whole request for a keyword that
theirs does not know. What is left out here is not lost: calls are checked against the schema that the server sent.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from toolcrib.catalog import JsonObject

_KEPT = ("type", "enum", "const", "$ref", "minItems")
_FORMATS = ("date", "time", "date-time")
_DEEPEST = 24


def one_of(*alternatives: JsonObject) -> JsonObject:
    """The shape of one of several objects."""
    return alternatives[0] if len(alternatives) == 1 else {"anyOf": list(alternatives)}


def members(**properties: JsonObject) -> JsonObject:
    """The shape of an object that has exactly these members."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def names(choices: Sequence[str]) -> JsonObject:
    """The shape of one of these texts."""
    return {"type": "string", "enum": list(choices)}


def held_to(schema: Mapping[str, Any]) -> JsonObject:
    """The shape of arguments that a schema takes: its own properties and no others, whatever it lets in besides.

    Args:
        schema: A schema whose root is an object.
    """
    return {**_shape(schema, 0), "type": "object"}


def takes_nothing(schema: Mapping[str, Any]) -> bool:
    """Whether a schema names no property, so that there is nothing to ask for."""
    silent = {"properties", "$ref", "anyOf", "oneOf", "allOf", "patternProperties"}
    return not any(schema.get(keyword) for keyword in silent) and not isinstance(
        schema.get("additionalProperties"), dict
    )


def _shape(schema: Any, depth: int) -> JsonObject:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return {}
    given = cast("JsonObject", schema)
    kept: JsonObject = {keyword: given[keyword] for keyword in _KEPT if keyword in given}
    if given.get("format") in _FORMATS:
        kept["format"] = given["format"]
    for keyword in ("properties", "$defs", "definitions"):
        if isinstance(given.get(keyword), dict):
            named = cast("JsonObject", given[keyword])
            kept[keyword] = {name: _shape(value, depth + 1) for name, value in named.items()}
    if "items" in given:
        kept["items"] = _shape(given["items"], depth + 1)
    for keyword, written in (("anyOf", "anyOf"), ("oneOf", "anyOf"), ("allOf", "allOf")):
        if isinstance(given.get(keyword), list):
            kept[written] = [_shape(each, depth + 1) for each in cast("list[Any]", given[keyword])]
    return kept | _closed(given, kept, depth)


def _closed(given: JsonObject, kept: JsonObject, depth: int) -> JsonObject:
    """What else an object may have: nothing, where it says what it has; small models make names up."""
    if kept.get("properties"):
        required = [name for name in given.get("required") or () if name in kept["properties"]]
        return {"required": required, "additionalProperties": False}
    others = given.get("additionalProperties")
    return {"additionalProperties": _shape(others, depth + 1) if isinstance(others, dict) else others} if others else {}
