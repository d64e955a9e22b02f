"""Search that lets a small model pick among what another strategy found."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from toolcrib.catalog.tool import Tool
from toolcrib.catalog.visible import VisibleSet
from toolcrib.search.base import Hit, Searcher, ServerDocs
from toolcrib.search.explanation import ExplainedHit, Explanation, Share
from toolcrib.search.fields import first_sentence

_CANDIDATES = 30
_SUMMARY_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool to choose from.

    Attributes:
        tool_id: The tool's id.
        summary: The first sentence of its description.
    """

    tool_id: str
    summary: str


Chooser = Callable[[str, Sequence[Candidate]], Awaitable[Sequence[str]]]
"""Given a query and candidates, the ids of those that fit, best first; it may ask a model."""


class DelegateSearcher(Searcher):
    """Searches with another strategy, and puts what a chooser picks of the first thirty hits before the others.

    A chooser that fails or takes too long leaves the hits as they were; `problem` then says why.

    Args:
        candidates: Finds what there is to choose from.
        chooser: Chooses.
        patience: Seconds that it may take.
    """

    name = "delegate"

    def __init__(self, candidates: Searcher, chooser: Chooser, *, patience: float = 30.0) -> None:
        self.candidates = candidates
        self._problem = ""
        self._chooser = chooser
        self._patience = patience
        self._summaries: dict[str, dict[str, str]] = {}

    def add(self, server: ServerDocs, tools: Iterable[Tool], *, digest: str = "") -> None:
        """See `Searcher.add`."""
        listed = list(tools)
        self._summaries[server.id] = {tool.id: _summary(tool) for tool in listed}
        self.candidates.add(server, listed, digest=digest)

    def remove(self, server_id: str) -> None:
        """See `Searcher.remove`."""
        self._summaries.pop(server_id, None)
        self.candidates.remove(server_id)

    async def search(self, query: str, limit: int, visible: VisibleSet | None = None) -> list[Hit]:
        """See `Searcher.search`."""
        if limit <= 0:
            return []
        hits = await self.candidates.search(query, max(limit, _CANDIDATES), visible)
        return (await self._chosen_first(query, hits))[:limit]

    async def explain(
        self, query: str, limit: int, visible: VisibleSet | None = None, *, strategy: str = ""
    ) -> Explanation:
        """See `Searcher.explain`."""
        if strategy not in {"", self.name}:
            return await self.candidates.explain(query, limit, visible, strategy=strategy)
        if limit <= 0:
            return Explanation(self.name, ())
        before = await self.candidates.explain(query, max(limit, _CANDIDATES), visible)
        known = {each.hit.tool_id: each for each in before.hits}
        hits = await self._chosen_first(query, [each.hit for each in before.hits])
        found = [replace(known[hit.tool_id], hit=hit, shares=_with_choice(known[hit.tool_id], hit)) for hit in hits]
        return replace(before, strategy=self.name, hits=tuple(found[:limit]), problem=self._problem or before.problem)

    @property
    def strategies(self) -> tuple[str, ...]:
        """See `Searcher.strategies`."""
        return (self.name, *self.candidates.strategies)

    @property
    def servers(self) -> tuple[str, ...]:
        """See `Searcher.servers`."""
        return self.candidates.servers

    def fingerprint(self, server_id: str) -> str | None:
        """See `Searcher.fingerprint`; summaries are not kept, so a server in a file has to be added."""
        return self.candidates.fingerprint(server_id) if server_id in self._summaries else None

    def save(self, path: Path) -> bool:
        """See `Searcher.save`."""
        return self.candidates.save(path)

    def load(self, path: Path) -> bool:
        """See `Searcher.load`."""
        return self.candidates.load(path)

    @property
    def problem(self) -> str:
        """See `Searcher.problem`."""
        return self._problem or self.candidates.problem

    async def _chosen_first(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        offered = {hit.tool_id: hit for hit in hits[:_CANDIDATES]}
        chosen = await self._chosen(query, list(offered)) if offered else []
        ahead = [_lifted(offered[pick], hits[0].score + len(chosen) - at) for at, pick in enumerate(chosen)]
        return [*ahead, *(hit for hit in hits if hit.tool_id not in chosen)]

    async def _chosen(self, query: str, tool_ids: Sequence[str]) -> list[str]:
        known = {tool_id: text for each in self._summaries.values() for tool_id, text in each.items()}
        try:
            with anyio.fail_after(self._patience):
                picks = list(await self._chooser(query, [Candidate(each, known.get(each, "")) for each in tool_ids]))
        except TimeoutError:
            self._problem = f"The chooser is not used: it did not answer within {self._patience:g} seconds."
        except Exception as error:
            self._problem = f"The chooser is not used: {str(error).rstrip('.') or type(error).__name__}."
        else:
            self._problem = ""
            return [tool_id for tool_id in dict.fromkeys(map(str, picks)) if tool_id in tool_ids]
        return []


def _lifted(hit: Hit, score: float) -> Hit:
    return replace(hit, score=score, why={**hit.why, "chosen": score - hit.score}, weak=False)


def _with_choice(found: ExplainedHit, hit: Hit) -> tuple[Share, ...]:
    chosen = hit.why.get("chosen")
    return found.shares if chosen is None else (Share("chosen", "", "", chosen), *found.shares)


def _summary(tool: Tool) -> str:
    return first_sentence(tool.description)[0][:_SUMMARY_CHARACTERS]
