"""Schemas as types, before they are written in a language: what stubs of Python and TypeScript share."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from toolcrib.schema.jsonvalues import JsonObject, is_array, is_object
from toolcrib.schema.refs import declared, in_place, resolve, types

MOST_DEPTH = 24
"""Schemas inside schemas that are looked into."""
MOST_TYPES = 400
"""Named types of one tool; what is beyond is any value."""
MOST_OPTIONS = 100
"""Values of an enum that are named; with more it is the type of its values."""
LONGEST_OPTION = 200
MOST_NAME = 60

_ANNOTATIONS = frozenset(
    ("title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment")
)


@dataclass(frozen=True, slots=True)
class Plain:
    """`any`, `never`, `string`, `integer`, `number`, `boolean` or `null`."""

    name: str


@dataclass(frozen=True, slots=True)
class Options:
    """One of some values: texts, integers, booleans, None."""

    values: tuple[str | int | bool | None, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """An array of a type."""

    item: "Type"


@dataclass(frozen=True, slots=True)
class Mapped:
    """An object with any keys and values of a type."""

    value: "Type"


@dataclass(frozen=True, slots=True)
class Either:
    """One of some types."""

    forms: "tuple[Type, ...]"


@dataclass(frozen=True, slots=True)
class Named:
    """A type of that name, in `Shapes.named`."""

    name: str


Type = Plain | Options | Listed | Mapped | Either | Named
ANY = Plain("any")
NULL = Plain("null")


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object."""

    name: str
    type: Type
    required: bool


@dataclass(slots=True)
class Members:
    """An object with known members.

    Attributes:
        members: They, in the order written.
        rest: Type of others that there may be; None where there are none or nothing is said.
    """

    members: list[Member] = field(default_factory=list[Member])
    rest: Type | None = None


class Shapes:
    """The types of the schemas of one document.

    Args:
        root: The document that references are looked up in.
        prefix: What the names of its types begin with.
        taken: Names that are used already; those that are made are added.
    """

    def __init__(self, root: object, prefix: str, taken: set[str]) -> None:
        self._root = root
        self._prefix = prefix
        self._taken = taken
        self._names: dict[int, str] = {}
        self._open: list[int] = []
        self._recursive: set[int] = set()
        self.named: dict[str, Members | Type] = {}

    def of(self, schema: object, hint: str = "") -> Type:
        """The type of a schema.

        Args:
            schema: The schema.
            hint: Where it stands, for the name of a type.
        """
        if schema is False:
            return Plain("never")
        if not is_object(schema):
            return ANY
        own = id(schema)
        if own in self._names:
            return Named(self._names[own])
        if own in self._open:
            # a type that holds itself needs a name
            self._names[own] = self._name(hint)
            self._recursive.add(own)
            return Named(self._names[own])
        if len(self._open) > MOST_DEPTH or len(self.named) > MOST_TYPES:
            return ANY
        self._open.append(own)
        try:
            made = self._made(schema, hint)
        finally:
            self._open.pop()
        if own in self._recursive and made != Named(self._names[own]):
            self.named[self._names[own]] = made if not _is_itself(made, self._names[own]) else ANY
            return Named(self._names[own])
        return made

    def members(self, schema: object) -> Members:
        """The members of an object's schema, as parameters are taken from it."""
        if not is_object(schema):
            return Members(rest=ANY)
        required = set(required_of(self._root, schema))
        found = Members()
        for name, inner in declared(self._root, schema).items():
            found.members.append(Member(name, self.of(inner, name), name in required))
        known = {member.name for member in found.members}
        found.members += [Member(name, ANY, True) for name in required if name not in known]
        others = [part.get("additionalProperties") for part in in_place(self._root, schema, branches=False)]
        says_nothing = not found.members and types(schema) != ("object",)
        if True in others or (says_nothing and False not in others):
            found.rest = ANY
        elif spoken := [each for each in others if is_object(each)]:
            found.rest = self.of(spoken[0], "value")
        return found

    def _made(self, schema: JsonObject, hint: str) -> Type:
        place = resolve(self._root, schema.get("$ref"))
        if place and schema.keys() - {"$ref"} <= _ANNOTATIONS:
            return self.of(place[1], place[0].rpartition("/")[2] or hint)
        parts = list(in_place(self._root, schema, branches=False))
        made = self._of_parts(schema, parts, hint)
        if any(part.get("nullable") is True for part in parts):
            return either((made, NULL))
        return made

    def _of_parts(self, schema: JsonObject, parts: list[JsonObject], hint: str) -> Type:
        for part in parts:
            if "const" in part:
                return _options([part["const"]]) or self._kinds(schema, parts, hint)
        for part in parts:
            options = part.get("enum")
            if is_array(options) and options:
                return _options(options) or _base(options)
        if not any(is_object(part.get("properties")) for part in parts):
            for part in parts:
                for keyword in ("anyOf", "oneOf"):
                    forms = part.get(keyword)
                    if is_array(forms) and forms:
                        made = either(self.of(form, hint) for form in forms)
                        # alternatives that only say what is required leave the type to what stands beside them
                        return made if made != ANY else self._kinds(schema, parts, hint)
        return self._kinds(schema, parts, hint)

    def _kinds(self, schema: JsonObject, parts: list[JsonObject], hint: str) -> Type:
        named = next((types(part) for part in parts if types(part)), ())
        if not named:
            if any(is_object(part.get("properties")) for part in parts):
                named = ("object",)
            elif any("items" in part or "prefixItems" in part for part in parts):
                named = ("array",)
            else:
                return ANY
        return either(self._kind(kind, schema, parts, hint) for kind in named)

    def _kind(self, kind: str, schema: JsonObject, parts: list[JsonObject], hint: str) -> Type:
        if kind == "object":
            return self._object(schema, hint)
        if kind == "array":
            items = next((part[key] for part in parts for key in ("prefixItems", "items") if key in part), True)
            if is_array(items):
                return Listed(either(self.of(item, hint) for item in items) if items else ANY)
            return Listed(self.of(items, hint))
        return Plain(kind) if kind in ("string", "integer", "number", "boolean", "null") else ANY

    def _object(self, schema: JsonObject, hint: str) -> Type:
        if not declared(self._root, schema):
            others = schema.get("additionalProperties")
            return Mapped(self.of(others, hint) if is_object(others) else ANY)
        own = id(schema)
        name = self._names.setdefault(own, self._name(hint))
        # the name stands before its members are looked at, which may lead back to it
        self.named[name] = Members()
        self.named[name] = self.members(schema)
        return Named(name)

    def _name(self, hint: str) -> str:
        words = "".join(char if char.isascii() and char.isalnum() else "_" for char in hint).strip("_")
        base = f"{self._prefix}__{words}"[: MOST_NAME + len(self._prefix)] if words else self._prefix
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name


