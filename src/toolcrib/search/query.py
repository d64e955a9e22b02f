"""The forms that the `query` of a search can take, and the hits of several needs made one list."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolcrib.errors import UsageError
from toolcrib.search.base import Hit

_MOST_NEEDS = 12

_MOST_IDS = 50
"""Ids that one `select:` may name: as many as one page of a search may hold."""

_SELECT = re.compile(r"select\s*:(?P<ids>.*)", re.IGNORECASE | re.DOTALL)
_REGEX = re.compile(r"regex\s*:(?P<pattern>.*)|/(?P<slashed>.+)/(?P<flags>[gimsux]*)", re.IGNORECASE)
_BULLET = re.compile(r"\s*(?:[-*+•–—·]\s+)?(?:\(?(?:\d{1,3}|[a-zA-Z])[.)]\s+)?(?:\[[ xX]?\]\s+)?")
_QUOTES = "\"'`"


@dataclass(frozen=True, slots=True)
class Browse:
    """Asks which servers there are."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Asks for tools in words.

    Attributes:
        needs: What is needed; each is searched for itself.
    """

    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Select:
    """Asks for tools by their ids.

    Attributes:
        ids: The ids as they were written, each once.
    """

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Asks for the tools that a regular expression matches.

    Attributes:
        pattern: The regular expression.
    """

    pattern: str


Query = Browse | Needs | Select | Pattern
"""What a search asks for."""


def parse_query(text: str | None) -> Query:
    """Understand a query as it was written.

    Nothing asks for the servers; `select:id,id` for tools by their ids; `/pattern/` or `regex:pattern` for a
    regular expression. All else is words: each line is a need of its own, with or without a bullet or a
    number before it. More than twelve lines are a text that was pasted, and one need.

    Raises:
        UsageError: `select:` or `regex:` is followed by nothing, or `select:` by more than fifty ids.
    """
    text = (text or "").strip()
    if not text:
        return Browse()
    if select := _SELECT.fullmatch(text):
        ids = [part.strip(_QUOTES) for part in re.split(r"[,;\s]+", select["ids"])]
        chosen = _each_once(ids, "select:", "Write select: and tool ids with commas between.")
        if len(chosen) > _MOST_IDS:
            raise UsageError(f"select: names {len(chosen)} ids.", hint=f"Name at most {_MOST_IDS} at a time.")
        return Select(chosen)
    if regex := _REGEX.fullmatch(text):
        return Pattern(_pattern(regex))
    lines = [_BULLET.sub("", line, count=1).strip() for line in text.splitlines()]
    needs = tuple(dict.fromkeys(line for line in lines if line))
    return Needs(needs if 0 < len(needs) <= _MOST_NEEDS else (text,))


def merge_needs(found: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """The hits of several needs as one list: the best of each need first, then the second of each, and so on.

    A tool that serves several needs is listed once, and counts for each of them. A longer list begins with
    the same hits as a shorter one.

    Args:
        found: The hits of each need, best first.
        limit: The most hits to return.
    """
    merged: dict[str, Hit] = {}
    for rank in range(max(map(len, found), default=0)):
        for hits in found:
            if rank < len(hits):
                hit = hits[rank]
                known = merged.setdefault(hit.tool_id, hit)
                if known.weak and not hit.weak:
                    merged[hit.tool_id] = hit
    return list(merged.values())[: max(limit, 0)]


def _each_once(parts: Sequence[str], form: str, hint: str) -> tuple[str, ...]:
    given = tuple(dict.fromkeys(part for part in parts if part))
    if not given:
        raise UsageError(f"{form} is followed by nothing.", hint=hint)
    return given


def _pattern(regex: re.Match[str]) -> str:
    if regex["slashed"] is None:
        return _each_once([regex["pattern"].strip()], "regex:", "Write regex: and a regular expression.")[0]
    flags = "".join(flag for flag in "msx" if flag in regex["flags"].lower())
    return f"(?{flags}){regex['slashed']}" if flags else regex["slashed"]
