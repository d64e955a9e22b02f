"""Taking secrets out of what is logged, stored or shown.

Four nets, since none catches all: names that say that their value is secret, values that look like the
tokens of known services, the exact values that the configured servers were given, and the patterns of the
configuration.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, cast
from urllib.parse import quote, unquote, urlsplit
from weakref import WeakSet

from toolcrib.errors import ProtocolError, ToolcribError
from toolcrib.patterns import Matches, Replacer, compile_pattern

REDACTED = "***"
"""What stands where a secret stood."""

MIN_SECRET = 6
"""Characters below which an exact value is not searched for: it would also be found inside other words."""

_MAX_DEPTH = 64

_FEW = 50
"""Values up to which trying each of them on a text is quicker than asking about all at once."""


_Exact = Callable[[str], str]
"""Takes the secrets that are known exactly out of a text."""


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
        secret = looks_secret(name)
        if "://" in value:
            self._add_url(value)
            if not secret:
                return
        scheme, space, rest = value.strip().partition(" ")
        if space and scheme.lower() in _SCHEMES:
            self._remember(rest.strip())
        if secret or not _is_public(value):
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
            error.data = _mapped(error.data, self.exact, 0)

    def text(self, text: str) -> str:
        """`redact_text` with these secrets."""
        return _redact_text(text, self.exact)

    def value(self, value: object) -> object:
        """`redact` with these secrets."""
        return _redacted(value, self.exact, 0)

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
        try:
            parts = urlsplit(url)
            found = [parts.password]
            if parts.username and parts.password is None:  # https://TOKEN@host
                found.append(parts.username)
        except ValueError:
            return
        for pair in parts.query.split("&"):
            name, _, value = pair.partition("=")
            if looks_secret(unquote(name)):
                found.append(value)
        for text in found:
            if text:
                self._remember(text)
                self._remember(unquote(text))

    def _remember(self, value: str) -> None:
        if len(value) < MIN_SECRET:
            return
        # The same secret as it is spelled inside JSON, a URL and a quoted text.
        spelled = (value, json.dumps(value)[1:-1], quote(value, safe=""), quote(value), repr(value)[1:-1])
        self._values.update(dict.fromkeys(spelled))
        self._longest_first = self._any = None


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
    return _redacted(value, _without(secrets), 0)


def redact_text(text: str, secrets: Iterable[str] = ()) -> str:
    """A text, such as a log line or an error, without its secrets.

    Args:
        text: The text.
        secrets: Exact values to take out as well, such as a `Secrets`.
    """
    return _redact_text(text, _without(secrets))


def _without(secrets: Iterable[str]) -> _Exact:
    if isinstance(secrets, Secrets):
        return secrets.exact
    ordered = sorted(secrets, key=len, reverse=True)

    def exact(text: str) -> str:
        for secret in ordered:
            text = text.replace(secret, REDACTED)
        return text

    return exact


def looks_secret(name: str) -> bool:
    """Whether a name (of a variable, header, option, parameter or member) says that its value is secret."""
    words = [word.lower() for word in _WORD.findall(name[:100])]
    if not words or words[-1] in _ABOUT_SECRETS or _COUNTS.intersection(words):
        return False
    if any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDINGS) for word in words):
        return True
    before = words[-2] if len(words) > 1 else ""
    match words[-1]:
        case "key":
            return before not in _PUBLIC_KEYS
        case "keys" | "tokens":
            return before in _SECRET_KINDS
        case last:
            return last == "auth"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
_SECRET_WORDS = _words(
    "token secret secrets password passwords passwd pwd passphrase passcode otp authorization bearer cookie "
    "cookies credential credentials creds apikey apikeys accesskey secretkey privatekey jwt sig"
)
_SECRET_ENDINGS = ("password", "secret", "token", "apikey", "passwd")
_SECRET_KINDS = _words("access api auth bearer bot encryption private refresh secret signing ssh")
_PUBLIC_KEYS = _words("primary foreign sort partition public issue project cache row object index")
_COUNTS = _words("max min count limit budget usage total used")
_ABOUT_SECRETS = _words("type kind endpoint url uri name policy domain file path expires expiry ttl")

_SCHEMES = frozenset({"bearer", "basic", "token", "apikey", "digest", "negotiate"})
_PUBLIC_HEADERS = frozenset({"accept", "content-type", "user-agent", "host", "origin", "referer"})
_PUBLIC = re.compile(
    r"""
    (?:~|\.{0,2}/|[A-Za-z]:[\\/]|\.{1,2}\\).*                   # a path
    | [\d.,:+-]+                                                # a number, a version, a time
    | [a-z]{1,15}(?:[-_.][a-z]{1,15})* | [A-Z][a-z]{1,15} | [A-Z]{1,15}    # plain words
    | (?:(?:[a-z0-9-]+\.)+[a-z]{2,}|localhost)(?::\d{1,5})?     # a host
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_PLACEHOLDER = re.compile(r"(?:[A-Za-z]+ )?\$\{[A-Za-z0-9_:./-]*\}")


def _is_public(value: str) -> bool:
    return _PUBLIC.fullmatch(value.strip()) is not None


def _is_placeholder(value: str) -> bool:
    # A default behind `:-` may be the secret itself.
    return ":-" not in value and _PLACEHOLDER.fullmatch(value) is not None


