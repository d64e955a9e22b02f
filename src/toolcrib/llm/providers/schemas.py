"""Schemas of tools as vendors take them: one that a vendor refuses would cost the whole request.

What is lost here is not lost to validation: calls are checked against the schema that the server sent, and a call
that does not fit is answered with it.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from toolcrib.catalog import JsonObject
from toolcrib.schema import parameter_identifiers

_COMBINATORS = ("oneOf", "anyOf", "allOf")
_REFUSED_AT_ROOT = (*_COMBINATORS, "enum", "const", "not", "if", "then", "else")
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_NAME = re.compile(r"[^A-Za-z0-9_-]")
_HOLD_ONE = ("items", "additionalProperties", "contains", "not", "if", "then", "else")
_HOLD_LISTS = (*_COMBINATORS, "prefixItems")
_HOLD_NAMED = ("properties", "patternProperties", "$defs", "definitions")
_DEEPEST = 100


def rooted(schema: Mapping[str, Any]) -> JsonObject:
    """A schema whose root is a plain object, as Anthropic and OpenAI demand.

    Alternatives at the root become one object with the properties of all of them. Properties whose names are
    refused get the identifiers by which calls may name them too.
    """
    result: JsonObject = {key: value for key, value in schema.items() if key not in _REFUSED_AT_ROOT}
    result["type"] = "object"
    properties: JsonObject = {}
    for part in _parts(schema, schema, 0):
        found = part.get("properties")
        if isinstance(found, dict):
            for name, value in cast("JsonObject", found).items():
                properties.setdefault(name, value)
    if properties or "properties" in result:
        result["properties"] = properties
    _rename(result)
    return result


def itemised(schema: Mapping[str, Any]) -> JsonObject:
    """A schema in which every array says that it has items, of any kind where nothing was said, as OpenAI demands."""
    return _itemised(schema, 0)


def _itemised(schema: Any, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return cast("Any", schema)
    result = dict(cast("Mapping[str, Any]", schema))
    for keyword, value in result.items():
        if keyword in _HOLD_ONE:
            result[keyword] = _itemised(value, depth + 1)
        elif keyword in _HOLD_LISTS and isinstance(value, list):
            result[keyword] = [_itemised(each, depth + 1) for each in cast("list[Any]", value)]
        elif keyword in _HOLD_NAMED and isinstance(value, dict):
            named = cast("JsonObject", value)
            result[keyword] = {name: _itemised(each, depth + 1) for name, each in named.items()}
    kind = result.get("type")
    if (kind == "array" or (isinstance(kind, list) and "array" in kind)) and "items" not in result:
        result["items"] = {}
    return result


def clean_name(name: str) -> str:
    """A tool's name as every vendor takes it in a conversation's history."""
    return _NAME.sub("_", name)[:64] or "_"


def clean_id(call_id: str) -> str:
    """A call's id as every vendor takes it."""
    return _NAME.sub("_", call_id)[:40] or "_"


def _parts(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]]:
    """The schema and its alternatives, also behind references inside the document."""
    if depth > 8:
        return []
    parts = [schema]
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target = _at(root, reference)
        if target is not None and target is not schema:
            parts += _parts(target, root, depth + 1)
    for keyword in _COMBINATORS:
        branches = schema.get(keyword)
        if isinstance(branches, list):
            for branch in cast("list[Any]", branches):
                if isinstance(branch, dict):
                    parts += _parts(cast("JsonObject", branch), root, depth + 1)
    return parts


def _at(root: Mapping[str, Any], reference: str) -> Mapping[str, Any] | None:
    value: Any = root
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or key not in value:
            return None
        value = cast("JsonObject", value)[key]
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _rename(schema: JsonObject) -> None:
    """Give properties whose names are refused the identifiers by which calls may name them too."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    named = cast("JsonObject", properties)
    if all(_KEY.fullmatch(name) for name in named):
        return
    spelled = {
        name: name if _KEY.fullmatch(name) else identifier for name, identifier in parameter_identifiers(named).items()
    }
    sendable = {name: other for name, other in spelled.items() if _KEY.fullmatch(other)}
    schema["properties"] = {sendable[name]: value for name, value in named.items() if name in sendable}
    required = schema.get("required")
    if isinstance(required, list):
        names = cast("list[Any]", required)
        schema["required"] = [sendable[name] for name in names if isinstance(name, str) and name in sendable]
