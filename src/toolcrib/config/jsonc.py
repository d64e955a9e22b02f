"""Reading JSON with comments and trailing commas, and finding what a plain parser hides.

The standard parser does the work: comments and trailing commas are blanked out first, character for
character, so that a line and column in an error are those of the file, and keys that are given twice are
seen (a JSON5 parser reports neither).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

from toolcrib.errors import ConfigError

MAX_BYTES = 16 * 1024 * 1024
"""No configuration is larger; `--config /dev/zero` must end."""

MAX_DEPTH = 64
"""Levels of objects and lists in one file; bounds every later walk over a kept value."""

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed file.

    Attributes:
        value: What it holds.
        duplicates: Paths such as `mcpServers.github` of keys that are given twice in one object.
    """

    value: Any
    duplicates: tuple[str, ...] = ()


def read_document(path: Path) -> Document:
    """Read and parse one file.

    Args:
        path: UTF-8, with or without a byte order mark, or UTF-16 or UTF-32.

    Raises:
        ConfigError: The file can't be read, is too large, is not JSON or is nested too deeply.
    """
    return parse_document(_read_text(path), str(path))


def parse_document(text: str, name: str) -> Document:
    """Parse JSON with comments and trailing commas.

    Args:
        text: The JSON text.
        name: What errors call it.

    Raises:
        ConfigError: It is not JSON (with line and column), or nested too deeply.
    """
    repeated: list[tuple[dict[str, Any], list[str]]] = []

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) != len(pairs):
            keys = [key for key, _ in pairs]
            repeated.append((built, [key for key in built if keys.count(key) > 1]))
        return built

    try:
        value = _parse(text, build)
    except json.JSONDecodeError as error:
        _refuse_syntax(error, name)
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError as error:
        raise ConfigError(f"{name} is not JSON: {error}.", hint=_SYNTAX_HINT) from None
    found = [
        ".".join((*path, key))
        for path, holder in walk_objects(value, name)
        for duplicate, keys in repeated
        if duplicate is holder
        for key in keys
    ]
    return Document(value, tuple(found))


def walk_objects(value: object, name: str) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Every object in a JSON value with its path, outermost first.

    Args:
        value: The value; lists are walked through, their places named `[0]`.
        name: What errors call it.

    Raises:
        ConfigError: It is nested more than `MAX_DEPTH` levels deep, or contains itself.
    """
    waiting: list[tuple[tuple[str, ...], object]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        if len(path) > MAX_DEPTH:
            raise _too_deep(name)
        if isinstance(item, Mapping):
            members = cast("Mapping[str, Any]", item)
            yield path, members
            waiting.extend(((*path, str(key)), member) for key, member in reversed([*members.items()]))
        elif isinstance(item, Sequence) and not isinstance(item, str | bytes):
            entries = cast("Sequence[object]", item)
            waiting.extend(((*path, f"[{place}]"), entry) for place, entry in enumerate(entries))


def blanked(text: str) -> str:
    """A text with blanks in place of comments and trailing commas; every other character stays where it is."""
    return _TRAILING_COMMA.sub(_blank, without_comments(text))


def without_comments(text: str) -> str:
    """A text with blanks in place of comments; every other character stays where it is."""
    return _COMMENT.sub(_blank, text)


def comments_in(text: str) -> list[str]:
    """The comments of a text, or of one whole value of it, in their order."""
    return [found[0] for found in _COMMENT.finditer(text) if not found[0].startswith('"')]


_SYNTAX_HINT = "Comments and trailing commas are allowed; everything else must be plain JSON."


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"There is no file {path}.", hint="Check the path of the configuration.") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder.", hint="Name the JSON file inside it.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(f"{path} can't be read: {reason}.", hint="Check the path and its rights.") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path} is larger than 16 MiB.", hint="Name a configuration file.")
    try:
        text = data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not text.", hint="Save it as UTF-8.") from None
    if not text.strip("\x00 \t\r\n"):
        raise ConfigError(f"{path} is empty.", hint='An empty configuration is {"mcpServers": {}}.')
    return text


def _parse(text: str, build: Any) -> Any:
    try:
        return json.loads(text, object_pairs_hook=build, parse_constant=_refuse_constant)
    except json.JSONDecodeError:
        return json.loads(blanked(text), object_pairs_hook=build, parse_constant=_refuse_constant)


def _blank(match: re.Match[str]) -> str:
    found = match.group()
    return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


def _refuse_syntax(error: json.JSONDecodeError, name: str) -> NoReturn:
    place = f"line {error.lineno}, column {error.colno}"
    raise ConfigError(f"{name} is not JSON: {error.msg} ({place}).", hint=_SYNTAX_HINT) from None


def _too_deep(name: str) -> ConfigError:
    return ConfigError(f"{name} is nested more than {MAX_DEPTH} levels deep.", hint="Is this a configuration file?")