def _named_arguments(args: Sequence[str]) -> Iterator[tuple[str, str]]:
    for place, argument in enumerate(args):
        name, equals, value = argument.partition("=")
        if equals:
            yield name, value
        elif argument.startswith("-") and place + 1 < len(args):
            yield argument, args[place + 1]


def _redacted(value: object, exact: _Exact, depth: int) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _redact_text(value, exact)
    if depth >= _MAX_DEPTH:
        return REDACTED
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {
            _redact_text(str(key), exact): _masked(member)
            if looks_secret(str(key))
            else _redacted(member, exact, depth + 1)
            for key, member in members.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_redacted(item, exact, depth + 1) for item in cast("Sequence[object]", value)]
    return _redact_text(str(value), exact)


def _mapped(value: object, exact: _Exact, depth: int) -> object:
    """A JSON value with every text in it, names of members included, put through a function."""
    if isinstance(value, str):
        return exact(value)
    if depth >= _MAX_DEPTH:
        return REDACTED
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {exact(key): _mapped(member, exact, depth + 1) for key, member in members.items()}
    if isinstance(value, list):
        return [_mapped(item, exact, depth + 1) for item in cast("list[object]", value)]
    return value


def _masked(value: object) -> object:
    """What is shown of a secret member: whether there is one, and a variable that is not filled in."""
    if value is None or value == "" or isinstance(value, bool):
        return value
    return value if isinstance(value, str) and _is_placeholder(value) else REDACTED


# Keys of services that can be told by their form.
_TOKENS = re.compile(
    r"""
    -----BEGIN[ ][A-Z ]{0,30}PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]{0,30}PRIVATE[ ]KEY-----|\Z)
    | (?<![A-Za-z0-9_-]) (?:
        eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?                           # JSON Web Token
        | (?=[A-Za-z_-]{0,40}\d) (?:sk|pk|rk)[-_][\w-]{16,}            # OpenAI, Anthropic, Stripe
        | gh[pousr]_\w{20,} | github_pat_\w{20,} | gl[a-z]{2,5}-[\w-]{16,}
        | (?:AKIA|ASIA)[A-Z0-9]{16}                                    # AWS
        | (?:xox[a-z]|xapp)-[A-Za-z0-9-]{8,}                           # Slack
        | AIza[\w-]{30,} | ya29\.[\w-]{16,}                            # Google
        | SG\.[\w-]{16,}\.[\w-]{16,}                                   # SendGrid
        | (?:hf_|npm_|pypi-|shpat_|shpss_|dop_v1_|lin_api_|figd_|ntn_|glc_|glsa_|nvapi-|tvly-|xai-|gsk_
            |dckr_pat_)[\w-]{16,}
    )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_USERINFO = re.compile(r"(?<=://)[^/?#@\s\"'<>]{1,300}@")
# RFC 9110, 11.2: token68
_CREDENTIALS = re.compile(r"(?i)(?<![a-z0-9])(bearer|basic)(\s{1,3})([a-z0-9+/._~-]{6,}+=*+)(?![a-z0-9])")

# A name before its value: `name=value`, `name: value`, `"name": "value"` (also inside a quoted JSON text), or
# `--name value`.
_NAME = re.compile(
    r"""
    (?<![\w-])
    (?: (?P<name>-{0,2}[A-Za-z_][\w.-]{0,80}) [\\"']{0,4} \s{0,3} [=:] \s{0,3} (?P<quote>[\\"']{0,4})
      | (?P<option>--?[A-Za-z][\w-]{0,60}) \s{1,3} (?!-) )
    """,
    re.VERBOSE,
)
_BARE = re.compile(r"\$\{[^{}\s]*\}|[^\s\"'\\,;&)\]}]+")
_LINE = re.compile(r"[^\r\n]+")
_LINE_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
_PROSE = frozenset({"token", "key", "auth", "cookie", "cookies", "credential", "credentials", "sig"})


def _redact_text(text: str, exact: _Exact) -> str:
    text = exact(text)
    text = _TOKENS.sub(REDACTED, text)
    text = _USERINFO.sub(f"{REDACTED}@", text)
    text = _mask_named(text)
    return _CREDENTIALS.sub(_credentials, text)


def _credentials(found: re.Match[str]) -> str:
    # `Basic usage` is prose.
    return found[0] if _is_public(found[3]) else f"{found[1]}{found[2]}{REDACTED}"


def _mask_named(text: str) -> str:
    parts: list[str] = []
    at = 0
    for found in _NAME.finditer(text):
        name = found["name"] or found["option"]
        if found.start() < at or not looks_secret(name):
            continue
        end = _value_end(text, found, name)
        value = text[found.end() : end]
        if not value or _is_placeholder(value):
            continue
        # `unexpected token: foo` is prose.
        if name.lower() in _PROSE and not found["quote"] and _is_public(value):
            continue
        parts += (text[at : found.end()], REDACTED)
        at = end
    return "".join((*parts, text[at:]))


def _value_end(text: str, found: re.Match[str], name: str) -> int:
    start = found.end()
    quote = found["quote"]
    if quote:
        ending = quote if "\\" in quote else quote[-1]
        pattern = rf"(?:(?!{re.escape(ending)}).)*" if "\\" in quote else rf"(?:[^{ending}\\]|\\.)*"
        match = re.compile(pattern, re.DOTALL).match(text, start)
    else:
        match = (_LINE if name.lower() in _LINE_HEADERS else _BARE).match(text, start)
    return match.end() if match else start
