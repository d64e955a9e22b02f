"""What finding tools has cost a conversation, until it is written."""

from collections.abc import Callable
from dataclasses import dataclass

from toolcrib.broker.call import Principal
from toolcrib.broker.journal.writing import Row, storable


@dataclass(slots=True)
class Spent:
    """What finding tools has cost one conversation since it was last written.

    Attributes:
        principal: Who.
        conversation: Which conversation.
        first_at: When it began, in seconds since 1970.
        last_at: When it went on last.
        answers: Answers by which tools are found.
        tokens: What they cost.
        price: Says what the definitions of all visible tools would have cost.
    """

    principal: Principal
    conversation: str
    first_at: float
    last_at: float = 0.0
    answers: int = 0
    tokens: int = 0
    price: Callable[[], int] = int

    def take(self, other: "Spent") -> None:
        """Add what could not be written earlier."""
        self.first_at = min(self.first_at, other.first_at)
        self.answers += other.answers
        self.tokens += other.tokens

    def row(self) -> Row:
        """What is to be added to what is on record."""
        return {
            "principal": storable(self.principal.name),
            "conversation": storable(self.conversation),
            "answers": self.answers,
            "spent": self.tokens,
            "all_definitions": self.price(),
            "first_at": self.first_at,
            "last_at": self.last_at,
        }
