"""Finding one's way in a schema: references inside the document, and what applies at one place."""

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from toolcrib.schema.jsonvalues import JsonObject, is_array, is_object, objects, pointer

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
IN_PLACE = ("allOf", "anyOf", "oneOf")
MOST_STEPS = 256
"""Schemas looked at for one place at most; more means that a schema goes in circles."""

Place = tuple[str, Any]
"""A JSON Pointer into the document, and the schema there."""

_latest: tuple[JsonObject, dict[str, Place]] | None = None
# the anchors of the document looked at last: they are asked for one by one, and finding them takes a walk through it


def resolve(root: object, reference: object) -> Place | None:
    """What a reference inside the document points to, or None: outside, dangling, or no reference.

    Understands `#`, `#/a/pointer`, `#anchor`, and these behind the document's own `$id`.
    """
    if not isinstance(reference, str) or not is_object(root):
        return None
    base, _, fragment = reference.partition("#")
    own = root.get("$id", root.get("id", ""))
    if base and base != (own.partition("#")[0] if isinstance(own, str) else ""):
        return None
    if fragment and not fragment.startswith("/"):
        return _anchored(root, unquote(fragment))
    for text in dict.fromkeys((fragment, unquote(fragment))):
        parts = [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]
        found = descend(root, parts)
        if found is not None:
            return pointer(parts), found[0]
    return None


def descend(node: object, parts: Iterable[str | int]) -> tuple[Any] | None:
    """The value at the end of a path of keys and indices, in a tuple; None where there is none."""
    for part in parts:
        if is_object(node) and str(part) in node:
            node = node[str(part)]
        elif is_array(node) and str(part).isdecimal() and int(part) < len(node):
            node = node[int(part)]
        else:
            return None
    return (node,)


def walk(root: object, path: Iterable[str | int], start: Place | None = None) -> Place | None:
    """Follow an evaluation path: as `descend`, but a `$ref` in it leads to what it refers to.

    Args:
        root: The document.
        path: Keywords, names and indices, as `jsonschema_rs` reports them.
        start: Where the path begins; None is the root.
    """
    where, node = start or ("", root)
    for part in path:
        if part in REFERENCES and is_object(node) and isinstance(node.get(str(part)), str):
            place = resolve(root, node[str(part)])
            if place is None:
                return None
            where, node = place
            continue
        found = descend(node, (part,))
        if found is None:
            return None
        where, node = where + pointer((part,)), found[0]
    return where, node


def in_place(root: object, node: object, branches: bool = True) -> Iterator[JsonObject]:
    """The schemas that speak about the same value as `node`: itself, what it refers to, its `allOf`.

    Args:
        root: The document, for references.
        node: A schema.
        branches: Whether the alternatives belong to it: `anyOf`, `oneOf`, `then`, `else`.
    """
    keywords = IN_PLACE if branches else ("allOf",)
    seen: set[int] = set()
    waiting: list[object] = [node]
    while waiting and len(seen) < MOST_STEPS:
        current = waiting.pop(0)
        if not is_object(current) or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        for name in REFERENCES:
            if name in current and (place := resolve(root, current[name])):
                waiting.append(place[1])
        for name in keywords:
            members = current.get(name)
            if is_array(members):
                waiting.extend(members)
        if branches:
            waiting.extend(current[name] for name in ("then", "else") if name in current)


def declared(root: object, node: object) -> dict[str, Any]:
    """The properties that a schema names at one place, with their schemas, in the order written."""
    found: dict[str, Any] = {}
    for schema in in_place(root, node):
        properties = schema.get("properties")
        if is_object(properties):
            for name, schema_of_it in properties.items():
                found.setdefault(name, schema_of_it)
    return found


def types(node: JsonObject) -> tuple[str, ...]:
    """The names under `type`, which may be one or a list; empty where it is missing."""
    named = node.get("type")
    if isinstance(named, str):
        return (named,)
    return tuple(name for name in named if isinstance(name, str)) if is_array(named) else ()


def _anchored(root: JsonObject, name: str) -> Place | None:
    global _latest
    latest = _latest
    if latest is None or latest[0] is not root:
        latest = _latest = (root, _anchors(root))
    return latest[1].get(name)


def _anchors(root: JsonObject) -> dict[str, Place]:
    """What each anchor of a document names; of equal ones, the first."""
    found: dict[str, Place] = {}
    for path, node in objects(root):
        own = node.get("$id")
        plain = own[1:] if isinstance(own, str) and own.startswith("#") else None
        for name in (node.get("$anchor"), node.get("$dynamicAnchor"), plain):
            if isinstance(name, str):
                found.setdefault(name, (pointer(path), node))
    return found
