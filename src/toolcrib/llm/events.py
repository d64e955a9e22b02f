"""What happens while a question is answered, as `LlmClient.stream` tells it, and what it came to."""

from dataclasses import dataclass
from typing import Literal

from toolcrib.catalog import JsonObject
from toolcrib.llm.account import Account
from toolcrib.llm.provider import NO_USAGE, TextDelta, ThinkingDelta, Usage
from toolcrib.llm.surfaces.base import Kind

Ended = Literal["answered", "rounds", "length", "refused"]
"""How an exchange ended: with an answer; with what the model had when its rounds were used up; cut off for want of
room; the model declined."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model wanted made, and what became of it.

    Attributes:
        id: The call's id in the conversation.
        name: The tool's id, or one of the constant tools.
        arguments: With what it was called.
        kind: Whether it was made, looked something up, or could not be made as it was written.
        is_error: Whether it failed.
    """

    id: str
    name: str
    arguments: JsonObject
    kind: Kind
    is_error: bool


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call is about to be made.

    Attributes:
        id: The call's id in the conversation.
        name: The tool's name as the model wrote it.
        arguments: What it wrote.
    """

    id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A call came back.

    Attributes:
        call: What became of it.
        content: Content blocks that the model is given.
    """

    call: ToolCall
    content: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A model's turn is over.

    Attributes:
        usage: What it took, as the vendor counted.
        account: What the request consisted of, in tokens.
        cost: What it cost; None where the model has no price.
    """

    usage: Usage
    account: Account
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class SkillGiven:
    """The model is given a skill with the question, since its description fits.

    Attributes:
        name: The skill's name.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The conversation had grown too long and begins anew.

    Attributes:
        messages: How many messages were dropped at its beginning.
        segment: The number of the new segment.
    """

    messages: int
    segment: int


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """What a question came to.

    Attributes:
        text: The answer.
        tool_calls: All calls that the model wanted made, in order.
        usage: Of all turns together.
        rounds: Rounds of calls that were made.
        ended: How it ended.
        accounts: What each request consisted of.
        detail: What the vendor says of a refusal.
        cost: Of all turns together; None where the model has no price.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = NO_USAGE
    rounds: int = 0
    ended: Ended = "answered"
    accounts: tuple[Account, ...] = ()
    detail: str = ""
    cost: float | None = None

    @property
    def saved(self) -> int:
        """What the surface saved, in tokens; see `Account.saved`."""
        return sum(account.saved for account in self.accounts)


ClientEvent = TextDelta | ThinkingDelta | ToolStarted | ToolEnded | TurnEnded | SkillGiven | Trimmed | ChatResponse
"""What `LlmClient.stream` gives; a `ChatResponse` comes last."""
