"""Skills found by words: an index of their own, beside that of the tools.

So a skill takes no tool's place among the hits, and the words of skills change nothing about which tools are found.
"""

import re
from collections.abc import Sequence

from toolcrib.catalog import SKILLS, Tool
from toolcrib.search import Hit, KeywordSearcher, Needs, Pattern, RegexSearcher, Searcher, ServerDocs
from toolcrib.skills import Skill

MOST_FOUND = 3
"""Skills that are told beside the tools."""

FITS = 0.255
"""How sure a search has to be that a skill is for what is asked for. Of tools less is enough: there are many, and what
is found is only told of. `tests/crib/test_skill_search.py` has the requests that it was measured with: of 13 that fit,
a search among one, two and five skills is surer of 11, 12 and 12; of 18 that don't, of none, two and two."""

_MOST_PARTS = 12
_PARTS = re.compile(r"(?<=[.!?])\s+|\n+")


class SkillIndex:
    """Finds skills among those that it is asked about; what it was asked about last stays indexed."""

    def __init__(self) -> None:
        self._indexed: tuple[Skill, ...] = ()
        self._words = KeywordSearcher()
        self._patterns = RegexSearcher()

    async def search(self, query: Needs | Pattern, skills: Sequence[Skill]) -> list[Skill]:
        """The skills that fit a query, best first."""
        if not skills:
            return []
        self._take(skills)
        if isinstance(query, Pattern):
            hits = await self._patterns.search(query.pattern, MOST_FOUND, None)
            return _skills(hits, skills)
        return await self._best(query.needs, skills)

    async def fitting(self, request: str, skills: Sequence[Skill]) -> list[Skill]:
        """The skills that are for what somebody asks for, best first: as a whole, or in one of its sentences."""
        if not skills:
            return []
        self._take(skills)
        parts = [part for part in _PARTS.split(request) if part.strip()]
        return await self._best([request, *parts[:_MOST_PARTS]], skills)

    async def _best(self, needs: Sequence[str], skills: Sequence[Skill]) -> list[Skill]:
        best: dict[str, Hit] = {}
        words = self._words  # others may ask about other skills meanwhile
        for need in needs:
            for hit in await words.search(need, MOST_FOUND, None):
                known = best.get(hit.tool_id)
                if (hit.confidence or 0.0) >= FITS and (known is None or _sure(hit) > _sure(known)):
                    best[hit.tool_id] = hit
        return _skills(sorted(best.values(), key=lambda hit: (-_sure(hit), hit.tool_id))[:MOST_FOUND], skills)

    def _take(self, skills: Sequence[Skill]) -> None:
        wanted = tuple(skills)
        if self._indexed == wanted:
            return
        self._indexed = wanted
        searchers: tuple[Searcher, ...] = (KeywordSearcher(), RegexSearcher())
        for searcher in searchers:
            searcher.add(ServerDocs(SKILLS), map(as_tool, wanted))
        self._words, self._patterns = searchers[0], searchers[1]


def as_tool(skill: Skill) -> Tool:
    """A skill as searches and policies take it: its name and what it is for."""
    return Tool(skill.id, SKILLS, skill.name, {"name": skill.name, "description": skill.description})


def _skills(hits: Sequence[Hit], among: Sequence[Skill]) -> list[Skill]:
    known = {skill.id: skill for skill in among}
    return [known[hit.tool_id] for hit in hits]


def _sure(hit: Hit) -> float:
    return hit.confidence or 0.0
