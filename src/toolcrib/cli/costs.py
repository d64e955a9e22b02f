"""What tool definitions cost a model in tokens, with Toolcrib and without."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from statistics import median
from typing import TYPE_CHECKING

from toolcrib.tokens import count_tokens, counter_name

if TYPE_CHECKING:
    from toolcrib.catalog import Tool
    from toolcrib.crib import Crib
    from toolcrib.metatools import MetaTools

_SAMPLE_SEARCHES = 9


@dataclass(frozen=True, slots=True)
class Costs:
    """What the definitions of a crib's tools cost, in tokens.

    Attributes:
        counter: What counted.
        tools: Tokens by tool id, in the order of the configuration.
        servers: Tokens by server id.
        surface: Tokens of the constant tools.
        search: Tokens of one search answer at the median of a few; 0 without any tool.
        hidden: Tokens by the id of each tool that can't be used here, since the configuration or the rules hide it;
            all other figures are without these.
    """

    counter: str
    tools: Mapping[str, int]
    servers: Mapping[str, int]
    surface: int
    search: int
    hidden: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def sizes(self) -> dict[str, int]:
        """The number of tools by server id."""
        return Counter(tool.partition(".")[0] for tool in self.tools)

    @property
    def total(self) -> int:
        """Tokens of all definitions."""
        return sum(self.tools.values())

    @property
    def average(self) -> float:
        """Tokens of one definition on average; 0 without any tool."""
        return self.total / len(self.tools) if self.tools else 0.0

    @property
    def saved(self) -> float:
        """The share of the tokens up front that Toolcrib saves; negative when it costs more."""
        return 1 - self.surface / self.total if self.total else 0.0

    @property
    def saved_percent(self) -> str:
        """`saved` in words, never rounded up: 99.98 % is not all."""
        return f"{floor(self.saved * 1000) / 10:g}%"

    @property
    def pays_from(self) -> int | None:
        """How many tools of this size cost more than the constant tools and one search; None without any."""
        return ceil((self.surface + self.search) / self.average) if self.tools else None

    def to_json(self) -> dict[str, object]:
        """All figures, by name."""
        return {
            "counter": self.counter,
            "definitions": {"tools": len(self.tools), "tokens": self.total, "average": round(self.average, 1)},
            "toolcrib": {"tokens": self.surface, "search_answer": self.search},
            "saved": round(self.saved, 4),
            "pays_from_tools": self.pays_from,
            "servers": dict(self.servers),
            "hidden": {"tools": len(self.hidden), "tokens": sum(self.hidden.values())},
        }


async def count_costs(crib: "Crib") -> Costs:
    """Count what the tools of an open crib cost; servers that were never listed count nothing."""
    from toolcrib.catalog import as_sent, definition_tokens
    from toolcrib.metatools import MetaTools

    tools: dict[str, int] = {}
    servers: dict[str, int] = {}
    hidden: dict[str, int] = {}
    sample: list[Tool] = []
    visible = crib.visible()
    for tool in crib.registry.tools():
        if tool.key not in visible:
            hidden[tool.id] = definition_tokens(tool)
            continue
        tools[tool.id] = definition_tokens(tool)
        servers[tool.server] = servers.get(tool.server, 0) + tools[tool.id]
        if tool.description:
            sample.append(tool)
    constant = MetaTools(crib)
    surface = sum(count_tokens(as_sent(each)) for each in constant.definitions())
    return Costs(counter_name(), tools, servers, surface, await _search_tokens(constant, sample), hidden)


async def _search_tokens(constant: "MetaTools", tools: "Sequence[Tool]") -> int:
    """What a search answer costs: the median over searches for what some of the tools say they do."""
    from toolcrib.metatools import SEARCH_TOOLS
    from toolcrib.schema import first_sentence

    step = max(1, len(tools) // _SAMPLE_SEARCHES)
    costs: list[int] = []
    for tool in tools[::step]:
        answer = await constant.call(SEARCH_TOOLS, {"query": first_sentence(tool.description, 120)})
        costs.append(count_tokens(answer["content"][0]["text"]))
    return round(median(costs)) if costs else 0
