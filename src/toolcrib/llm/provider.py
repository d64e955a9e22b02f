"""What a language model is to the rest: one protocol, implemented once a vendor."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from toolcrib.catalog import JsonObject
from toolcrib.errors import ToolcribError
from toolcrib.llm.messages import Message

ToolChoice = Literal["auto", "none", "required"]
"""Whether the model may call tools, must not, or has to."""

Stop = Literal["end", "tool_use", "length", "refused", "paused"]
"""Why a turn ended: the model was done; it wants calls made; it ran out of room; it declines; the vendor wants to
be asked to go on."""


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """Tools that belong together: those of one server.

    Attributes:
        name: At most 64 of `[A-Za-z0-9_-]`.
        about: What they are for; never empty.
    """

    name: str
    about: str


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it.

    Attributes:
        name: At most 64 of `[A-Za-z0-9_-]`, beginning with a letter or underscore: what every vendor takes.
        description: What it does; may be empty.
        input_schema: A JSON Schema whose root is an object.
        deferred: Whether the vendor is to hold it back until a result refers to it.
        searches: Whether its results refer to tools that are held back.
        hosted: Whether the vendor runs it itself; then only `searches` says what it is.
        group: What it belongs to, where the vendor may show that in its place until it is found.
    """

    name: str
    description: str
    input_schema: JsonObject
    deferred: bool = False
    searches: bool = False
    hosted: bool = False
    group: ToolGroup | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a model.

    Attributes:
        messages: The conversation, the newest message last.
        system: Standing instructions; may be empty.
        tools: What it may call.
        tool_choice: Whether it may.
        max_output: Most tokens of the answer; None leaves it to the provider.
        forced: The one tool that it has to call, with `auto`; empty leaves it free.
        shape: A JSON Schema that the answer's words are held to; only for a provider that `constrains`.
    """

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    max_output: int | None = None
    forced: str = ""
    shape: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the vendor counted them.

    Attributes:
        input: All of the request, cached parts included.
        output: The answer, reasoning included.
        cache_read: Of `input`, what came out of the vendor's cache.
        cache_write: Of `input`, what went into it.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's words."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of what a model lets be seen of its reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A model's whole answer; always the last event of a stream that did not break off.

    Attributes:
        message: What it said, and the calls it wants made.
        stop: Why it ended.
        usage: What it took.
        detail: What the vendor says of a refusal; may be empty.
    """

    message: Message
    stop: Stop
    usage: Usage = NO_USAGE
    detail: str = ""


ProviderEvent = TextDelta | ThinkingDelta | Turn


@dataclass(frozen=True, slots=True)
class Traits:
    """What a provider with its model can do.

    Attributes:
        window: Tokens that request and answer may take together.
        binds_reasoning: Whether a turn that holds reasoning must stay where it is once results followed it.
        references: Whether a result may refer to tools that were held back (`ToolSpec.deferred`).
        media: Whether images may stand in results.
        constrains: Whether an answer can be held to a JSON Schema (`Request.shape`).
    """

    window: int
    binds_reasoning: bool = False
    references: bool = False
    media: bool = False
    constrains: bool = False


class Provider(Protocol):
    """A model behind a vendor's API. Use `stream`; the turn that ends it is what counts."""

    @property
    def name(self) -> str:
        """The vendor's name, such as `anthropic`."""
        ...

    @property
    def model(self) -> str:
        """The model's name as the vendor has it."""
        ...

    @property
    def traits(self) -> Traits:
        """What it can do."""
        ...

    def payload(self, request: Request) -> JsonObject:
        """What is sent for a request, as JSON: the same request gives the same bytes."""
        ...

    def stream(self, request: Request) -> AsyncGenerator[ProviderEvent]:
        """Ask the model; a `Turn` comes last.

        Raises:
            ProviderError: The vendor refused or failed, or the answer broke off: then there is no turn, and
                none of its calls may be made.
        """
        ...

    async def close(self) -> None:
        """Close the connections that it has opened."""
        ...


class ProviderError(ToolcribError):
    """A model's vendor refused or failed.

    Args:
        provider: The vendor's name.
        retry_after: Seconds that the vendor asks to wait; None when it says nothing.
    """

    code: ClassVar[str] = "provider_failed"

    def __init__(self, provider: str, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.provider = provider
        self.retry_after = retry_after


class ProviderAuthError(ProviderError):
    """The vendor does not accept the key."""

    code = "provider_auth"


class ProviderBusyError(ProviderError):
    """The vendor asks to come back later: a rate limit, or too much load."""

    code = "provider_busy"


class ContextTooLongError(ProviderError):
    """The conversation is longer than the model takes."""

    code = "context_too_long"


class BrokenAnswerError(ProviderError):
    """The answer broke off before its end, so that none of its calls may be made."""

    code = "answer_broken"
