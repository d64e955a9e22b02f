"""Heads of HTTP/1.1 messages as nearly all are, written and read at once.

h11 goes through them header by header and state by state, at the cost of a good part of a call. Here
one expression says whether a head is of the usual form; what is not, is left to h11, which also tells what is wrong.
The forms are those of RFC 9110 and 9112, a little narrower than h11's.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import httpx2

_TOKEN = rb"[-!#$%&'*+.^_`|~0-9a-zA-Z]+"
_VALUE = rb"(?:[\x21-\x7e\x80-\xff]+(?:[ \t]+[\x21-\x7e\x80-\xff]+)*)?"
_FIELDS = re.compile(rb"(?:" + _TOKEN + rb": " + _VALUE + rb"\r\n)*")
_FIELD = re.compile(rb"(" + _TOKEN + rb"):[ \t]*(" + _VALUE + rb")[ \t]*\r\n")
_STATUS = re.compile(rb"HTTP/1\.1 ([2-5][0-9][0-9])(?: ([ -~]*))?\r\n")
_TARGET = re.compile(rb"[\x21-\x7e]+")
_LENGTH = re.compile(rb"[0-9]{1,9}")

_UNUSUAL_SENT = frozenset({b"transfer-encoding", b"expect", b"upgrade"})
_UNUSUAL_RECEIVED = frozenset({b"transfer-encoding", b"content-encoding", b"upgrade"})
_BODILESS = frozenset({204, 304})


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a response whose body has a known length.

    Attributes:
        status: Its status code.
        reason: What is said beside it.
        headers: As they came.
        size: Bytes of the head.
        length: Bytes of the body.
    """

    status: int
    reason: bytes
    headers: list[tuple[bytes, bytes]]
    size: int
    length: int


def written(request: httpx2.Request, body: bytes) -> bytes | None:
    """A POST as its bytes; None if it is not of the usual form."""
    raw: Sequence[tuple[bytes, bytes]] = request.headers.raw
    lengths = hosts = 0
    for name, value in raw:
        lower = name.lower()
        if lower in _UNUSUAL_SENT or (lower == b"connection" and value.lower() != b"keep-alive"):
            return None
        if lower == b"content-length":
            lengths += 1 if value == b"%d" % len(body) else 2
        elif lower == b"host":
            hosts += 1
    fields = b"".join([b"%s: %s\r\n" % each for each in raw])
    target = request.url.raw_path
    if request.method != "POST" or lengths != 1 or hosts != 1 or not _TARGET.fullmatch(target):
        return None
    if fields.count(b"\n") != len(raw) or not _FIELDS.fullmatch(fields):  # else one value could make two headers
        return None
    return b"POST %s HTTP/1.1\r\n%s\r\n%s" % (target, fields, body)


def read(data: bytes, most_bytes: int, largest: int) -> Head | None:
    """The head with which a response begins; None if it is not of the usual form, or not whole.

    Args:
        data: What came first.
        most_bytes: Longest body.
        largest: Longest head.
    """
    status = _STATUS.match(data)
    end = data.find(b"\r\n\r\n", 0, largest)
    if status is None or end < 0:
        return None
    headers: list[tuple[bytes, bytes]] = []
    length = -1
    at, size = status.end(), end + 4
    while at < end:
        field = _FIELD.match(data, at, size)
        if field is None:
            return None
        name, value = field.groups()
        lower = name.lower()
        if lower in _UNUSUAL_RECEIVED or (lower == b"connection" and value.lower() != b"keep-alive"):
            return None
        if lower == b"content-length":
            if length >= 0 or not _LENGTH.fullmatch(value):
                return None
            length = int(value)
        headers.append((name, value))
        at = field.end()
    code = int(status[1])
    if not 0 <= length <= most_bytes or code in _BODILESS:
        return None
    return Head(code, status[2] or b"", headers, size, length)
