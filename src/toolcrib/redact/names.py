"""Names that say that a value is secret, and values that plainly are not."""

import re


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


def names_variable(name: str, value: str) -> bool:
    """Whether a value is the name of an environment variable, and stands where one belongs.

    Codex has `bearer_token_env_var = "NAME"`. A token that was written there by mistake is no such name.
    """
    words = [word.lower() for word in _WORD.findall(name[:100])]
    is_place = words[-1:] in (["env"], ["envvar"]) or words[-2:] == ["env", "var"]
    return is_place and _VARIABLE.fullmatch(value.strip()) is not None


def is_literal(value: str) -> bool:
    """Whether a value is true, false or nothing: `"password": true` says that something is a password."""
    return value.strip().lower() in _LITERALS


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

_LITERALS = _words("true false null none")
_VARIABLE = re.compile(r"[A-Z]{1,20}(?:_(?:[A-Z]{1,20}[0-9]{0,2}|[0-9]{1,2})){0,8}")

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


TELLING = tuple(sorted({*_SECRET_WORDS, *_SECRET_ENDINGS, "key", "auth"}))
"""Words one of which, in any case, is in every name that says that its value is secret."""


def is_public(value: str) -> bool:
    """Whether a value is a plain word, path, number or host: what nobody keeps secret, unless its name says so."""
    return _PUBLIC.fullmatch(value.strip()) is not None


def is_placeholder(value: str) -> bool:
    """Whether a value is a variable that is not filled in."""
    # A default behind `:-` may be the secret itself.
    return ":-" not in value and _PLACEHOLDER.fullmatch(value) is not None
