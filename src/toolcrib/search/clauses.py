"""A need of several parts, taken apart into what can be searched for by itself."""

import re

from toolcrib.search.terms import terms

_FEWEST_TERMS = 5
_MOST_CLAUSES = 8

_BORDER = re.compile(r"(?<=[.!?;。！？；])\s*|\n+|[,，、]|\b(?:and|then|also|as well as|additionally)\b", re.IGNORECASE)


def clauses(text: str) -> list[str]:
    """The parts of a text at its sentences, commas and conjunctions, each of several words that mean something."""
    found: list[str] = []
    part, size = "", 0
    for piece in filter(None, map(str.strip, _BORDER.split(text))):
        part, size = f"{part} {piece}".lstrip(), size + len(terms(piece).sequence)
        if size >= _FEWEST_TERMS:
            found.append(part)
            part, size = "", 0
    if part and size:
        found = [*found[:-1], f"{found[-1]} {part}"] if found else [part]
    return found if 1 < len(found) <= _MOST_CLAUSES else []
