"""Where secrets stand in addresses."""

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from toolcrib.redact.names import looks_secret

_URL = re.compile(r"://(?P<authority>[^/?#\s\"'<>]*)[^?#\s\"'<>]*(?:\?(?P<query>[^#\s\"'<>]*))?")


class Place(NamedTuple):
    """Where a secret stands in a text.

    Attributes:
        name: What it is called.
        start: Where it begins.
        end: Where it ends.
    """

    name: str
    start: int
    end: int


def secrets_in_urls(text: str) -> Iterator[Place]:
    """The passwords, the user names that stand alone, and the secret parameters of all URLs in a text (RFC 3986)."""
    for found in _URL.finditer(text):
        yield from _in_authority(found["authority"], found.start("authority"))
        start = found.start("query")
        for pair in (found["query"] or "").split("&"):
            name, equals, value = pair.partition("=")
            if value and looks_secret(unquote(name)):
                yield Place(unquote(name), start + len(name) + len(equals), start + len(pair))
            start += len(pair) + 1


def _in_authority(authority: str, start: int) -> Iterator[Place]:
    user, at, _ = authority.rpartition("@")
    name, colon, password = user.partition(":")
    if not at:
        return
    if password:
        yield Place("password", start + len(name) + len(colon), start + len(user))
    elif name and not colon:  # https://TOKEN@host
        yield Place("token", start, start + len(name))
