"""A tool on one line, as a model reads it: `create_issue(title: str, body?: str) -> {id: int}`."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from toolcrib.schema.ids import parameter_identifiers
from toolcrib.schema.jsonvalues import JsonObject, is_array, is_object, shown
from toolcrib.schema.refs import declared, in_place, resolve, types

SIGNATURE_LENGTH = 400
"""Characters of a signature at most."""
MOST_PARAMETERS = 1_000
"""Parameters whose identifiers are told apart."""
MOST_DEPTH = 2
"""Objects inside objects that are spelled out."""
MOST_NESTED = 24
"""Schemas inside schemas that are looked into, arrays and references too."""
MOST_OPTIONS = 6
"""Values of an enum that are named."""
MOST_FORMS = 5
"""Alternatives of a union that are named."""
OPTION_LENGTH = 40
"""Characters of one value of an enum that are shown."""
NAMES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "array": "list",
    "object": "dict",
}


def signature(name: str, input_schema: object, output_schema: object = None, limit: int = SIGNATURE_LENGTH) -> str:
    """A tool with its parameters and result on one line of bounded length.

    Parameters stand by their identifier, required ones first. What would be too long is shown with less
    depth, then without the result's members; at last parameters are left out from the end and counted.

    Args:
        name: The tool's id, or any name.
        input_schema: The schema of the arguments, whatever it is.
        output_schema: The schema of the structured result; None when there is none.
        limit: Characters at most.
    """
    for depth, result_depth in ((MOST_DEPTH, MOST_DEPTH), (MOST_DEPTH, 1), (1, 1), (1, 0), (0, 0)):
        parameters, left = _parameters(input_schema, depth, limit)
        result = "" if output_schema is None else f" -> {_Types(output_schema, result_depth, limit).of(output_schema)}"
        text = f"{name}({', '.join(parameters)}){result}"
        if len(text) <= limit and not left:
            return text
    return _cut(name, parameters, left, result, limit)


def type_name(schema: object, root: object = None, depth: int = MOST_DEPTH, limit: int = SIGNATURE_LENGTH) -> str:
    """A schema as a type: `str`, `list[int]`, `"open"|"closed"`, `{id: int, url?: str}`, `any`.

    Args:
        schema: The schema.
        root: The document that its references are looked up in; None is the schema itself.
        depth: How many objects inside objects to spell out.
        limit: Characters about at which the text is cut short.
    """
    return _Types(schema if root is None else root, depth, limit).of(schema)


def _parameters(schema: object, depth: int, limit: int) -> tuple[list[str], int]:
    """Each parameter as `name: type`, more than fit at most, and how many are left.

    `…` alone where the schema doesn't say what there is.
    """
    if schema is True or not is_object(schema):
        return ["…"], 0
    properties = declared(schema, schema)
    required = _required(schema, schema)
    order = sorted(properties, key=lambda name: name not in required)
    renamed = parameter_identifiers(order[:MOST_PARAMETERS])
    kinds = _Types(schema, depth, limit)
    texts: list[str] = []
    length = 0
    for name, identifier in renamed.items():
        if length > limit:
            break
        texts.append(f"{identifier}{'' if name in required else '?'}: {kinds.of(properties[name], 1)}")
        length += len(texts[-1]) + 2
    others = schema.get("additionalProperties", types(schema) != ("object",))
    return (texts, len(properties) - len(texts)) if texts or others is False else (["…"], 0)


def _cut(name: str, parameters: list[str], more: int, result: str, limit: int) -> str:
    """The signature with as many parameters as fit, and how many more there are."""
    room = limit - len(name) - len(result) - len("(, … 000 more)")
    kept: list[str] = []
    for parameter in parameters:
        room -= len(parameter) + 2
        if room < 0:
            break
        kept.append(parameter)
    left = len(parameters) - len(kept) + more
    text = f"{name}({', '.join([*kept, f'… {left} more'])}){result}"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


class _Types:
    """Renders the schemas of one document as types."""

    def __init__(self, root: object, depth: int, limit: int) -> None:
        self._root = root
        self._depth = depth
        self._room = 4 * limit
        self._open: list[int] = []

    def of(self, schema: object, level: int = 0) -> str:
        """The type that a schema describes.

        Args:
            schema: The schema.
            level: How many objects are around it.
        """
        if schema is False:
            return "never"
        if not is_object(schema):
            return "any"
        if id(schema) in self._open or len(self._open) > MOST_NESTED or self._room < 0:
            return _outline(schema)
        self._open.append(id(schema))
        try:
            text = self._text(schema, level)
        finally:
            self._open.pop()
        self._room -= len(text)
        return text

    def _text(self, schema: JsonObject, level: int) -> str:
        if "const" in schema:
            return _literal(schema["const"])
        options = schema.get("enum")
        if is_array(options) and options:
            return _options(options)
        place = resolve(self._root, schema.get("$ref"))
        if place:
            return self.of(place[1], level)
        for keyword in ("anyOf", "oneOf"):
            forms = schema.get(keyword)
            if is_array(forms) and forms and not is_object(schema.get("properties")):
                return _union(self.of(form, level) for form in forms)
        parts = list(in_place(self._root, schema, branches=False))
        if len(parts) > 1 and not any("properties" in part for part in parts):
            known = [text for part in parts[1:] if (text := self.of(part, level)) != "any"]
            if known and not types(schema):
                return known[0]
        named = types(schema)
        if not named:
            if any("properties" in part for part in parts):
                named = ("object",)
            elif "items" in schema or "prefixItems" in schema:
                named = ("array",)
            else:
                return "any"
        return _union(self._one(kind, schema, level) for kind in named)

    def _one(self, kind: str, schema: JsonObject, level: int) -> str:
        if kind == "array":
            return self._array(schema, level)
        if kind == "object":
            return self._object(schema, level)
        return NAMES.get(kind, "any")

    def _array(self, schema: JsonObject, level: int) -> str:
        items = schema.get("items", schema.get("prefixItems"))
        if is_array(items):
            inner = _union(self.of(item, level) for item in items)
        elif items is None:
            return "list"
        else:
            inner = self.of(items, level)
        return "list" if inner == "any" else f"list[{inner}]"

    def _object(self, schema: JsonObject, level: int) -> str:
        properties = declared(self._root, schema)
        if not properties:
            others = schema.get("additionalProperties")
            inner = self.of(others, level) if is_object(others) else "any"
            return "dict" if inner == "any" else f"dict[str, {inner}]"
        if level >= self._depth:
            return "dict"
        required = _required(self._root, schema)
        members: list[str] = []
        for name in sorted(properties, key=lambda name: name not in required):
            if self._room < 0:
                members.append("…")
                break
            key = name if name.isidentifier() else json.dumps(name, ensure_ascii=False)
            mark = "" if name in required else "?"
            members.append(f"{key}{mark}: {self.of(properties[name], level + 1)}")
        return f"{{{', '.join(members)}}}"


def _outline(schema: JsonObject) -> str:
    """What a schema is at first sight, where there is no room to look into it."""
    named = types(schema)
    return "|".join(NAMES.get(kind, "any") for kind in named) if named else "any"


def _options(options: list[Any]) -> str:
    texts = [_literal(option) for option in options[:MOST_OPTIONS]]
    return "|".join([*dict.fromkeys(texts), *(["…"] if len(options) > MOST_OPTIONS else [])])


def _literal(value: object) -> str:
    return "None" if value is None else shown(value, OPTION_LENGTH)


def _union(texts: Iterable[str]) -> str:
    forms = list(dict.fromkeys(_alternatives(texts)))
    if "any" in forms:
        return "any"
    forms.sort(key=lambda form: form == "None")
    if len(forms) > MOST_FORMS:
        forms = [*forms[:MOST_FORMS], "…"]
    return "|".join(forms) or "any"


def _alternatives(texts: Iterable[str]) -> Iterator[str]:
    """The alternatives, each once, with those of an inner union that is only of plain names."""
    for text in texts:
        parts = text.split("|")
        yield from parts if all(part.isidentifier() for part in parts) else (text,)


def _required(root: object, schema: object) -> set[str]:
    """What must be there in any case: not what only one alternative asks for."""
    names: set[str] = set()
    for part in in_place(root, schema, branches=False):
        listed = part.get("required")
        if is_array(listed):
            names.update(name for name in listed if isinstance(name, str))
    return names
