"""The `Source` protocol: whatever offers tools, resources or prompts to the broker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from toolcrib.catalog.parts import LOCAL_PRINCIPAL
from toolcrib.catalog.progress import OnProgress
from toolcrib.catalog.tool import JsonObject

ListMethod = Literal["tools/list", "resources/list", "resources/templates/list", "prompts/list"]
"""The list requests of the protocol, by the method name of the wire."""

RequestMethod = Literal["tools/call", "resources/read", "prompts/get", "completion/complete"]
"""The requests that a source answers, by the method name of the wire."""

SAVED_SCRIPTS = "scripts"
"""The id of the source of saved scripts, which no other source may have."""

SKILLS = "skills"
"""The id of the source of skills, which no other source may have."""

SKILL_HEAD = "skill:"
"""Begins the id of a skill, by which it is found and read; no tool's id has a colon."""

LIST_MEMBERS: Mapping[ListMethod, str] = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
"""The member of a list result that holds the entries."""


class ClientSide(Protocol):
    """What stands behind a caller and can be asked: an MCP client, with the capabilities that it declared."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Its `ClientCapabilities` as on the wire; only `roots`, `sampling` and `elicitation` are handed on."""
        ...

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """Answer what a server asks of the client, such as `roots/list`, with the result as on the wire.

        Raises:
            ProtocolError: The client refuses; code, text and data go to the server.
        """
        ...


@runtime_checkable
class TakesLogs(Protocol):
    """What stands behind a caller and takes log messages of servers."""

    @property
    def log_level(self) -> str | None:
        """The least level of the messages that it wants; None leaves it to the server, the empty text wants none."""
        ...

    async def log(self, params: JsonObject) -> None:
        """Take a message, by the params of its notification."""
        ...


@runtime_checkable
class TakesCompletions(Protocol):
    """What stands behind a caller and is told when its user is done at a page that a server sent it to."""

    async def completed(self, params: JsonObject) -> None:
        """Take the word of a server that it is done there, by the params of its notification; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What accompanies one request to a source.

    Attributes:
        timeout: Seconds until the request is given up; None leaves it to the source's own limit.
        on_progress: Asks the source for progress; None asks for none.
        meta: Members for the request's `_meta`, such as trace context.
        connection_key: Names the caller or run whose own connection the request must use, where the source
            keeps several; None uses the shared one.
        client: What stands behind whoever asks. Over a connection of its own, and in the era in which each request
            says so for itself, the source learns of its capabilities; None declares none and answers nothing.
        principal: Who the answer is for: what a server marks as private is kept for this one alone.
    """

    timeout: float | None = None
    on_progress: OnProgress | None = None
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    connection_key: str | None = None
    client: ClientSide | None = None
    principal: str = LOCAL_PRINCIPAL


NO_CONTEXT = RequestContext()


@runtime_checkable
class Claiming(Protocol):
    """A source that says what it offers beside tools."""

    def offers(self, capability: str) -> bool | None:
        """Whether it claims a capability of the protocol's, such as `resources`; None while that is not known."""
        ...


@runtime_checkable
class MidwayAsking(Protocol):
    """A source that may ask whoever stands behind a request while the request is under way."""

    @property
    def asks_midway(self) -> bool:
        """Whether it may."""
        ...


@runtime_checkable
class Source(Protocol):
    """Whatever offers tools, resources or prompts: an MCP server, local functions, saved scripts."""

    @property
    def id(self) -> str:
        """The id that heads this source's tool ids."""
        ...

    @property
    def description(self) -> str:
        """One line about the source from the configuration; empty when there is none."""
        ...

    async def ensure(self, context: RequestContext = NO_CONTEXT) -> None:
        """Connect if need be, and bring the catalog up to what the source lists.

        Args:
            context: Whom it is for.

        Raises:
            ServerError: The source can't be reached.
        """
        ...

    async def list(self, method: ListMethod, context: RequestContext = NO_CONTEXT) -> list[JsonObject]:
        """All entries, over all pages, as the JSON that was sent.

        Args:
            method: What to list.
            context: Whom it is for.

        Raises:
            ServerError: The source can't be reached or refuses.
        """
        ...

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        """Send one request and return its result as the JSON that was sent.

        Raises:
            ServerError: The source can't be reached, closed, timed out or answered with a protocol error.
        """
        ...
