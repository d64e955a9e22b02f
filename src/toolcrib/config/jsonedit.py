"""Changing JSON with comments: members are cut out and put in where they stand, and all else stays as it is."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid4

from toolcrib.config.jsonc import blanked, parse_document, without_comments
from toolcrib.errors import ConfigError

_SPACE = re.compile(r"\s*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_REST = re.compile(r"(?:[ \t]|/\*.*?\*/)*(?://[^\r\n]*)?", re.DOTALL)
"""What may follow a member on its line: spaces and comments, one of which may go on over more lines."""
_DECODER = json.JSONDecoder()
_STRING_OR_INFINITY = re.compile(r'"(?:[^"\\]|\\.)*"|Infinity')
_HALF_PAIR = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Member:
    """One member of an object: where its key starts, its value starts and ends, and the comma after it stands."""

    key: str
    start: int
    value: int
    end: int
    comma: int | None


def members_at(text: str, root: Sequence[str], name: str) -> Mapping[str, Any]:
    """The members of an object inside a JSON document.

    Args:
        text: The document; comments and trailing commas are allowed.
        root: The path of keys to the object; empty means the document itself.
        name: What errors call the document.

    Returns:
        The members; none where the path leads to nothing.

    Raises:
        ConfigError: It is not JSON, or something else stands there.
    """
    value = parse_document(text, name).value
    for key in root:
        if not isinstance(value, Mapping):
            raise _no_object(name, root)
        value = cast("Mapping[str, Any]", value).get(key)
        if value is None:
            return {}
    if not isinstance(value, Mapping):
        raise _no_object(name, root)
    return cast("Mapping[str, Any]", value)


def with_members(
    text: str, root: Sequence[str], name: str, *, without: Collection[str] = (), put: Mapping[str, Any]
) -> str:
    """A JSON document with other members in one of its objects; every other character stays.

    Args:
        text: The document; an empty one is made.
        root: The path of keys to the object, which is made if it is not there; empty means the document itself.
        name: What errors call the document.
        without: Keys to take out.
        put: Members to put in; the first takes the place of the first that goes, else they come last.

    Raises:
        ConfigError: As `members_at`.
    """
    if not text.strip():
        return _json(_nested(root, put), "  ") + "\n"
    members_at(text, root, name)  # whatever can't be read is refused before anything is cut
    plain, commas = blanked(text), without_comments(text)
    place = _skip(plain, 0)
    for depth, key in enumerate(root):
        found = [each for each in _members(plain, commas, place) if each.key == key]
        if not found:
            return _edited(
                text, plain, place, [*_members(plain, commas, place)], (), {key: _nested(root[depth + 1 :], put)}
            )
        place = found[-1].value  # of a key that is given twice, the last one counts
    if plain[place] != "{":  # null stands for no members
        return text[:place] + _written(text, put, _line_indent(text, place)) + text[place + len("null") :]
    return _edited(text, plain, place, [*_members(plain, commas, place)], without, put)


def with_texts(
    text: str, root: Sequence[str], name: str, *, without: Collection[str] = (), put: Mapping[str, str]
) -> str:
    """As `with_members`, with values that are written already: each stands as its text is.

    Raises:
        ConfigError: As `members_at`.
    """
    marks = {key: uuid4().hex for key in put}  # each stands in the place of its text until all is in place
    changed = with_members(text, root, name, without=without, put=marks)
    for key, mark in marks.items():
        changed = changed.replace(f'"{mark}"', put[key])
    return changed


def member_texts(text: str, root: Sequence[str], name: str) -> Mapping[str, str]:
    """The values of an object's members as they are written, comments and layout with them.

    Args:
        text: The document.
        root: The path of keys to the object; empty means the document itself.
        name: What errors call the document.

    Returns:
        The text of each value by key; none where the path leads to nothing.

    Raises:
        ConfigError: As `members_at`.
    """
    if not text.strip() or not members_at(text, root, name):
        return {}
    plain, commas = blanked(text), without_comments(text)
    place = _skip(plain, 0)
    for key in root:
        place = [each for each in _members(plain, commas, place) if each.key == key][-1].value
    return {each.key: text[each.value : each.end] for each in _members(plain, commas, place)}


def _members(plain: str, commas: str, opening: int) -> Iterator[_Member]:
    """The members of the object whose brace stands at `opening`.

    Args:
        plain: The text without comments and trailing commas.
        commas: The text without comments alone.
        opening: Where the object starts.
    """
    place = _skip(plain, opening + 1)
    while plain[place] != "}":
        start = place
        key, place = cast("tuple[str, int]", _DECODER.raw_decode(plain, place))
        value = _skip(plain, _skip(plain, place) + 1)
        _, end = _DECODER.raw_decode(plain, value)
        place = _skip(plain, end)
        following = _skip(commas, end)
        yield _Member(key, start, value, end, following if commas[following] == "," else None)
        if plain[place] == ",":
            place = _skip(plain, place + 1)


def _skip(plain: str, place: int) -> int:
    found = _SPACE.match(plain, place)
    return found.end() if found else place


def _edited(
    text: str, plain: str, opening: int, members: Sequence[_Member], without: Collection[str], put: Mapping[str, Any]
) -> str:
    """The text with some members of one object taken out, and others put in their place or at its end."""
    gone = [each for each in members if each.key in without or each.key in put]
    stays = [each for each in members if each not in gone]
    newcomers = _lines(text, put, _member_indent(text, opening, members))
    if gone and newcomers:
        first, *gone = gone
        stays = [each for each in members if each not in gone]
        edits = [(first.start, first.end, newcomers)]
    elif newcomers and stays:
        edits = _appended(text, stays[-1], _member_indent(text, opening, members) + newcomers)
    elif newcomers:
        return _filled(text, put, opening, plain.index("}", opening))
    else:
        edits = []
    edits += [_cut(text, each) for each in gone]
    if gone and stays and members[-1] in gone and members[-1].comma is None and stays[-1].comma is not None:
        comma = stays[-1].comma
        edits.append((comma, comma + 1, ""))
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def _filled(text: str, put: Mapping[str, Any], opening: int, closing: int) -> str:
    """The text with members in an object that has none; comments in it stay before them."""
    inside = text[opening + 1 : closing].rstrip()
    indent = _line_indent(text, opening)
    whole = _written(text, put, indent)
    return f"{text[: opening + 1]}{inside}{whole[1:]}{text[closing + 1 :]}"


def _appended(text: str, last: _Member, newcomers: str) -> list[tuple[int, int, str]]:
    """What puts members behind the last one, and behind comments that begin on its line."""
    newline = _newline(text)
    rest = _REST.match(text, last.end if last.comma is None else last.comma + 1)
    line_end = rest.end() if rest else 0
    if line_end <= last.end or not text.startswith(("\n", "\r\n"), line_end):
        return [(last.end, last.end, f",{newline}{newcomers}")]
    if last.comma is not None:  # the list may end in a comma here, and goes on doing so
        return [(line_end, line_end, f"{newline}{newcomers},")]
    return [(last.end, last.end, ","), (line_end, line_end, f"{newline}{newcomers}")]


def _cut(text: str, member: _Member) -> tuple[int, int, str]:
    """What goes with a member: its comma, and its line where nothing else stands on it."""
    start = member.start
    end = member.end if member.comma is None else member.comma + 1
    line = text.rfind("\n", 0, start) + 1
    after = text.find("\n", end)
    if after >= 0 and not text[line:start].strip() and not text[end:after].strip():
        return line, after + 1, ""
    return start, end, ""


def _lines(text: str, put: Mapping[str, Any], indent: str) -> str:
    """Members as they are written at an indent; the first without it."""
    unit = _unit(text)
    newline = _newline(text)
    written = [f"{_json(key, unit)}: {_json(entry, unit)}" for key, entry in put.items()]
    return f",\n{indent}".join(each.replace("\n", f"\n{indent}") for each in written).replace("\n", newline)


def _written(text: str, put: Mapping[str, Any], indent: str) -> str:
    """A whole object of members, which begins on a line of this indent."""
    if not put:
        return "{}"
    inner = indent + _unit(text)
    newline = _newline(text)
    return f"{{{newline}{inner}{_lines(text, put, inner)}{newline}{indent}}}"


def _json(value: Any, unit: str) -> str:
    """A value as JSON that reads as the same value again, also where Python writes what JSON has no form for.

    A number beyond all floats is infinite once it is read; half a surrogate pair can stand in an escape alone.
    """
    text = json.dumps(value, ensure_ascii=False, indent=unit)
    return _STRING_OR_INFINITY.sub(
        lambda found: "1e999" if found[0] == "Infinity" else _HALF_PAIR.sub(_escaped, found[0]), text
    )


def _escaped(half: re.Match[str]) -> str:
    return f"\\u{ord(half[0]):04x}"


def _member_indent(text: str, opening: int, members: Sequence[_Member]) -> str:
    if members:
        line = text.rfind("\n", 0, members[-1].start) + 1
        before = text[line : members[-1].start]
        if line and not before.strip():
            return before
    return _line_indent(text, opening) + _unit(text)


def _line_indent(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _nested(keys: Sequence[str], value: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in reversed(keys):
        value = {key: value}
    return value


def _no_object(name: str, root: Sequence[str]) -> ConfigError:
    return ConfigError(f"{name}: {'.'.join(root)} is no object.", hint="Correct it first.")
