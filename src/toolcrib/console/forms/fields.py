"""What a form asks for: a field for each parameter of a JSON schema, and inside those that hold others."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from toolcrib.schema import declared, is_object, type_name
from toolcrib.schema.jsonvalues import JsonObject, is_array, is_number, shown
from toolcrib.schema.refs import in_place, types
from toolcrib.schema.shapes import required_of

Kind = Literal["text", "integer", "number", "boolean", "choice", "constant", "object", "list", "json"]

MOST_FIELDS = 300
"""Fields of one form; what is beyond is asked for as JSON."""
MOST_DEPTH = 6
"""Fields inside each other; what is deeper is asked for as JSON."""
MOST_CHOICES = 500
"""Choices that are offered; of more, the value is asked for as JSON."""

_SCALARS: dict[str, Kind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
_BOUNDS = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("format", "format {}"),
    ("pattern", "pattern {}"),
)
"""Keywords that say what a value must be like, in words."""
_NOTHING_AT_0 = frozenset(("minLength", "minItems"))


@dataclass(frozen=True, slots=True)
class Field:
    """What is asked for at one place.

    Attributes:
        key: The member's name; empty for the whole, and for items of a list.
        kind: How it is asked for. `constant` asks for nothing: there is but one value.
        required: Whether the schema says that it must be there.
        nullable: Whether it may be null.
        about: Its description.
        type: Its type as signatures write it.
        rules: What else its value must be like, in words.
        choices: The values of `choice`; that of `constant`.
        members: The fields of `object`.
        item: What each item of `list` is.
    """

    key: str
    kind: Kind
    required: bool = False
    nullable: bool = False
    about: str = ""
    type: str = ""
    rules: tuple[str, ...] = ()
    choices: tuple[Any, ...] = ()
    members: tuple["Field", ...] = ()
    item: "Field | None" = None


def form_for(schema: object) -> Field:
    """The form of a tool's arguments.

    Args:
        schema: Its input schema, whatever it is. What no field can ask for (alternatives, tuples, members of any name,
            what refers to itself) is asked for as JSON, each for itself, and the whole where it is no object.
    """
    return _Maker(schema).whole()


def count_fields(field: Field) -> int:
    """How many fields a form has, itself included."""
    return 1 + sum(map(count_fields, field.members)) + (count_fields(field.item) if field.item else 0)


class _Maker:
    """Makes the fields of one schema."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._left = MOST_FIELDS
        self._open: list[int] = []

    def whole(self) -> Field:
        if not is_object(self._root):
            return Field("", "json", required=True)
        kinds = types(self._root)
        members = self._members(self._root)
        if (kinds and "object" not in kinds) or (not members and declared(self._root, self._root)):
            return Field("", "json", required=True)  # alternatives alone say what there is
        return Field("", "object", required=True, members=members)

    def _members(self, schema: JsonObject) -> tuple[Field, ...]:
        required = set(required_of(self._root, schema))
        asked = _own_members(in_place(self._root, schema, branches=False))
        ordered = sorted(asked, key=lambda name: name not in required)
        return tuple(self._field(name, asked[name], required=name in required) for name in ordered)

    def _field(self, key: str, schema: object, *, required: bool) -> Field:
        self._left -= 1
        parts, nullable = self._parts(schema)
        about = next((part["description"] for part in parts if isinstance(part.get("description"), str)), "")
        rules = tuple(_rules(parts))
        made = Field(key, "json", required, nullable, about, type_name(schema, self._root), rules)
        if self._left < 0 or not parts or len(self._open) >= MOST_DEPTH or id(parts[-1]) in self._open:
            return made
        self._open.append(id(parts[-1]))
        try:
            return self._of_kind(made, parts)
        finally:
            self._open.pop()

    def _parts(self, schema: object) -> tuple[list[JsonObject], bool]:
        """The schemas that say what a value is, without the alternative that it be null; and whether there is one."""
        parts = list(in_place(self._root, schema, branches=False))
        nullable = any(part.get("nullable") is True or "null" in types(part) for part in parts)
        for part in parts:
            for keyword in ("anyOf", "oneOf"):
                forms = part.get(keyword)
                if not is_array(forms):
                    continue
                real = [form for form in forms if not (is_object(form) and types(form) == ("null",))]
                nullable = nullable or len(real) < len(forms)
                if len(real) == 1 and is_object(real[0]):
                    return [*(_without(part, keyword) for part in parts), *self._parts(real[0])[0]], nullable
        return parts, nullable

    def _of_kind(self, made: Field, parts: list[JsonObject]) -> Field:
        options = _options(parts)
        if options is not None:
            return _chosen(made, options)
        kind = _kind(parts)
        if kind == "object":
            members = self._all_members(parts)
            return _with(made, "object", members=members) if members else made
        if kind == "array":
            items = next((part["items"] for part in parts if "items" in part), None)
            if not is_object(items) or any("prefixItems" in part for part in parts):
                return made
            return _with(made, "list", item=self._field("", items, required=False))
        return _with(made, _SCALARS[kind]) if kind in _SCALARS else made

    def _all_members(self, parts: list[JsonObject]) -> tuple[Field, ...]:
        found: dict[str, Field] = {}
        for part in parts:
            for member in self._members(part):
                found.setdefault(member.key, member)
        return tuple(found.values())


def _own_members(parts: Iterable[JsonObject]) -> dict[str, Any]:
    """The members that some schemas name themselves, and not only in alternatives."""
    found: dict[str, Any] = {}
    for part in parts:
        properties = part.get("properties")
        if is_object(properties):
            found = {**properties, **found}
    return found


def _with(field: Field, kind: Kind, **more: Any) -> Field:
    return Field(field.key, kind, field.required, field.nullable, field.about, field.type, field.rules, **more)


def _chosen(made: Field, options: list[Any]) -> Field:
    if len(options) == 1 and made.required and not made.nullable:
        return _with(made, "constant", choices=tuple(options))
    if len(options) > MOST_CHOICES:
        return made
    return _with(made, "choice", choices=tuple(options))


def _options(parts: list[JsonObject]) -> list[Any] | None:
    """The only values that there may be; None where there may be others."""
    for part in parts:
        if "const" in part:
            return [part["const"]]
    return next((part["enum"] for part in parts if is_array(part.get("enum")) and part["enum"]), None)


def _kind(parts: list[JsonObject]) -> str:
    """The one type of a value beside null, said or to be told; empty where there are several or none."""
    said = (tuple(each for each in types(part) if each != "null") for part in parts)
    named = next(filter(None, said), ())
    if len(named) == 1:
        return named[0]
    if not named and any(is_object(part.get("properties")) for part in parts):
        return "object"
    return "array" if not named and any("items" in part for part in parts) else ""


def _without(part: JsonObject, keyword: str) -> JsonObject:
    return {name: value for name, value in part.items() if name != keyword}


def _rules(parts: list[JsonObject]) -> Iterator[str]:
    for part in parts:
        for keyword, words in _BOUNDS:
            value = part.get(keyword)
            if isinstance(value, str) or (is_number(value) and (value or keyword not in _NOTHING_AT_0)):
                told = words.format(value)
                yield told.removesuffix("s") if value == 1 and keyword.endswith(("Length", "Items")) else told
        if part.get("default") is not None:
            yield f"{shown(part['default'])} unless given"
