"""What every search strategy promises: `Searcher`, what it is fed with, and the `Hit`s that it returns."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.catalog.tool import Tool
from toolcrib.catalog.visible import VisibleSet

if TYPE_CHECKING:
    from toolcrib.search.explanation import Explanation


@dataclass(frozen=True, slots=True)
class Hit:
    """One tool found.

    Attributes:
        tool_id: The tool's id.
        score: How well it fits; only comparable with the other hits of the same search.
        why: The parts of the score by name, in the same unit; they add up to it.
        weak: Even so, this match is too thin to say that the tool does what was asked for.
        confidence: How sure it is that the tool does that, comparable between searches of one strategy and from
            catalog to catalog; None where a strategy has no measure of it.
    """

    tool_id: str
    score: float
    why: Mapping[str, float] = field(default_factory=dict[str, float])
    weak: bool = False
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class ServerDocs:
    """What is known of a server beside its tools.

    Attributes:
        id: The server's id.
        title: Its display name.
        description: What the configuration, or else the server, says that it is for.
        instructions: The server's own instructions.
        tags: Words that the configuration gives to it.
    """

    id: str
    title: str = ""
    description: str = ""
    instructions: str = ""
    tags: tuple[str, ...] = ()


class Searcher(ABC):
    """Finds the tools that fit a need.

    A strategy is one subclass. `add`, `remove` and `search` make a whole one; a strategy that is costly to
    fill also keeps what it built (`fingerprint`, `save`, `load`).
    """

    name: str = "own"
    """What the configuration calls the strategy; a program's own may be called as it likes."""

    @property
    def problem(self) -> str:
        """Why a model that it should have asked last time was not used; empty where all is well."""
        return ""

    @abstractmethod
    def add(self, server: ServerDocs, tools: Iterable[Tool], *, digest: str = "") -> None:
        """Take in all tools of one server, in place of those that it had.

        Args:
            server: The server.
            tools: All its tools.
            digest: Changes whenever the server's documents or tools do; `fingerprint` gives it back.
        """

    @abstractmethod
    def remove(self, server_id: str) -> None:
        """Forget a server and its tools; a server that is not known is none to forget."""

    @abstractmethod
    async def search(self, query: str, limit: int, visible: VisibleSet | None = None) -> list[Hit]:
        """The tools that fit, best first; equal scores in the order of their ids.

        Args:
            query: One need, in whatever words the caller has.
            limit: The most hits to return.
            visible: Only these tools exist for the caller; None means all.

        Raises:
            UsageError: The query is not in the language of this strategy.
        """

    @property
    def strategies(self) -> tuple[str, ...]:
        """The strategies by which `explain` can rank what was added, its own first."""
        return (self.name,)

    async def explain(
        self, query: str, limit: int, visible: VisibleSet | None = None, *, strategy: str = ""
    ) -> "Explanation":
        """What `search` finds, with what each part of the scores is made of.

        A searcher that knows no more of them than their names need not have this.

        Args:
            query: See `search`.
            limit: See `search`.
            visible: See `search`.
            strategy: One of `strategies`; empty for its own.

        Raises:
            UsageError: See `search`.
        """
        from toolcrib.search.explanation import Explanation, in_one_piece

        hits = await self.search(query, limit, visible)
        return Explanation(self.name, in_one_piece(hits), problem=self.problem)

    @property
    def servers(self) -> tuple[str, ...]:
        """The ids of the servers taken in."""
        return ()

    def fingerprint(self, server_id: str) -> str | None:
        """The digest that the server was added with; None when it has to be added."""
        return None

    def save(self, path: Path) -> bool:
        """Keep what was built in a file, and say whether that was done; any number of writers may try."""
        return False

    def load(self, path: Path) -> bool:
        """Become what `save` kept, and say whether that was possible; a file that can't be used is no error."""
        return False


def nothing_fits(hits: Sequence[Hit]) -> bool:
    """Whether probably no visible tool does what was asked for: there are no hits, or only weak ones."""
    return all(hit.weak for hit in hits)