def either(forms: Iterable[Type]) -> Type:
    """One of some types, each once, with those of inner unions; any value where one of them is."""
    found = list(dict.fromkeys(_flat(forms)))
    if ANY in found or not found:
        return ANY
    found = [form for form in found if form != Plain("never")] or found
    options = [form for form in found if isinstance(form, Options)]
    if len(options) > 1:
        merged: Type = Options(_distinct(value for form in options for value in form.values))
        found = [merged, *(form for form in found if not isinstance(form, Options))]
    found.sort(key=lambda form: form == NULL)
    return found[0] if len(found) == 1 else Either(tuple(found))


def required_of(root: object, schema: object) -> Iterator[str]:
    """What must be there in any case: not what only one alternative asks for."""
    for part in in_place(root, schema, branches=False):
        listed = part.get("required")
        if is_array(listed):
            yield from (name for name in listed if isinstance(name, str))


def _flat(forms: Iterable[Type]) -> Iterator[Type]:
    for form in forms:
        if isinstance(form, Either):
            yield from form.forms
        else:
            yield form


def _options(values: list[Any]) -> Type | None:
    """The values themselves, if they can be written as literals."""
    fit = all(value is None or isinstance(value, (str, int)) for value in values)
    if not fit or len(values) > MOST_OPTIONS or any(isinstance(v, str) and not _is_writable(v) for v in values):
        return None
    return Options(_distinct(values))


def _distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """Each value once; in Python 1 and True are equal, here they are not."""
    return tuple({(type(value).__name__, value): value for value in values}.values())


def _base(values: list[Any]) -> Type:
    """The types of some values."""
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return either(Plain(kinds[type(value)]) if type(value) in kinds else ANY for value in values)


def _is_writable(text: str) -> bool:
    return len(text) <= LONGEST_OPTION and all(char.isprintable() for char in text)


def _is_itself(made: Type, name: str) -> bool:
    """Whether a type says nothing but its own name, alone or among others: no language can make sense of it."""
    return made == Named(name) or (isinstance(made, Either) and Named(name) in made.forms)
