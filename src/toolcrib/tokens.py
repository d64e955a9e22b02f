"""Counting tokens, always with the name of the counter that did it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import ceil
from typing import Any, Literal

BYTES_PER_TOKEN = 3.6
"""UTF-8 bytes of a tool definition in one o200k token, roughly."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One way of counting tokens.

    Attributes:
        name: What a figure that it counted is labelled with.
        count: Counts the tokens of one text.
    """

    name: str
    count: Callable[[str], int]


@cache
def counter(kind: Literal["auto", "o200k", "estimate"] = "auto") -> Counter:
    """The counter of one kind.

    Args:
        kind: `o200k` counts with OpenAI's o200k vocabulary and needs the extra `tokens`; `estimate` divides
            the UTF-8 bytes by 3.6 and rounds up; `auto` is the first where it is installed, else the second.

    Raises:
        ImportError: `o200k` was asked for and is not installed.
    """
    if kind == "estimate":
        return Counter("bytes / 3.6", _estimate)
    try:
        toktok: Any = import_module("toktok")
    except ImportError:
        if kind == "o200k":
            raise
        return counter("estimate")
    batch_count: Callable[..., list[int]] = toktok.batch_count

    def count(text: str) -> int:
        return batch_count([_without_surrogates(text)], "o200k_base", threads=1)[0]

    return Counter("o200k (toktok)", count)


def count_tokens(text: str) -> int:
    """The tokens of a text by the best counter that is installed."""
    return counter().count(text)


def counter_name() -> str:
    """The name of the counter behind `count_tokens`, to stand beside its figures."""
    return counter().name


def _estimate(text: str) -> int:
    return ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)


def _without_surrogates(text: str) -> str:
    # A lone surrogate, which JSON can carry as \ud800, has no UTF-8 form.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
