"""Arguments of the meta-tools as models really send them, made into what was meant."""

import json
from typing import Any, cast

from toolcrib.catalog import JsonObject
from toolcrib.errors import UsageError

_NAME_SPELLINGS = ("name", "tool", "tool_name", "tool_id", "id")
_ARGUMENT_SPELLINGS = ("arguments", "args", "params", "parameters", "input")


def as_object(arguments: Any, what: str) -> JsonObject:
    """An object from an object, from JSON text of one, or from nothing.

    Raises:
        UsageError: It is something else.
    """
    if arguments is None or arguments == "":
        return {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            raise UsageError(f"{what} must be an object, and this text is not JSON.") from None
    if not isinstance(arguments, dict):
        raise UsageError(f"{what} must be an object, not {_kind(arguments)}.")
    return cast("JsonObject", arguments)


def text(arguments: JsonObject, *names: str) -> str | None:
    """The first of these members that is there, as text; a list becomes lines, null counts as absent.

    Raises:
        UsageError: It is neither text nor a number nor a list of such.
    """
    for name in names:
        value = arguments.get(name)
        if value is None:
            continue
        if isinstance(value, list):
            return "\n".join(_scalar(name, each) for each in cast("list[Any]", value))
        return _scalar(name, value)
    return None


def whole_number(arguments: JsonObject, name: str, default: int, most: int, least: int = 1) -> int:
    """A number between `least` and `most`, also from its text; beyond the bounds the nearest one counts.

    Raises:
        UsageError: It is no whole number.
    """
    value = arguments.get(name)
    if value is None or value == "":
        return default
    try:
        number = int(value) if not isinstance(value, bool) else None
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None:
        raise UsageError(f"{name} must be a whole number.")
    return max(least, min(number, most))


def flag(arguments: JsonObject, name: str) -> bool:
    """Whether something is set: true, or its text; absent, null and empty count as not.

    Raises:
        UsageError: It is neither true nor false.
    """
    value = arguments.get(name)
    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}
    if value is None or isinstance(value, bool):
        return bool(value)
    if (found := known.get(str(value).strip().lower())) is None:
        raise UsageError(f"`{name}` must be true or false.")
    return found


def tool_call(called: str, arguments: JsonObject) -> tuple[str, JsonObject]:
    """The tool's name and arguments from `{"name", "arguments"}` and its usual variants: `args` for
    `arguments`, JSON text in place of the object, or the arguments put beside the name.

    Args:
        called: The constant tool that was called.
        arguments: What it was given.

    Raises:
        UsageError: There is no name, or the arguments are no object.
    """
    name_key = next((key for key in _NAME_SPELLINGS if isinstance(arguments.get(key), str)), None)
    if name_key is None:
        raise UsageError(f"{called} needs the tool's id as `name`.", hint="search_tools finds it.")
    rest = {key: value for key, value in arguments.items() if key != name_key}
    for key in _ARGUMENT_SPELLINGS:
        if key not in rest:
            continue
        beside = {other: value for other, value in rest.items() if other != key}
        if isinstance(rest[key], dict | str) or rest[key] is None:
            return arguments[name_key], {**beside, **as_object(rest[key], "`arguments`")}
        if key == "arguments":
            raise UsageError(f"`arguments` must be an object, not {_kind(rest[key])}.")
    return arguments[name_key], rest


def _scalar(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise UsageError(f"`{name}` must be text, not {_kind(value)}.")


def _kind(value: Any) -> str:
    kinds = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
        str: "text",
    }
    return kinds.get(cast("type[Any]", type(value)), "that")
