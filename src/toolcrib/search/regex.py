"""Search by regular expression over ids, names, titles and descriptions.

The patterns of models and people run in linear time (`toolcrib.patterns`). What remains is that counted
repetitions can make each step dear; a deadline ends that.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from anyio.lowlevel import checkpoint

from toolcrib.catalog.tool import Tool
from toolcrib.catalog.visible import VisibleSet
from toolcrib.errors import UsageError, shown
from toolcrib.patterns import Matches, PatternError, compile_pattern, encodable
from toolcrib.search.base import Hit, Searcher, ServerDocs

_LONGEST_PATTERN = 200
_LONGEST_TEXT = 4_000
_SECONDS = 0.5
_TOOLS_A_TURN = 200
_SCORES = {"id": 1.0, "title": 0.5, "description": 0.25}
_WHOLE_NAME = 1.0


@dataclass(frozen=True, slots=True)
class _Texts:
    id: str
    name: str
    title: str
    description: str


class RegexSearcher(Searcher):
    """Searches by a regular expression, without regard to case unless the pattern says `(?-i)`."""

    name = "regex"

    def __init__(self) -> None:
        self._texts: dict[str, list[_Texts]] = {}
        self._digests: dict[str, str] = {}

    def add(self, server: ServerDocs, tools: Iterable[Tool], *, digest: str = "") -> None:
        """See `Searcher.add`."""
        self._texts[server.id] = list({tool.id: _texts(tool) for tool in tools}.values())
        self._digests[server.id] = digest

    def remove(self, server_id: str) -> None:
        """See `Searcher.remove`."""
        self._texts.pop(server_id, None)
        self._digests.pop(server_id, None)

    async def search(self, query: str, limit: int, visible: VisibleSet | None = None) -> list[Hit]:
        """See `Searcher.search`; the query is a pattern of Rust's `regex` syntax, of 200 characters at most."""
        known = [texts for part in list(self._texts.values()) for texts in part]
        return await _find(query, (each for each in known if visible is None or each.id in visible), limit)

    @property
    def servers(self) -> tuple[str, ...]:
        """See `Searcher.servers`."""
        return tuple(self._digests)

    def fingerprint(self, server_id: str) -> str | None:
        """See `Searcher.fingerprint`."""
        return self._digests.get(server_id)


async def search_pattern(pattern: str, tools: Iterable[Tool], limit: int) -> list[Hit]:
    """The tools that a regular expression matches, without an index; see `RegexSearcher.search`."""
    return await _find(pattern, map(_texts, tools), limit)


async def _find(query: str, known: Iterable[_Texts], limit: int) -> list[Hit]:
    pattern = encodable(query)
    if not pattern.strip() or limit <= 0:
        return []
    matches, is_whole = _matcher(query, pattern), _matcher(query, f"^(?:{pattern})$")
    hits: list[Hit] = []
    spent = 0.0
    for count, texts in enumerate(known, 1):
        begun = time.thread_time()  # what other programs take of the machine is not the pattern's
        why = _why(texts, matches, is_whole)
        spent += time.thread_time() - begun
        if spent > _SECONDS:
            raise _unusable(query, "it takes too long")
        if why:
            hits.append(Hit(texts.id, sum(why.values()), why))
        if count % _TOOLS_A_TURN == 0:
            await checkpoint()
    return sorted(hits, key=lambda hit: (-hit.score, hit.tool_id))[:limit]


def _texts(tool: Tool) -> _Texts:
    return _Texts(
        tool.id,
        encodable(tool.name),
        encodable(tool.title[:_LONGEST_TEXT]),
        encodable(tool.description[:_LONGEST_TEXT]),
    )


def _why(tool: _Texts, matches: Matches, is_whole: Matches) -> dict[str, float]:
    found = {
        "id": matches(tool.id) or matches(tool.name),
        "title": matches(tool.title),
        "description": matches(tool.description),
    }
    why = {name: _SCORES[name] for name, hit in found.items() if hit}
    if "id" in why and (is_whole(tool.id) or is_whole(tool.name)):
        why["whole name"] = _WHOLE_NAME
    return why


def _matcher(query: str, pattern: str) -> Matches:
    """Says whether a pattern matches anywhere in a text."""
    if len(query) > _LONGEST_PATTERN:
        raise _unusable(query, f"it is longer than {_LONGEST_PATTERN} characters")
    try:
        return compile_pattern(pattern, ignore_case=True)
    except PatternError as error:
        raise _unusable(query, str(error)) from None


def _unusable(query: str, reason: str) -> UsageError:
    return UsageError(
        f"The regular expression {shown(query)} can't be used: {reason.rstrip('.')}.",
        hint="Write a simpler one, without look-around and backreferences, or search by words.",
    )
