"""Arguments, environment variables and headers of a description, filled in as far as it says their values."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from toolcrib.catalog import JsonObject

_MOST = 200
_SLOT = re.compile(r"\{([A-Za-z_][\w.-]*)\}")
_NOT_ID = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Ask:
    """A value that the user has to give, as VS Code's `inputs` have it.

    Attributes:
        id: The id of the input.
        name: What the server calls the value.
        description: What it is.
        secret: Whether it is a secret.
        default: What it is when nobody gives it; None when it must be given.
        choices: What it may be; empty when any text will do.
    """

    id: str
    name: str
    description: str = ""
    secret: bool = False
    default: str | None = None
    choices: tuple[str, ...] = ()

    def as_input(self) -> JsonObject:
        """The entry under `inputs`."""
        entry: JsonObject = {"id": self.id, "type": "pickString" if self.choices else "promptString"}
        entry["description"] = self.description or self.name
        if self.secret:
            entry["password"] = True
        if self.default is not None:
            entry["default"] = self.default
        if self.choices:
            entry["options"] = list(self.choices)
        return entry


class Filling:
    """Fills in what one server needs.

    Args:
        key: The key of the server's entry; it heads the ids of its inputs.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._asked: dict[str, Ask] = {}

    @property
    def asked(self) -> list[Ask]:
        """What the user has to be asked for."""
        return list(self._asked.values())

    def arguments(self, given: object) -> list[str]:
        """The words of a list of arguments; optional ones without a value are left out."""
        return [word for argument in _objects(given) for word in self._argument(argument)]

    def named(self, given: object) -> dict[str, str]:
        """Environment variables or headers by name; optional ones without a fixed value are left out."""
        found: dict[str, str] = {}
        for item in _objects(given):
            name = item.get("name")
            if not isinstance(name, str) or not name or "=" in name or "\x00" in name:
                continue
            value = self._value(item, name)
            if value is not None:
                found[name] = value
        return found

    def template(self, text: str, variables: object, name: str) -> str:
        """A text with its `{slots}` filled: by what is known of them, else by asking for them.

        A slot that nothing is said about stays as it is.
        """
        known = cast("JsonObject", variables) if isinstance(variables, dict) else {}
        parts: list[str] = []
        end = 0
        for match in _SLOT.finditer(text):
            slot = known.get(match[1])
            if not isinstance(slot, dict):
                continue
            about = {"isRequired": True, **cast("JsonObject", slot)}
            value = self._value(about, f"{name} {match[1]}" if name != match[1] else name, match[1])
            parts += [literal(text[end : match.start()]), value or ""]
            end = match.end()
        return "".join([*parts, literal(text[end:])])

    def _argument(self, argument: JsonObject) -> Iterator[str]:
        flag = argument.get("name") if argument.get("type") == "named" else None
        if flag is not None and (not isinstance(flag, str) or not flag):
            return
        hint = argument.get("valueHint") or argument.get("name")
        name = hint if isinstance(hint, str) and hint else "argument"
        if flag and (argument.get("format") == "boolean" or _is_bare(argument)):
            wanted = argument.get("value", argument.get("default", "true" if argument.get("isRequired") else "false"))
            if str(wanted).lower() == "true":
                yield literal(flag)
            return
        value = self._value(argument, name)
        if value is None:
            return
        if flag:
            yield literal(flag)
        yield value

    def _value(self, item: JsonObject, name: str, short: str = "") -> str | None:
        """A value: the fixed one, else, where one is required, the placeholder of an input; else None."""
        fixed = _text(item.get("value"))
        if fixed is not None:
            return self.template(fixed, item.get("variables"), name)
        if item.get("isRequired") is not True:
            return None
        ask = Ask(
            id=_NOT_ID.sub("-", f"{self._key}-{(short or name).lstrip('-')}").strip("-"),
            name=name,
            description=(_text(item.get("description")) or "")[:300],
            secret=item.get("isSecret") is True,
            default=_text(item.get("default")),
            choices=tuple(each for each in _texts(item.get("choices"))),
        )
        self._asked.setdefault(ask.id, ask)
        return f"${{input:{ask.id}}}"


def literal(text: str) -> str:
    """A text as it has to stand in a configuration to mean itself: no `${` in it is a variable."""
    return text.replace("${", "$${")


def _is_bare(argument: Mapping[str, Any]) -> bool:
    """Whether a named argument is a flag: nothing is said about a value."""
    return not ({"value", "default", "valueHint", "choices", "variables", "placeholder", "format"} & argument.keys())


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _texts(value: object) -> list[str]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [text for item in items[:_MOST] if (text := _text(item)) is not None]


def _objects(value: object) -> list[JsonObject]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", item) for item in items[:_MOST] if isinstance(item, dict)]
