"""What the journal holds of one call, and which of them are asked for."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal, get_args

from toolcrib.broker.call import Effect, Face, Origin
from toolcrib.broker.journal.seam import Ending
from toolcrib.errors import UsageError

State = Literal["started", Ending]
"""How a call is: on its way, or how it ended."""

_MOST_SEQ = 1 << 63

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


LONGEST_SOUGHT = 5_000
"""Characters of a text that is looked for: SQLite takes patterns of 50,000 bytes, and some are written as six."""


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
        until: The same: only those that began earlier.
        principal: A principal's name.
        conversation: A conversation.
        text: Stands in the tool's id, the arguments or the error, in capitals or not.

    Raises:
        UsageError: The text is too long to be looked for.
    """

    tool: str = ""
    server: str = ""
    state: str = ""
    effect: str = ""
    run: str = ""
    caller: str = ""
    since: float | None = None
    until: float | None = None
    principal: str = ""
    conversation: str = ""
    text: str = ""

    def __post_init__(self) -> None:
        """Measure the text."""
        if len(self.text) > LONGEST_SOUGHT:
            raise UsageError(
                f"A text of {len(self.text):,} characters is too long to be looked for.",
                hint=f"Give {LONGEST_SOUGHT:,} at most.",
            )

    @property
    def by_time(self) -> bool:
        """Whether what fits is listed by the time at which it began, and not as it was recorded."""
        return self.since is not None or self.until is not None


ALL = Filter()


@dataclass(frozen=True, slots=True)
class Place:
    """An entry's place in a list: the next page begins behind it.

    Attributes:
        seq: Its number.
        started_at: When it began, in seconds since 1970.
    """

    seq: int
    started_at: float

    @classmethod
    def read(cls, text: str) -> "Place":
        """A place from its text.

        Raises:
            ValueError: It is no such text.
        """
        seq, _, began = text.partition("-")
        place = cls(int(seq), float(began))
        if not isfinite(place.started_at) or not 0 <= place.seq < _MOST_SEQ:
            raise ValueError(text)
        return place

    def __str__(self) -> str:
        return f"{self.seq}-{self.started_at!r}"


@dataclass(frozen=True, slots=True)
class JournalPage:
    """Some calls of the journal, newest first.

    Attributes:
        entries: The calls.
        following: Where the next page begins, as `JournalReader.page` takes it; empty where there is none.
        looked_back_to: The time, in seconds since 1970, back to which calls were looked at, where the look was broken
            off before the page was full; None where it was not. The next page goes on from there.
    """

    entries: list[Entry]
    following: str = ""
    looked_back_to: float | None = None


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
