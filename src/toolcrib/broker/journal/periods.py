"""What the journal adds up to in one stretch of time."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

MOST_MEASURED = 1_000
"""Calls of one period by which its latencies are told; of more, so many are chosen by chance."""


@dataclass(frozen=True, slots=True)
class Period:
    """The calls and the discovery of one stretch of time.

    A call belongs to the period in which it was recorded first, a conversation's discovery as a whole to the one in
    which it last looked for a tool.

    Attributes:
        start: Its beginning, in seconds since 1970.
        end: The moment before which it ends.
        calls: All calls on record.
        states: How many of them are in each `State` but `done`; states that none is in are left out.
        median_ms: The middle of the latencies, in milliseconds; None where no call came back.
        p95_ms: What 95 of 100 calls took at most (nearest rank).
        measured: How many calls both are told by: those that came back with a result or an error, at most
            `MOST_MEASURED` of them.
        conversations: Conversations that looked for tools.
        answers: Answers by which tools were found.
        spent: Tokens of those answers and of the constant tools, by the estimate of `toolcrib.tokens`.
        all_definitions: What the definitions of all tools would have cost those conversations, once each.
    """

    start: float
    end: float
    calls: int = 0
    states: Mapping[str, int] = field(default_factory=dict[str, int])
    median_ms: float | None = None
    p95_ms: float | None = None
    measured: int = 0
    conversations: int = 0
    answers: int = 0
    spent: int = 0
    all_definitions: int = 0

    @property
    def done(self) -> int:
        """Calls that ended with a result."""
        return self.calls - sum(self.states.values())

    @property
    def failed(self) -> int:
        """Calls that ended with an error, or of which nobody knows how they ended."""
        return self.states.get("failed", 0) + self.states.get("unknown", 0)

    @property
    def denied(self) -> int:
        """Calls that were not allowed."""
        return self.states.get("denied", 0)

    @property
    def saved(self) -> int:
        """What was saved by not sending all definitions; negative where that would have cost less."""
        return self.all_definitions - self.spent

    def to_json(self) -> dict[str, object]:
        """All of it by name."""
        return {**asdict(self), "states": dict(self.states), "saved": self.saved}
