"""Bytes and text: UTF-8, UTF-16 and UTF-32, with or without a byte order mark, as it was found."""

import codecs
import json
from dataclasses import dataclass

from toolcrib.errors import ConfigError

_MARKS = (
    # The longer ones first: UTF-32's little-endian mark begins with UTF-16's.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a text is written as bytes.

    Attributes:
        name: Python's name of it.
        mark: The byte order mark before it; empty when there is none.
    """

    name: str = "utf-8"
    mark: bytes = b""


def decoded(data: bytes, name: str) -> tuple[str, Encoding]:
    """The text, line ends as they are, and how to write it again.

    Args:
        data: What a file holds.
        name: What errors call it.

    Raises:
        ConfigError: It is not text.
    """
    encoding = next((Encoding(each, mark) for mark, each in _MARKS if data.startswith(mark)), None)
    if encoding is None:
        encoding = Encoding(json.detect_encoding(data)) if data else Encoding()
    try:
        return data[len(encoding.mark) :].decode(encoding.name), encoding
    except UnicodeDecodeError:
        raise ConfigError(f"{name} is not text.", hint="Save it as UTF-8.") from None


def encoded(text: str, encoding: Encoding) -> bytes:
    """A text as bytes, as `decoded` found it."""
    return encoding.mark + text.encode(encoding.name)
