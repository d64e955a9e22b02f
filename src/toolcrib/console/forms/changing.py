"""What the buttons of a form do to its values: rows more and fewer, a JSON box in place of a field and back."""

import re

from toolcrib.console.forms.fields import MOST_DEPTH, Field
from toolcrib.console.forms.filling import fill
from toolcrib.console.forms.reading import (
    MOST_LEVELS,
    MOST_PLACES,
    MOST_ROWS,
    ROOT,
    Values,
    as_json,
    read_form,
    row_count,
)
from toolcrib.schema.jsonvalues import extent

_ROW = re.compile(r"[0-9]{1,5}")


def changed(form: Field, values: Values, action: str) -> Values:
    """The values of a form after a button was pressed; as they were where it is none of its buttons.

    Args:
        form: The form.
        values: Its values.
        action: `add PLACE` for another row, `drop PLACE.ROW` for one less, `json` for the whole as JSON, and `form` for
            it in fields again, unless it is too large for that.
    """
    verb, _, place = action.partition(" ")
    if verb == "add":
        rows = row_count(values, place)
        return {**values, f"{place}~rows": str(min(rows + 1, MOST_ROWS))}
    if verb == "drop":
        return _dropped(values, place)
    if verb == "json":
        return {f"{ROOT}~json": as_json(read_form(form, values).value, indent=2)}
    if verb == "form":
        read = read_form(form, values)
        # A JSON box may stand as deep as a field does.
        if read.problems or extent(read.value, MOST_LEVELS + MOST_DEPTH).size > MOST_PLACES:
            return values
        return fill(form, read.value)
    return values


def _dropped(values: Values, place: str) -> Values:
    """The values without one row of a list; those behind it move up."""
    of, _, row = place.rpartition(".")
    count = row_count(values, of)
    if not _ROW.fullmatch(row) or int(row) >= count:
        return values
    inside = re.compile(rf"{re.escape(of)}\.({_ROW.pattern})(?=[.~]|$)")
    found: dict[str, str] = {}
    for name, text in values.items():
        match = inside.match(name)
        at = int(match[1]) if match else -1
        if at == int(row):
            continue
        moved = f"{of}.{at - 1}{name[match.end() :]}" if match and at > int(row) else name
        found[moved] = text
    return {**found, f"{of}~rows": str(count - 1)}
