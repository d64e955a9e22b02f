"""How much work a schema with references may make of one value, before any value is checked."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from toolcrib.schema.jsonvalues import JsonObject, is_array, is_object, nodes
from toolcrib.schema.refs import REFERENCES, Place, resolve

LISTS_IN_PLACE = ("allOf", "anyOf", "oneOf")
ONE_IN_PLACE = ("not", "if", "then", "else")
MAPS_IN_PLACE = ("dependentSchemas", "dependencies")
EVERY_PROPERTY = ("additionalProperties", "unevaluatedProperties")
EVERY_ITEM = ("contains", "unevaluatedItems", "additionalItems")
MOST_NESTED = 1000
"""Schemas inside each other while one value is checked: the engine recurses, and half as many again as
twice this end a thread with a stack of 512 kB, the default on macOS."""
MOST_WORK = 40_000
"""Steps of following references in one document before giving up (some 30 ms)."""
MANY = 100
"""Options or names in a schema that don't make its errors dearer than others."""
MOST_CHAINED = 200
"""Schemas that apply to one value through each other at most."""

Slot = tuple[int, frozenset[tuple[int, int]]]
"""Of the schemas that apply to one value inside: how many say nothing about what is inside that again, and the
others with how often each applies."""


class TooIntricateError(Exception):
    """A schema's references go in circles, or are too many to follow; its text says so, for a person."""


