"""Forms made from JSON Schema: what they ask for, what was filled in, and the arguments that this makes."""

from toolcrib.console.forms.changing import changed
from toolcrib.console.forms.fields import Field, count_fields, form_for
from toolcrib.console.forms.filling import fill
from toolcrib.console.forms.reading import MOST_PLACES, Filled, Values, count_places, read_form
from toolcrib.console.forms.showing import Shown, placed, show

__all__ = [
    "MOST_PLACES",
    "Field",
    "Filled",
    "Shown",
    "Values",
    "changed",
    "count_fields",
    "count_places",
    "fill",
    "form_for",
    "placed",
    "read_form",
    "show",
]
