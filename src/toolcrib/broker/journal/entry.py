"""What the journal holds of one call, and which of them are asked for."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from toolcrib.broker.call import Effect, Face, Origin
from toolcrib.broker.journal.seam import Ending

State = Literal["started", Ending]
"""How a call is: on its way, or how it ended."""

STATES: tuple[str, ...] = ("started", *get_args(Ending))


@dataclass(frozen=True, slots=True)
class Entry:
    """One call, as it stands in the journal. Texts are redacted.

    Attributes:
        seq: Grows with each call recorded.
        id: The call's id.
        instance: The Toolcrib process that made it.
        method: The request on the wire.
        tool: Tool id, or the id of the source for other requests.
        server: Id of the source.
        effect: What it may do.
        principal: Who asked.
        conversation: In which conversation.
        origin: What made the request.
        face: Where it came in.
        run: The script run that it belongs to; empty for requests that are no script's.
        digest: 32 hex digits, equal for calls that ask for the same; keyed, so that arguments can't be guessed
            from it.
        arguments: The arguments as JSON text, redacted and bounded in size; None where only the digest is kept.
        verdict: What the policy said: `allow`, `ask` or `deny`.
        rule: What decided; empty when nothing spoke against the call.
        approval: The approval that it rests on; empty where nobody was asked.
        approved_by: Who gave it.
        labels: Labels of what the caller had read before it.
        attempts: How many times it was sent; 0 where it was not.
        started_at: Seconds since 1970.
        ended_at: The same; None while it has not ended.
        duration_ms: Milliseconds between both, by a clock that does not jump; None where not known.
        state: How it is.
        result_bytes: Size of the result as compact JSON in UTF-8; None without one.
        result_tokens: The same in tokens, estimated.
        error: What went wrong; empty when nothing did.
        repeated_by: The later call of the same that was made though the outcome of this one is unknown.
    """

    seq: int
    id: str
    instance: str
    method: str
    tool: str
    server: str
    effect: Effect
    principal: str
    conversation: str
    origin: Origin
    face: Face
    run: str
    digest: str
    arguments: str | None
    verdict: Literal["allow", "ask", "deny"]
    rule: str
    approval: str
    approved_by: str
    labels: tuple[str, ...]
    attempts: int
    started_at: float
    ended_at: float | None
    duration_ms: float | None
    state: State
    result_bytes: int | None
    result_tokens: int | None
    error: str
    repeated_by: str

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> "Entry":
        """An entry from a row of the table."""
        members: dict[str, Any] = dict(row)
        members["labels"] = tuple(json.loads(members["labels"]))
        return cls(**members)

    def to_json(self) -> dict[str, object]:
        """All of it by name; `arguments` as JSON, not as text."""
        arguments = None if self.arguments is None else json.loads(self.arguments)
        return {**asdict(self), "labels": list(self.labels), "arguments": arguments}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries are asked for; what is empty asks for all.

    Attributes:
        tool: A glob over tool ids.
        server: The id of a source.
        state: See `State`.
        effect: See `Effect`.
        run: A script run.
        caller: A principal's name or a conversation.
        since: Seconds since 1970: not those that began earlier.
    """

    tool: str = ""
    server: str = ""
    state: str = ""
    effect: str = ""
    run: str = ""
    caller: str = ""
    since: float | None = None


ALL = Filter()


@dataclass(frozen=True, slots=True)
class Discovery:
    """What finding tools has cost one conversation, in tokens by the estimate of `toolcrib.tokens`.

    Attributes:
        principal: Who.
        conversation: Which conversation.
        answers: Answers of the constant tools by which tools are found.
        spent: What those answers, and the definitions of the constant tools, cost.
        all_definitions: What the definitions of all tools that the caller may see would have cost, once.
        first_at: When it began, in seconds since 1970.
        last_at: When it went on last.
    """

    principal: str
    conversation: str
    answers: int
    spent: int
    all_definitions: int
    first_at: float
    last_at: float

    @property
    def saved(self) -> int:
        """What was saved by not sending all definitions; negative where that would have cost less."""
        return self.all_definitions - self.spent

    def to_json(self) -> dict[str, object]:
        """All of it by name."""
        return {**asdict(self), "saved": self.saved}
