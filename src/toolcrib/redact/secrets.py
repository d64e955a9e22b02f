"""The secrets of one crib: what its servers were given, and what the configured patterns match."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol
from urllib.parse import quote, unquote
from weakref import WeakSet

from toolcrib.errors import ProtocolError, ToolcribError
from toolcrib.patterns import Matches, Replacer, compile_pattern
from toolcrib.redact.names import is_public, looks_secret, names_variable
from toolcrib.redact.texts import REDACTED, Exact, mapped, redacted, redacted_text
from toolcrib.redact.urls import secrets_in_urls

MIN_SECRET = 6
"""Characters below which an exact value is not searched for: it would also be found inside other words."""

_FEW = 8
"""Values up to which trying each of them on a text is quicker than asking about all at once."""


_LIVING: "WeakSet[Secrets]" = WeakSet()


class HoldsValues(Protocol):
    """What it takes to connect to a server, as the configuration has it."""

    @property
    def env(self) -> Mapping[str, str]:
        """Environment variables by name."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """HTTP headers by name."""
        ...

    @property
    def args(self) -> Sequence[str]:
        """Arguments of the command."""
        ...

    @property
    def url(self) -> str | None:
        """The address, or None."""
        ...


class HoldsSecrets(HoldsValues, Protocol):
    """The same with its variables filled in."""

    @property
    def private(self) -> Sequence[tuple[str, str]]:
        """Names and values that were filled in."""
        ...


class Secrets:
    """What must not be shown: the exact secret values of the configured servers, and what patterns match.

    One for each crib, which all its parts share.

    Args:
        patterns: Regular expressions of Rust's `regex` syntax.

    Raises:
        PatternError: One can't be used.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._values: dict[str, None] = {}
        self._longest_first: list[str] | None = None
        self._any: Matches | None = None
        self._patterns = [Replacer(pattern) for pattern in patterns]
        _LIVING.add(self)

    def add(self, value: str, *, name: str = "") -> None:
        """Remember a value, unless it is too short or plainly public.

        Args:
            value: The value; of `Bearer x` also `x`, of a URL its user name, password and secret parameters.
            name: What it is called. A name that looks secret makes even a plain word a secret.
        """
        if names_variable(name, value):
            return
        secret = looks_secret(name)
        if "://" in value:
            self._add_url(value)
            if not secret:
                return
        scheme, space, rest = value.strip().partition(" ")
        if space and scheme.lower() in _SCHEMES:
            self._remember(rest.strip())
        if secret or not is_public(value):
            self._remember(value.strip())

    def add_entry(self, entry: HoldsValues) -> None:
        """Remember what a configuration says of a server before its variables are filled in."""
        self._add_values(entry, lambda value: "${" not in value)

    def add_server(self, server: HoldsSecrets) -> None:
        """Remember what one server was given: environment, headers, variables, arguments and URL."""
        self._add_values(server, lambda _: True)
        for name, value in server.private:
            self.add(value, name=name)

    def exact(self, text: str) -> str:
        """A text without the secret values that are known, and without what the patterns match."""
        if self._may_hold(text):
            for secret in self._ordered():
                text = text.replace(secret, REDACTED)
        for pattern in self._patterns:
            text = pattern.replace(text, REDACTED)
        return text

    def clean(self, error: ToolcribError) -> None:
        """Take what is known to be secret out of what an error tells whoever made the request.

        Guesses by name are left to logs and the journal: `password: too short` is what a caller has to know.
        """
        error.message, error.hint = self.exact(error.message), self.exact(error.hint)
        error.args = (error.message,)
        if isinstance(error, ProtocolError):
            error.rpc_message = self.exact(error.rpc_message)
            error.data = mapped(error.data, self.exact, 0)

    def text(self, text: str) -> str:
        """`redact_text` with these secrets."""
        return redacted_text(text, self.exact)

    def value(self, value: object) -> object:
        """`redact` with these secrets."""
        return redacted(value, self.exact, 0)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<Secrets: {len(self)} values>"

    def _add_values(self, server: HoldsValues, is_filled: Callable[[str], bool]) -> None:
        for name, value in server.env.items():
            if is_filled(value):
                self.add(value, name=name)
        for name, value in server.headers.items():
            if name.lower() not in _PUBLIC_HEADERS and is_filled(value):
                self.add(value, name=name)
        for name, value in _named_arguments(server.args):
            if looks_secret(name) and is_filled(value):
                self.add(value, name=name)
        for text in (*server.args, server.url or ""):
            if "://" in text and is_filled(text):
                self._add_url(text)

    def _ordered(self) -> list[str]:
        if self._longest_first is None:
            self._longest_first = sorted(self._values, key=len, reverse=True)
        return self._longest_first

    def _may_hold(self, text: str) -> bool:
        if len(self._values) <= _FEW:
            return True
        if self._any is None:
            self._any = compile_pattern("|".join(map(re.escape, self._values)))
        return self._any(text)

    def _add_url(self, url: str) -> None:
        for place in secrets_in_urls(url):
            text = url[place.start : place.end]
            self._remember(text)
            self._remember(unquote(text))

    def _remember(self, value: str) -> None:
        if len(value) < MIN_SECRET:
            return
        self._values.update(dict.fromkeys(spellings(value)))
        self._longest_first = self._any = None


def spellings(value: str) -> tuple[str, ...]:
    """A secret as it is, and as it is spelled inside JSON, a URL and a quoted text."""
    raw = json.dumps(value, ensure_ascii=False)[1:-1]
    return (value, json.dumps(value)[1:-1], raw, _quoted(value, ""), _quoted(value, "/"), repr(value)[1:-1])


def _quoted(value: str, safe: str) -> str:
    return quote(value, safe=safe, errors="replace")


def without_known(text: str) -> str:
    """A text without what any living `Secrets` of this process knows exactly: for logs, which serve all of them."""
    for secrets in list(_LIVING):
        text = secrets.exact(text)
    return text


def redact(value: object, secrets: Iterable[str] = ()) -> object:
    """A JSON-like value without its secrets; the value itself is left as it is.

    Args:
        value: Objects, lists, texts, numbers, booleans and null; anything else is turned into text.
        secrets: Exact values to take out as well, such as a `Secrets`.
    """
    return redacted(value, _without(secrets), 0)


def redact_text(text: str, secrets: Iterable[str] = ()) -> str:
    """A text, such as a log line or an error, without its secrets.

    Args:
        text: The text.
        secrets: Exact values to take out as well, such as a `Secrets`.
    """
    return redacted_text(text, _without(secrets))


def _without(secrets: Iterable[str]) -> Exact:
    if isinstance(secrets, Secrets):
        return secrets.exact
    ordered = sorted(secrets, key=len, reverse=True)

    def exact(text: str) -> str:
        for secret in ordered:
            text = text.replace(secret, REDACTED)
        return text

    return exact


_SCHEMES = frozenset({"bearer", "basic", "token", "apikey", "digest", "negotiate"})
_PUBLIC_HEADERS = frozenset({"accept", "content-type", "user-agent", "host", "origin", "referer"})


def _named_arguments(args: Sequence[str]) -> Iterator[tuple[str, str]]:
    for place, argument in enumerate(args):
        name, equals, value = argument.partition("=")
        if equals:
            yield name, value
        elif argument.startswith("-") and place + 1 < len(args):
            yield argument, args[place + 1]
