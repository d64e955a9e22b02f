"""A form filled in with arguments that are known."""

from typing import Any

from toolcrib.console.forms.fields import Field
from toolcrib.console.forms.reading import ROOT, Values, as_json, choice_text, member_place, read_form
from toolcrib.schema.jsonvalues import is_array, is_number, is_object, same

_NUMBERS = frozenset(("integer", "number", "boolean"))


def fill(form: Field, arguments: object) -> Values:
    """The values with which a form makes some arguments. What a field can't say, a JSON box in its place does.

    Args:
        form: The form.
        arguments: Parsed JSON.
    """
    return _filled(form, arguments, ROOT)


def _filled(field: Field, value: Any, place: str) -> dict[str, str]:
    said = _said(field, value, place)
    if said is not None and _says(field, said, place, value):
        return said
    return {f"{place}~json": as_json(value, indent=2 if is_object(value) or is_array(value) else None)}


def _said(field: Field, value: Any, place: str) -> dict[str, str] | None:
    """What a field would be filled in with; None where its kind doesn't fit."""
    if value is None and field.nullable:
        return {f"{place}~null": "on"}
    if field.kind == "object" and is_object(value):
        known = {member.key: member for member in field.members}
        if value.keys() - known.keys():
            return None
        parts = [_filled(known[key], inner, member_place(place, key)) for key, inner in value.items()]
        return {name: text for part in parts for name, text in part.items()}
    if field.kind == "list" and is_array(value) and field.item is not None:
        rows = [_filled(field.item, inner, f"{place}.{row}") for row, inner in enumerate(value)]
        return {f"{place}~rows": str(len(value)), **{name: text for row in rows for name, text in row.items()}}
    if field.kind == "constant":
        return {}
    if field.kind == "text" and isinstance(value, str):
        return {place: value}
    if field.kind == "choice":
        return {place: choice_text(value)}
    if field.kind in _NUMBERS and (is_number(value) or isinstance(value, bool)):
        return {place: as_json(value)}
    return None


def _says(field: Field, values: Values, place: str, value: Any) -> bool:
    """Whether a field reads what it was filled in with as that very value."""
    alone = Field("", "object", required=True, members=(_at(field, required=field.required),))
    moved = {f"{ROOT}.x{name[len(place) :]}": text for name, text in values.items()}
    found = read_form(alone, moved)
    return not found.problems and is_object(found.value) and "x" in found.value and same(found.value["x"], value)


def _at(field: Field, *, required: bool) -> Field:
    return Field(
        "x",
        field.kind,
        required,
        field.nullable,
        choices=field.choices,
        members=field.members,
        item=field.item,
    )
