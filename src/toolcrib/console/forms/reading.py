"""What was filled in: the arguments that a form's values make, and what is wrong with them.

Values go by the place that they belong to: `a` is the whole, `a.name` a member, `a.name.0` an item. What is blank is
left out. Beside a place stand, with a `~`, how many `rows` a list has, whether a value is `null`, and the text of a
`json` box in place of the field.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn
from urllib.parse import quote

from toolcrib.console.forms.fields import Field
from toolcrib.schema.jsonvalues import NotJsonError, extent, is_object, pointer

Values = Mapping[str, str]
"""The values of a form, by place."""

ROOT = "a"
"""The place of the whole."""
MOST_ROWS = 200
MOST_LEVELS = 64
MOST_PLACES = 4_000
"""Places of one form that are shown, in all rows: of more, a browser would not send all (see `guard`)."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


class _Unfilled:
    """Nothing was filled in."""


UNFILLED: Final = _Unfilled()


@dataclass(frozen=True, slots=True)
class Filled:
    """What a form was filled in with.

    Attributes:
        value: The arguments; without what could not be read.
        problems: What could not be read, by place.
        places: The places of the fields, by the JSON Pointers of their values.
    """

    value: Any
    problems: Mapping[str, str]
    places: Mapping[str, str]


def read_form(form: Field, values: Values) -> Filled:
    """The arguments that a form's values make.

    Args:
        form: The form.
        values: Its values; those of other places are left alone.
    """
    reader = _Reader(values)
    value = reader.present(form, ROOT, ())
    return Filled({} if value is UNFILLED else value, reader.problems, reader.places)


def member_place(place: str, key: str) -> str:
    """The place of a member; also of one whose name has no UTF-8 form."""
    quoted = quote(key.encode("utf-8", "surrogatepass"), safe="")
    return f"{place}.{quoted.replace('.', '%2E').replace('~', '%7E')}"


def row_count(values: Values, place: str) -> int:
    """How many rows a list has."""
    text = values.get(f"{place}~rows", "")
    return min(int(text), MOST_ROWS) if text.isascii() and text.isdecimal() and len(text) < 6 else 0


def count_places(field: Field, values: Values, place: str = ROOT) -> int:
    """How many places a form has with its rows; where these are too many, no more than that is told.

    Args:
        field: The form.
        values: Its values.
        place: Where it stands.
    """
    if f"{place}~json" in values:
        return 1
    parts = ((each, member_place(place, each.key)) for each in field.members)
    if field.kind == "list" and field.item is not None:
        item = field.item
        parts = ((item, f"{place}.{row}") for row in range(row_count(values, place)))
    found = 1
    for each, inner in parts:
        found += count_places(each, values, inner)
        if found > MOST_PLACES:
            break
    return found


class _Reader:
    def __init__(self, values: Values) -> None:
        self._values = values
        self.problems: dict[str, str] = {}
        self.places: dict[str, str] = {}

    def present(self, field: Field, place: str, path: tuple[str | int, ...]) -> Any:
        """The value at a place that is there in any case."""
        found = self._given(field, place, path)
        return self._completed(field, {} if found is UNFILLED and field.kind == "object" else found, place, path)

    def _given(self, field: Field, place: str, path: tuple[str | int, ...]) -> Any:
        """What was filled in at a place."""
        self.places[pointer(path)] = place
        if field.nullable and f"{place}~null" in self._values:
            return None
        if f"{place}~json" in self._values or field.kind == "json":
            return self._from_json(place)
        if field.kind == "object":
            found = {
                each.key: self._given(each, member_place(place, each.key), (*path, each.key)) for each in field.members
            }
            members = {key: value for key, value in found.items() if value is not UNFILLED}
            return self._completed(field, members, place, path) if members else UNFILLED
        if field.kind == "list":
            return self._list(field, place, path)
        return self._scalar(field, place)

    def _completed(self, field: Field, value: Any, place: str, path: tuple[str | int, ...]) -> Any:
        """An object that is there, with the members that have to be and of which nothing need be said."""
        if field.kind != "object" or not is_object(value) or f"{place}~json" in self._values:
            return value
        for each in field.members:
            if each.key in value or not each.required:
                continue
            inner = member_place(place, each.key)
            if inner in self.problems or f"{inner}~json" in self._values:
                continue
            if each.kind == "constant":
                value[each.key] = each.choices[0]
            elif each.kind == "list":
                value[each.key] = []
            elif each.kind == "object":
                value[each.key] = self._completed(each, {}, inner, (*path, each.key))
        return {each.key: value[each.key] for each in field.members if each.key in value}

    def _list(self, field: Field, place: str, path: tuple[str | int, ...]) -> Any:
        assert field.item is not None
        items: list[Any] = []
        for row in range(row_count(self._values, place)):
            value = self._given(field.item, f"{place}.{row}", (*path, len(items)))
            if value is not UNFILLED:
                items.append(value)
        return items or UNFILLED

    def _scalar(self, field: Field, place: str) -> Any:
        text = self._values.get(place, "").replace("\r\n", "\n")
        if field.kind == "constant" or not text:
            return UNFILLED
        if field.kind == "text":
            return text
        if field.kind == "choice":
            found = next((each for each in field.choices if choice_text(each) == text), UNFILLED)
            return self._wrong(place, "is none of the choices") if found is UNFILLED else found
        text = text.strip()
        if field.kind == "boolean":
            return text == "true" if text in ("true", "false") else self._wrong(place, "is neither true nor false")
        if field.kind == "integer":
            return int(text) if _INTEGER.fullmatch(text) else self._wrong(place, "is not a whole number")
        return self._number(text, place)

    def _number(self, text: str, place: str) -> Any:
        if _INTEGER.fullmatch(text):
            return int(text)
        number = float(text) if _NUMBER.fullmatch(text) else float("inf")
        return number if abs(number) != float("inf") else self._wrong(place, "is not a number")

    def _from_json(self, place: str) -> Any:
        text = self._values.get(f"{place}~json", "")
        if not text.strip():
            return UNFILLED
        try:
            value = json.loads(text, parse_constant=_refuse)
            extent(value, MOST_LEVELS)
        except RecursionError:
            return self._wrong(place, f"is nested deeper than {MOST_LEVELS} levels")
        except NotJsonError as error:
            return self._wrong(place, str(error))
        except ValueError as error:
            return self._wrong(place, f"is not JSON: {error}. Texts stand in double quotes")
        return value

    def _wrong(self, place: str, problem: str) -> _Unfilled:
        self.problems[place] = problem
        return UNFILLED


def as_json(value: object, *, indent: int | None = None) -> str:
    """A value as the text of a JSON box or a choice."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def choice_text(value: object) -> str:
    """A value as the name of a choice, in ASCII."""
    return json.dumps(value)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")
