"""What is wrong with a value, in words: every problem by its path, with what was probably meant."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

from toolcrib.schema.jsonvalues import is_object, kind, pointer, shown
from toolcrib.schema.refs import declared, descend, types, walk

if TYPE_CHECKING:
    import jsonschema_rs

    Errors = Sequence[jsonschema_rs.ValidationError]

MASK = "\ue000"
"""Stands for the value in the engine's messages, so that it renders no large values."""
MOST_COUNTED = str(2**64 - 1)
"""What the engine says for a larger number of items, members or characters."""
MOST_PROBLEMS = 20
"""Problems named at most; the rest is counted."""
MOST_LETTERS = 2_000
"""Letters of names in all that are compared to find the one that was meant."""
LONGEST_NAME = 64
"""Letters of one name that are compared."""
MOST_FORMS = 4
MOST_NAMES = 8
ARTICLES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a value.

    Attributes:
        path: Where, as a JSON Pointer into the value; of a missing member, where it should be.
        message: What is wrong and, where it can be guessed, what was meant.
        keyword: The keyword of JSON Schema that it breaks; empty where none does.
    """

    path: str
    message: str
    keyword: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def describe(errors: "Errors", schema: object, value: object) -> tuple[Problem, ...]:
    """The engine's errors about a value as problems; at most 21, the last of which counts the rest.

    Args:
        errors: What the engine found.
        schema: The document, to name what is near.
        value: What was checked.
    """
    found: dict[tuple[str, str], Problem] = {}
    for error in errors:
        for problem in _problems(error, schema, value):
            found.setdefault((problem.path, problem.message), problem)
            if len(found) > MOST_PROBLEMS:
                break
        if len(found) > MOST_PROBLEMS:
            break
    problems = list(found.values())
    if len(problems) <= MOST_PROBLEMS:
        return tuple(problems)
    more = max(len(errors) - MOST_PROBLEMS, 1)
    return (*problems[:MOST_PROBLEMS], Problem("", f"… and {more} more", ""))


def told(problems: Iterable[Problem]) -> str:
    """Problems as text, one on a line."""
    return "\n".join(str(problem) for problem in problems)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The one of some names that was probably meant by another, regardless of case and punctuation.

    Of many names, the first of about the same length are looked at.
    """
    wanted = _plain(name[:LONGEST_NAME])
    plain: dict[str, str] = {}
    letters = 0
    for known in islice(names, MOST_LETTERS):
        text = _plain(known[:LONGEST_NAME])
        # a ratio of 0.65 can't be reached beyond these lengths: it is twice the common letters by all
        if not 0.48 * len(wanted) <= len(text) <= 2.08 * len(wanted):
            continue
        letters += len(text)
        if letters > MOST_LETTERS:
            break
        plain[text] = known
    close = get_close_matches(wanted, plain, n=1, cutoff=0.65)
    return plain[close[0]] if close else None


def _problems(error: "jsonschema_rs.ValidationError", schema: object, value: object) -> Iterator[Problem]:
    from jsonschema_rs import ValidationErrorKind as Kind

    path, what = error.instance_path, error.kind
    keyword = what.name
    if isinstance(what, Kind.Required):
        yield _missing(error, what.property, schema, value)
    elif isinstance(what, (Kind.AdditionalProperties, Kind.UnevaluatedProperties)):
        known = _names(error, schema)
        for name in what.unexpected:
            yield Problem(pointer((*path, name)), _unknown(name, known, at_top=not path), keyword)
    elif isinstance(what, (Kind.AnyOf, Kind.OneOfNotValid)):
        yield from _no_form(error, what.context, schema, value)
    else:
        message = _message(error, _at(value, path))
        if MOST_COUNTED in message and (place := walk(schema, error.evaluation_path)):
            message = message.replace(MOST_COUNTED, shown(place[1]))
        yield Problem(pointer(path), message, keyword)


def _message(error: "jsonschema_rs.ValidationError", value: object) -> str:
    from jsonschema_rs import ValidationErrorKind as Kind

    what = error.kind
    match what:
        case Kind.Type():
            wanted = _or(ARTICLES.get(name, name) for name in what.types)
            return f"must be {wanted}, not {_given(value)}"
        case Kind.Enum():
            return _not_one_of(value, what.options)
        case Kind.Constant():
            return f"must be {shown(what.expected_value)}, not {_given(value)}"
        case Kind.Not():
            return f"{shown(value)} is of a form that is ruled out: {shown(what.schema)}"
        case Kind.OneOfMultipleValid():
            return f"{shown(value)} fits several forms of which it may fit only one"
        case Kind.Contains():
            return "has no item of the kind that must be in it, or too many"
        case Kind.FalseSchema():
            return "is not allowed here"
        case Kind.PropertyNames():
            return f"has a member of a forbidden name: {what.error.message.replace(MASK, shown(what.error.instance))}"
        case _:
            return error.message.replace(MASK, shown(value))


