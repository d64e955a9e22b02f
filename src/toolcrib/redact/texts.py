"""Texts and JSON values without their secrets: by the names beside them, by their form, by what is known exactly."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import cast

from toolcrib.patterns import Matches, compile_pattern
from toolcrib.redact.names import TELLING, is_literal, is_placeholder, is_public, looks_secret, names_variable

REDACTED = "***"
"""What stands where a secret stood."""

Exact = Callable[[str], str]
"""Takes the secrets that are known exactly out of a text."""

_MAX_DEPTH = 64

_LONG = 300
"""Characters beyond which a text is worth a first look by the quick engine."""


def redacted(value: object, exact: Exact, depth: int) -> object:
    """A JSON-like value without its secrets; `depth` counts the levels above it."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return redacted_text(value, exact)
    if depth >= _MAX_DEPTH:
        return REDACTED
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {
            redacted_text(str(key), exact): _masked(str(key), member)
            if looks_secret(str(key))
            else redacted(member, exact, depth + 1)
            for key, member in members.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [redacted(item, exact, depth + 1) for item in cast("Sequence[object]", value)]
    return redacted_text(str(value), exact)


def mapped(value: object, exact: Exact, depth: int) -> object:
    """A JSON value with every text in it, names of members included, put through a function."""
    if isinstance(value, str):
        return exact(value)
    if depth >= _MAX_DEPTH:
        return REDACTED
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {exact(key): mapped(member, exact, depth + 1) for key, member in members.items()}
    if isinstance(value, list):
        return [mapped(item, exact, depth + 1) for item in cast("list[object]", value)]
    return value


def _masked(name: str, value: object) -> object:
    """What is shown of a secret member: whether there is one, and a variable that holds it."""
    if value is None or value == "" or isinstance(value, bool):
        return value
    return value if isinstance(value, str) and (is_placeholder(value) or names_variable(name, value)) else REDACTED


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
            |dckr_pat_|tcrib_)[\w-]{16,}
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


@lru_cache(1)
def _may_hold_any() -> Matches:
    """Says whether any net but the exact one has anything to look for in a text, a thousand times as quick as they."""
    tokens = (
        r"-----BEGIN|eyJ|[spr]k[-_]|gh[pousr]_|github_pat_|gl[a-z]{2,5}-|AKIA|ASIA|xox[a-z]-|xapp-|AIza|ya29\.|SG\."
        "|hf_|npm_|pypi-|shpat_|shpss_|dop_v1_|lin_api_|figd_|ntn_|glc_|glsa_|nvapi-|tvly-|xai-|gsk_|dckr_pat_|tcrib_"
    )
    return compile_pattern(f"{tokens}|://|(?i:{'|'.join(TELLING)}|basic)")


def redacted_text(text: str, exact: Exact) -> str:
    """A text without its secrets."""
    text = exact(text)
    if len(text) > _LONG and not _may_hold_any()(text):
        return text
    text = _TOKENS.sub(REDACTED, text)
    text = _USERINFO.sub(f"{REDACTED}@", text)
    text = _mask_named(text)
    return _CREDENTIALS.sub(_credentials, text)


def _credentials(found: re.Match[str]) -> str:
    # `Basic usage` is prose.
    return found[0] if is_public(found[3]) else f"{found[1]}{found[2]}{REDACTED}"


def _mask_named(text: str) -> str:
    parts: list[str] = []
    at = 0
    for found in _NAME.finditer(text):
        name = found["name"] or found["option"]
        if found.start() < at or not looks_secret(name):
            continue
        end = _value_end(text, found, name)
        value = text[found.end() : end]
        if not value or is_placeholder(value) or names_variable(name, value):
            continue
        if not found["quote"] and is_literal(value):
            continue
        # `unexpected token: foo` is prose.
        if name.lower() in _PROSE and not found["quote"] and is_public(value):
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
