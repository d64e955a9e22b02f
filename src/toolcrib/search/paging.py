"""Cursors: where a list goes on, in a form that says nothing and fits only the list that it came from."""

import base64
import binascii
from hashlib import blake2b

from toolcrib.errors import UsageError

_CHECK = 8


def encode_cursor(scope: str, offset: int) -> str:
    """The cursor of a place in a list.

    Args:
        scope: All that decides the list: the query, its options, the version of the catalog.
        offset: How many entries come before that place.
    """
    place = str(offset).encode()
    return base64.urlsafe_b64encode(_check(scope, place) + place).decode().rstrip("=")


def decode_cursor(cursor: str, scope: str) -> int:
    """The offset that `encode_cursor` put into a cursor.

    Args:
        cursor: The cursor, from outside.
        scope: As it was given to `encode_cursor`.

    Raises:
        UsageError: The cursor belongs to another list, or is none.
    """
    try:
        content = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        content = b""
    check, place = content[:_CHECK], content[_CHECK:]
    if not place or check != _check(scope, place):
        raise UsageError(
            "The cursor does not belong to this search, or the tools have changed since.",
            hint="Search again without a cursor.",
        )
    return int(place)


def _check(scope: str, place: bytes) -> bytes:
    return blake2b(place + b" " + scope.encode("utf-8", "replace"), digest_size=_CHECK).digest()