def _missing(error: "jsonschema_rs.ValidationError", name: str, schema: object, value: object) -> Problem:
    path = error.instance_path
    known = _names(error, schema)
    wanted = known.get(name)
    named = types(wanted) if is_object(wanted) else ()
    message = f"missing required {_word(not path)} {shown(name)}"
    if named:
        message += f" ({_or(ARTICLES.get(one, one) for one in named)})"
    given = _at(value, path)
    strangers = [key for key in given if key not in known] if is_object(given) else []
    meant = nearest(name, strangers)
    if meant is not None:
        message += f"; it may be what {shown(meant)} is meant for"
    return Problem(pointer((*path, name)), message, "required")


def _unknown(name: str, known: dict[str, Any], *, at_top: bool) -> str:
    message = f"unknown {_word(at_top)} {shown(name)}"
    meant = nearest(name, known)
    if meant is not None:
        return f"{message}; did you mean {shown(meant)}?"
    if not known:
        return f"{message}; there are none"
    names = ", ".join(list(known)[:MOST_NAMES])
    return f"{message}; known: {names}{', …' if len(known) > MOST_NAMES else ''}"


def _not_one_of(value: object, options: Sequence[Any]) -> str:
    if not options:
        return "can't have any value: the schema lists none"
    listed = ", ".join(shown(option, 30) for option in options[:MOST_NAMES])
    message = f"{shown(value)} is not one of {listed}"
    if len(options) > MOST_NAMES:
        message += f" and {len(options) - MOST_NAMES} more"
    words = [option for option in options if isinstance(option, str)]
    meant = nearest(value, words) if isinstance(value, str) else None
    return message if meant is None else f"{message}; did you mean {shown(meant)}?"


def _no_form(
    error: "jsonschema_rs.ValidationError", forms: "Sequence[Errors]", schema: object, value: object
) -> Iterator[Problem]:
    """Why none of several alternatives fits: of the one that was meant, if that can be told."""
    likely = _likely(forms, len(error.instance_path))
    kinds = _plain_types(forms, len(error.instance_path))
    if kinds:
        given = _given(_at(value, error.instance_path))
        yield Problem(pointer(error.instance_path), f"must be {_or(kinds)}, not {given}", error.kind.name)
        return
    if len(likely) == 1:
        for inner in likely[0]:
            yield from _problems(inner, schema, value)
        return
    reasons: dict[str, None] = {}
    for form in likely:
        problems = [problem for inner in form for problem in _problems(inner, schema, value)]
        own = pointer(error.instance_path)
        reasons["; ".join(str(_below(problem, own)) for problem in problems[:3])] = None
    listed = " — or: ".join(list(reasons)[:MOST_FORMS])
    more = f" — or {len(reasons) - MOST_FORMS} more" if len(reasons) > MOST_FORMS else ""
    yield Problem(pointer(error.instance_path), f"fits none of the allowed forms: {listed}{more}", error.kind.name)


def _likely(forms: "Sequence[Errors]", depth: int) -> "Sequence[Errors]":
    """The alternatives that may have been meant: of the right type and, if any is, of the right kind.

    An alternative whose fixed member (`const`, or an `enum`) fits better tells what was meant, as the
    discriminator of a union does.
    """
    from jsonschema_rs import ValidationErrorKind as Kind

    def is_other_type(form: "Errors") -> bool:
        return any(isinstance(error.kind, Kind.Type) and len(error.instance_path) == depth for error in form)

    def is_other_kind(form: "Errors") -> bool:
        return any(isinstance(error.kind, (Kind.Constant, Kind.Enum)) for error in form)

    typed = [form for form in forms if not is_other_type(form)] or forms
    return [form for form in typed if not is_other_kind(form)] or typed


def _plain_types(forms: "Sequence[Errors]", depth: int) -> list[str]:
    """The types that are asked for, if the value is of another type than every alternative."""
    from jsonschema_rs import ValidationErrorKind as Kind

    found: dict[str, None] = {}
    for form in forms:
        wanted = [error.kind for error in form if len(error.instance_path) == depth]
        types_asked = [what.types for what in wanted if isinstance(what, Kind.Type)]
        if not types_asked:
            return []
        found.update((ARTICLES.get(name, name), None) for name in types_asked[0])
    return list(found)


def _below(problem: Problem, path: str) -> Problem:
    return Problem(problem.path.removeprefix(path), problem.message, problem.keyword)


def _names(error: "jsonschema_rs.ValidationError", schema: object) -> dict[str, Any]:
    """The properties that the schema names at the place of an error about an object."""
    place = walk(schema, error.evaluation_path[:-1])
    named = declared(schema, place[1]) if place else {}
    if error.instance_path:
        return named
    return {**declared(schema, schema), **named}


def _at(value: object, path: Sequence[str | int]) -> Any:
    found = descend(value, path)
    return found[0] if found else None


def _given(value: object) -> str:
    if isinstance(value, (str, int, float)):
        return f"the {kind(value).split()[-1]} {shown(value)}"
    return kind(value)


def _word(at_top: bool) -> str:
    return "parameter" if at_top else "member"


def _plain(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def _or(words: Iterable[str]) -> str:
    listed = list(words)
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"