def costs(schema: JsonObject, limit: int, small: int) -> tuple[int, ...]:
    """For each depth of a value, from 0 on, how often one place in it and what is below it are evaluated.

    A bound from above: at each level the most expensive property counts, with all alternatives that
    speak about it together. The depths end before one that would need a chain of more than `MOST_NESTED`
    schemas inside each other.

    Args:
        schema: The document.
        limit: The greatest depth of interest.
        small: A cost that need not be known more exactly.

    Raises:
        TooIntricateError: References go in circles without going into the value, or are too many.
    """
    graph = _Graph(schema)
    cost, length = graph.rough(limit)
    if cost <= small and length <= MOST_NESTED:
        return (int(cost) // (limit + 1),) * (limit + 1)
    found: list[int] = []
    while len(found) <= limit and graph.length(id(schema), len(found)) <= MOST_NESTED:
        found.append(graph.cost(id(schema), len(found)))
    return tuple(found)


def widest(schema: JsonObject) -> int:
    """Schemas that apply to one value at most, in a document without references."""
    totals: dict[int, int] = {}
    for node in reversed(list(nodes(schema))):
        inside = [node.get(name) for name in ONE_IN_PLACE]
        for name in LISTS_IN_PLACE:
            inside += _members(node.get(name))
        for name in MAPS_IN_PLACE:
            inside += _values(node.get(name))
        totals[id(node)] = _weight(node) + sum(totals.get(id(schema), 1) for schema in inside if is_object(schema))
    return max(totals.values())


class _Graph:
    """The schemas of a document and which of them speak about the same value, or about one inside it."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._work = 0
        self._bare: dict[str, JsonObject] = {}
        self._places: dict[str, Place | None] = {}
        self._nodes: dict[int, JsonObject] = {id(root): root}
        self._closures: dict[int, Counter[int]] = {}
        self._below: dict[int, dict[str, Counter[int]]] = {}
        self._reduced: dict[int, set[Slot]] = {}
        self._leaves: dict[int, bool] = {}
        self._heights: dict[int, int] = {}
        self._costs: dict[tuple[int, int], int] = {}
        self._lengths: dict[tuple[int, int], int] = {}

    def rough(self, depth: int) -> tuple[float, int]:
        """A bound for `cost` and one for `length` of a value of at most this depth, found in one pass.

        The cost has no bound here where the work may double from one level to the next.
        """
        seen = {id(self._root)}
        waiting = list(seen)
        dearest, highest, widest = 0, 0, 0
        while waiting:
            key = waiting.pop()
            most = 0
            for leaves, children in self._slots(key):
                most = max(most, leaves)
                widest = max(widest, sum(times for _, times in children))
                fresh = {child for child, _ in children} - seen
                seen |= fresh
                waiting += fresh
            dearest = max(dearest, self._closure(key, ()).total() + most)
            highest = max(highest, self._heights[key] + 1)
        return (dearest * (depth + 1) if widest <= 1 else math.inf), highest * (depth + 1)

    def _spend(self, steps: int) -> None:
        self._work += steps
        if self._work > MOST_WORK:
            raise TooIntricateError("it has too many references to follow")

    def _resolved(self, reference: object) -> Place | None:
        if not isinstance(reference, str):
            return None
        if reference not in self._places:
            anchor = unquote(reference.partition("#")[2])
            if anchor and not anchor.startswith("/"):
                self._places[reference] = self._anchors.get(anchor)
            else:
                self._places[reference] = resolve(self._root, reference)
        return self._places[reference]

    @cached_property
    def _anchors(self) -> dict[str, Place]:
        found: dict[str, Place] = {}
        for node in nodes(self._root):
            for name in (node.get("$anchor"), node.get("$dynamicAnchor"), str(node.get("$id")).removeprefix("#")):
                if isinstance(name, str):
                    found.setdefault(name, ("", node))
        return found

    def cost(self, key: int, depth: int) -> int:
        """Evaluations that one value of at most this depth takes, on the dearest path into it."""
        known = self._costs.get((key, depth))
        if known is None:
            known = self._closure(key, ()).total()
            slots = self._slots(key) if depth else set[Slot]()
            self._spend(1 + sum(len(children) for _, children in slots))
            if depth:
                known += max(
                    (
                        leaves + sum(times * self.cost(child, depth - 1) for child, times in children)
                        for leaves, children in slots
                    ),
                    default=0,
                )
            self._costs[key, depth] = known
        return known

    def length(self, key: int, depth: int) -> int:
        """Schemas inside each other, at most, while one value of at most this depth is checked."""
        known = self._lengths.get((key, depth))
        if known is None:
            self._closure(key, ())
            known = self._heights[key]
            if depth and self._slots(key):
                below = {child for _, children in self._slots(key) for child, _ in children}
                self._spend(1 + sum(len(children) for _, children in self._slots(key)))
                known += max((self.length(child, depth - 1) for child in below), default=1)
            self._lengths[key, depth] = known
        return known

    def _slots(self, key: int) -> set[Slot]:
        """What one value inside may take, for each property or item: each different slot once."""
        known = self._reduced.get(key)
        if known is None:
            known = set[Slot]()
            most = 0
            for children in self._children(key).values():
                inner = frozenset((child, times) for child, times in children.items() if not self._is_leaf(child))
                leaves = children.total() - sum(times for _, times in inner)
                if inner:
                    known.add((leaves, inner))
                else:
                    most = max(most, leaves)
            if most:
                known.add((most, frozenset()))
            self._reduced[key] = known
        return known

    def _is_leaf(self, key: int) -> bool:
        known = self._leaves.get(key)
        if known is None:
            node = self._nodes[key]
            ends = not self._same_place(node) and not self._one_level(node)
            known = self._leaves[key] = ends and _weight(node) == 1
        return known

    def _closure(self, key: int, above: tuple[int, ...]) -> Counter[int]:
        """How often each schema is applied to a value to which this one is applied once."""
        known = self._closures.get(key)
        if known is not None:
            return known
        if key in above or len(above) > MOST_CHAINED:
            raise TooIntricateError("it applies itself to the same value again and again")
        total = Counter({key: _weight(self._nodes[key])})
        height = 0
        for child in self._same_place(self._nodes[key]):
            inner = self._closure(child, (*above, key))
            self._spend(len(inner))
            total.update(inner)
            height = max(height, self._heights[child])
        self._closures[key] = total
        self._heights[key] = height + 1
        return total

    def _children(self, key: int) -> dict[str, Counter[int]]:
        known = self._below.get(key)
        if known is None:
            slots: defaultdict[str, Counter[int]] = defaultdict(Counter)
            for member, times in self._closure(key, ()).items():
                for name, children in self._one_level(self._nodes[member]).items():
                    self._spend(len(children))
                    for child in children:
                        slots[name][child] += times
            for general, exact in (("/*", "/"), ("#*", "#")):
                shared = slots.get(general, Counter[int]())
                for name in slots:
                    if shared and name.startswith(exact) and name != general:
                        self._spend(len(shared))
                        slots[name] += shared
            known = self._below[key] = dict(slots)
        return known

    def _same_place(self, node: JsonObject) -> list[int]:
        found: list[object] = [node.get(name) for name in ONE_IN_PLACE]
        for name in LISTS_IN_PLACE:
            found += _members(node.get(name))
        for name in MAPS_IN_PLACE:
            found += _values(node.get(name))
        for name in REFERENCES:
            place = self._resolved(node.get(name))
            found.append(place[1] if place else None)
        return self._keys(found)

    def _one_level(self, node: JsonObject) -> dict[str, list[int]]:
        """The schemas that speak about what is inside the value, by the property or item they mean."""
        general = [node.get(name) for name in EVERY_PROPERTY] + _values(node.get("patternProperties"))
        items = node.get("items")
        inside = [node.get(name) for name in EVERY_ITEM] + [None if is_array(items) else items]
        found = {"/*": self._keys(general), "#*": self._keys(inside), "name": self._keys([node.get("propertyNames")])}
        properties = node.get("properties")
        for name, schema in properties.items() if is_object(properties) else ():
            found[f"/ {name}"] = self._keys([schema])
        for index, schema in enumerate([*_members(node.get("prefixItems")), *_members(items)]):
            found[f"# {index}"] = self._keys([schema])
        return {name: keys for name, keys in found.items() if keys}

    def _keys(self, schemas: Iterable[object]) -> list[int]:
        keys: list[int] = []
        for schema in schemas:
            if is_object(schema):
                reference = schema.get("$ref") if len(schema) == 1 else None
                if isinstance(reference, str):
                    schema = self._bare.setdefault(reference, schema)
                self._nodes[id(schema)] = schema
                keys.append(id(schema))
        return keys


def _weight(node: JsonObject) -> int:
    """Evaluations that a schema counts for: more than one where its errors are many or name many values."""
    options = len(_members(node.get("enum"))) - MANY
    names = len(_members(node.get("required"))) + len(_values(node.get("dependentRequired"))) - MANY
    return 1 + max(options, 0) // 20 + max(names, 0) // 2


def _members(value: Any) -> list[Any]:
    return value if is_array(value) else []


def _values(value: Any) -> list[Any]:
    return list(value.values()) if is_object(value) else []
