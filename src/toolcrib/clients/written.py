"""The secrets that stand written out in a server's entry, and the entry with variables in their places."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from toolcrib.config import ServerConfig
from toolcrib.redact import REDACTED, is_literal, looks_secret, names_variable, redact_text, secrets_in_urls

_HEADER = re.compile(r"([A-Za-z][\w-]*):(?!//)\s*(\S.*)")
"""A header as commands take it: `Authorization: Bearer x` (mcp-remote, curl)."""

_UNFIT = re.compile(r"[^\w./@-]+")
"""What can't stand in the name of a `${keyring:…}`, or would have to be quoted in a shell."""


@dataclass(frozen=True, slots=True)
class WrittenSecret:
    """A secret in a server's entry.

    Attributes:
        path: The keys to the text that it stands in: `("env", "API_KEY")`, `("args", 2)`, `("url",)`.
        name: What it is called.
        start: Where in the text it begins.
        end: Where it ends.
    """

    path: tuple[str | int, ...]
    name: str
    start: int
    end: int

    @property
    def place(self) -> str:
        """Where it stands, as people are told: `env.API_KEY`, `args --api-key`, `url token`."""
        head = str(self.path[0])
        return f"{head}.{self.path[1]}" if head in {"env", "headers", "oauth"} else f"{head} {self.name}"

    def value(self, entry: Mapping[str, Any]) -> str:
        """The secret itself."""
        text: Any = entry
        for key in self.path:
            text = text[key]
        return str(text)[self.start : self.end]


def written_secrets(server: ServerConfig) -> list[WrittenSecret]:
    """The secrets that stand in an entry, as far as names, the forms of known tokens and addresses tell."""
    found: list[WrittenSecret] = []
    for field, table in (("env", server.env), ("headers", server.headers)):
        for name, value in table.items():
            found += _in_value((field, name), name, value, 0)
    for place, argument in enumerate(server.args):
        found += _in_argument(server.args, place, argument)
    found += _in_value(("url",), "", server.url or "", 0)
    if server.oauth is not None and server.oauth.client_secret is not None:
        found += _in_value(("oauth", "clientSecret"), "client-secret", server.oauth.client_secret, 0)
    return found


def without_secrets(
    entry: Mapping[str, Any], secrets: Sequence[WrittenSecret], key: str, keep: Callable[[str, str], None]
) -> dict[str, Any]:
    """An entry with `${keyring:…}` in place of its secrets.

    Args:
        entry: The entry.
        secrets: What `written_secrets` found in it.
        key: The key that it gets.
        keep: Puts a secret into the keyring under a name.
    """
    made = dict(entry)
    names: set[str] = set()
    # From behind, so that what stands before in the same text keeps its place.
    for secret in sorted(secrets, key=lambda each: (str(each.path), each.start), reverse=True):
        name = _free(f"{_UNFIT.sub('_', key)}/{_UNFIT.sub('_', secret.name.lstrip('-')) or 'secret'}", names)
        keep(name, secret.value(made))
        made = cast("dict[str, Any]", _replaced(made, secret.path, secret, f"${{keyring:{name}}}"))
    return made


def _in_argument(args: Sequence[str], place: int, argument: str) -> Iterator[WrittenSecret]:
    path = ("args", place)
    name, equals, value = argument.partition("=")
    before = args[place - 1] if place else ""
    if header := _HEADER.fullmatch(argument):
        yield from _in_value(path, header[1], header[2], header.start(2))
    elif equals and "://" not in name:
        yield from _in_value(path, name, value, len(name) + 1)
    elif before.startswith("-") and "=" not in before and not argument.startswith("-"):
        yield from _in_value(path, before, argument, 0)
    else:
        yield from _in_value(path, "", argument, 0)


def _in_value(path: tuple[str | int, ...], name: str, value: str, start: int) -> Iterator[WrittenSecret]:
    """What is secret of a value that begins at `start` of its text: all of it, or parts of the URLs in it."""
    if "${" in value or not value.strip() or is_literal(value) or names_variable(name, value):
        return
    if looks_secret(name) or redact_text(value) == REDACTED:
        yield WrittenSecret(path, name or "token", start, start + len(value))
        return
    for each in secrets_in_urls(value):
        yield WrittenSecret(path, each.name, start + each.start, start + each.end)


def _replaced(value: Any, path: tuple[str | int, ...], secret: WrittenSecret, variable: str) -> Any:
    if not path:
        text = str(value)
        return f"{text[: secret.start]}{variable}{text[secret.end :]}"
    key, *rest = path
    if isinstance(value, Mapping):
        members = cast("Mapping[Any, Any]", value)
        return {**members, key: _replaced(members[key], tuple(rest), secret, variable)}
    items = list(cast("Sequence[Any]", value))
    items[cast("int", key)] = _replaced(items[cast("int", key)], tuple(rest), secret, variable)
    return items


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 2
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    taken.add(free)
    return free
