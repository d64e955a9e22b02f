"""A form as a page shows it: each field with what it was filled in with, and what is wrong with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from toolcrib.console.forms.fields import Field
from toolcrib.console.forms.reading import MOST_ROWS, ROOT, Values, member_place, row_count
from toolcrib.schema import Problem


@dataclass(frozen=True, slots=True)
class Shown:
    """A field as it is shown.

    Attributes:
        field: The field.
        place: The name of its value.
        text: What it is filled in with.
        null: Whether it is said to be null.
        json: The text of the JSON box in its place; None where there is none.
        members: The fields inside an object.
        rows: The items of a list.
        problems: What is wrong with it.
        may_grow: Whether a list may have another row.
        open: Whether there is anything in it to be seen.
    """

    field: Field
    place: str
    text: str
    null: bool
    json: str | None
    members: tuple["Shown", ...]
    rows: tuple["Shown", ...]
    problems: tuple[str, ...]
    may_grow: bool
    open: bool


def show(form: Field, values: Values, problems: Mapping[str, Iterable[str]] | None = None) -> Shown:
    """A form as it is shown.

    Args:
        form: The form.
        values: Its values.
        problems: What is wrong, by place.
    """
    return _shown(form, ROOT, values, problems or {})


def placed(problems: Iterable[Problem], places: Mapping[str, str]) -> dict[str, list[str]]:
    """Problems of arguments by the places of a form that they belong to; those that belong to none, by that of all.

    Args:
        problems: What validation found.
        places: See `Filled`.
    """
    found: dict[str, list[str]] = {}
    for problem in problems:
        pointer = problem.path
        while pointer not in places and pointer:
            pointer = pointer.rpartition("/")[0]
        rest = problem.path[len(pointer) :]
        found.setdefault(places.get(pointer, ROOT), []).append(
            f"{rest}: {problem.message}" if rest else problem.message
        )
    return found


def _shown(field: Field, place: str, values: Values, problems: Mapping[str, Iterable[str]]) -> Shown:
    json = values.get(f"{place}~json")
    if field.kind == "json" and json is None:
        json = ""
    members: tuple[Shown, ...] = ()
    rows: tuple[Shown, ...] = ()
    if json is None and field.kind == "object":
        members = tuple(_shown(each, member_place(place, each.key), values, problems) for each in field.members)
    if json is None and field.kind == "list" and field.item is not None:
        # a list that has to be there begins with a row to fill in
        count = row_count(values, place) if f"{place}~rows" in values else int(field.required)
        rows = tuple(_shown(field.item, f"{place}.{row}", values, problems) for row in range(count))
    own = tuple(problems.get(place, ()))
    null = field.nullable and f"{place}~null" in values
    text = values.get(place, "")
    inside = any(each.open for each in (*members, *rows))
    is_open = bool(own or null or text or json or rows or inside or field.required)
    return Shown(field, place, text, null, json, members, rows, own, len(rows) < MOST_ROWS, is_open)
