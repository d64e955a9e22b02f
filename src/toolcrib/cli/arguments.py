"""A tool's arguments as they are typed: `key=value`, `key:=json`, `--args`."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

from toolcrib.errors import UsageError, shown
from toolcrib.files import expanded

if TYPE_CHECKING:
    from toolcrib.catalog import JsonObject, Tool

_FORMS = "Write key=value, key:=JSON, or everything as one JSON object."


def read_arguments(tool: "Tool", items: Sequence[str], given: str | None) -> "JsonObject":
    """The arguments of a call.

    Values of `key=value` become what the tool's schema asks for, as far as that leaves no doubt; a key that is
    repeated makes a list. They win over members of `given`.

    Args:
        tool: The tool.
        items: What was typed: `key=value` or `key:=json`; a JSON object counts as `given`.
        given: JSON of an object, `-` for standard input, or `@file`; None when there is none.

    Raises:
        UsageError: An item has neither form, or something is no JSON.
    """
    from toolcrib.schema import coerce

    whole: JsonObject = {} if given is None else _object(text_of(given), "--args")
    typed: JsonObject = {}
    raw: JsonObject = {}
    for item in items:
        if item.lstrip().startswith("{"):
            whole |= _object(item, "The JSON argument")
            continue
        key, equals, value = item.partition("=")
        if not equals or key in {"", ":"}:
            raise UsageError(f"{shown(item, 60)} is no argument for {tool.id}.", hint=_FORMS)
        if key.endswith(":"):
            raw[key[:-1]] = parse_json(value, f"The value of {key[:-1]}")
        else:
            typed[key] = _joined(typed.get(key), value)
    fitting = coerce(typed, tool.input_schema).value
    return {**whole, **cast("JsonObject", fitting), **raw}


def undeclared(tool: "Tool", arguments: "JsonObject") -> Iterator[str]:
    """A remark on each argument that the tool's schema does not name, though it lets it pass."""
    from toolcrib.schema import parameter_identifiers
    from toolcrib.schema.jsonvalues import is_object
    from toolcrib.schema.problems import nearest
    from toolcrib.schema.refs import declared

    schema: object = tool.input_schema
    if not is_object(schema) or "additionalProperties" in schema or "patternProperties" in schema:
        return
    known = declared(schema, schema)
    spellings = {*known, *parameter_identifiers(known).values()}
    for name in arguments if known else ():
        if name not in spellings:
            near = nearest(name, known)
            meant = f"; did you mean {near}?" if near else "."
            yield f"{tool.id} declares no parameter {shown(name, 60)}{meant} It is sent all the same."


def parse_json(text: str, what: str) -> Any:
    """Parse JSON that somebody typed.

    Args:
        text: The JSON.
        what: What errors call it.

    Raises:
        UsageError: It is no JSON, or nested too deeply.
    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UsageError(f"{what} is not JSON: {error.msg} ({place}).", hint=_FORMS) from None
    except ValueError as error:
        raise UsageError(f"{what} is not JSON: {error}.", hint=_FORMS) from None
    except RecursionError:
        raise UsageError(f"{what} is nested too deeply.") from None


def _object(text: str, what: str) -> "JsonObject":
    value = parse_json(text, what)
    if isinstance(value, str):  # an object that was encoded twice
        value = parse_json(value, what)
    if not isinstance(value, dict):
        raise UsageError(f"{what} must be a JSON object.", hint='For example: --args \'{"key": "value"}\'')
    return cast("JsonObject", value)


def why_unread(error: OSError | UnicodeError) -> str:
    """Why a file could not be read as text, in words for whoever named it."""
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else "it is not UTF-8 text"


def text_of(given: str) -> str:
    """What was given: a text, `-` for standard input, or `@file`.

    Raises:
        UsageError: It can't be read, or is no text.
    """
    if given == "-":
        return standard_input()
    if not given.startswith("@"):
        return given
    try:
        return expanded(given[1:]).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{given[1:]} can't be read: {error.strerror}.", hint="Check the path.") from None
    except ValueError:
        raise UsageError(f"{given[1:]} is not UTF-8 text.", hint="Save it as UTF-8.") from None


def standard_input() -> str:
    """All that comes on standard input.

    Raises:
        UsageError: It is closed, can't be read, or is no text.
    """
    hint = "Send the text there, as in: toolcrib … < FILE"
    if not sys.stdin:  # None where the program was started with it closed
        raise UsageError("Standard input is closed.", hint=hint)
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"Standard input can't be read: {error.strerror}.", hint=hint) from None
    except ValueError:
        raise UsageError("Standard input is not UTF-8 text.", hint=hint) from None


def _joined(earlier: Any, value: str) -> Any:
    if earlier is None:
        return value
    return [*(cast("list[str]", earlier) if isinstance(earlier, list) else [earlier]), value]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")
