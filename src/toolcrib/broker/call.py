"""Who asks, and for what: the words that the broker and its parts share."""

import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, cast

from toolcrib.catalog import ClientSide, JsonObject, OnProgress, RequestContext, RequestMethod, Tool
from toolcrib.schema import ValidationResult

OWN_SOURCE = "toolcrib"
"""The id of the source whose tools are the house's own. No server can have it."""

Effect = Literal["read", "write", "destructive", "unknown"]
"""What a call may do. `unknown` counts as a write."""

Origin = Literal["direct", "script", "console"]
"""What made a request: a model or program through a face, a script, or a person on the console."""

Face = Literal["library", "stdio", "http", "cli"]
"""The door through which a request came in."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is allowed what: the local user, or the holder of a token.

    Attributes:
        name: The name.
        roles: Roles that come with the token, in order; those that the configuration gives the name count besides.
    """

    name: str = "local"
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal in one conversation. Grants, labels and handles belong to a caller.

    Attributes:
        principal: Who.
        conversation: Which conversation; empty where there is only one.
        origin: What made the request.
        face: Where it came in.
        run: The script run that it belongs to; empty for requests that are no script's.
        within: The saved scripts that it was made by, each called by the one before.
    """

    principal: Principal = field(default_factory=Principal)
    conversation: str = ""
    origin: Origin = "direct"
    face: Face = "library"
    run: str = ""
    within: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """One text for principal and conversation: equal for all requests of one caller, whatever made them."""
        return _caller_key(self.principal.name, self.conversation)

    @property
    def run_key(self) -> str:
        """The same for the one run; of a request that is no script's, the caller's."""
        return json.dumps([self.principal.name, self.conversation, self.run]) if self.run else self.key


@lru_cache(1_024)
def _caller_key(principal: str, conversation: str) -> str:
    """See `Caller.key`, which every call asks for several times."""
    return json.dumps([principal, conversation], ensure_ascii=False)


LOCAL = Caller()
"""The local user outside any conversation."""


@dataclass(frozen=True, slots=True)
class CallerContext(RequestContext):
    """What accompanies a request to a source that makes requests of its own on its caller's behalf: saved scripts.

    Attributes:
        caller: Whose request it is.
    """

    caller: Caller = LOCAL


@dataclass(frozen=True, slots=True)
class Call:
    """One request on its way through the broker, after it was resolved and prepared.

    Attributes:
        id: Unique, for the journal.
        method: The request on the wire.
        target: Tool id, or the id of the source for other requests.
        source: Id of the source.
        params: What goes on the wire.
        caller: Who asks.
        tool: The tool, for `tools/call`.
        effect: What it may do.
    """

    method: RequestMethod
    target: str
    source: str
    params: JsonObject
    caller: Caller
    tool: Tool | None
    effect: Effect
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def arguments(self) -> JsonObject:
        """The arguments of a tool call or prompt; empty for other requests."""
        arguments = self.params.get("arguments")
        return cast("JsonObject", arguments) if isinstance(arguments, dict) else {}

    @property
    def digest(self) -> str:
        """32 hex digits over what is asked for: request, target and params, whatever the order of members."""
        asked = json.dumps([self.method, self.target, self.params], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Options:
    """What a face may set for one request.

    Attributes:
        timeout: Seconds; None leaves it to the server's own limit.
        on_progress: Receives progress; None asks for none.
        budget: Most bytes of JSON that the caller takes in one answer; None takes everything.
        meta: Members for `_meta` of the request, such as trace context.
        only_reads: Whether only a call that is known to read may be made.
        token: What an earlier answer that waits gave, to come back to the parked call.
        input_responses: The answers to what a parked call asked for, by key.
        client: What stands behind the caller and can be asked on its behalf; None where nothing does.
        earlier: Asked, once a call is made ready, whether it was made before: what it came to is answered then, and
            nothing is sent.
        returns: Whether the client is asked by an answer with which it comes back, as those of the stateless era
            are (specification 2026-07-28, multi-round-trip requests), and not at once.
        relays_errors: Whether the client gets a server's error that asks its user to visit a page as that error.
    """

    timeout: float | None = None
    on_progress: OnProgress | None = None
    budget: int | None = None
    meta: JsonObject = field(default_factory=dict[str, Any])
    only_reads: bool = False
    token: str | None = None
    input_responses: JsonObject | None = None
    client: ClientSide | None = None
    returns: bool = False
    relays_errors: bool = False
    earlier: "Callable[[Call], Outcome | None] | None" = None


DEFAULT_OPTIONS = Options()


@dataclass(frozen=True, slots=True)
class Unsettled:
    """An earlier call that asked for the same, and of which nobody knows what it did.

    Attributes:
        id: Its id in the journal.
        started_at: When it began, in seconds since 1970.
    """

    id: str
    started_at: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call.

    Attributes:
        kind: `result`; `tool_error`, a result that the server marked as an error; `input_required`, the
            server asks for something before it goes on.
        result: The result as the JSON that the server sent, or, with a `handle`, the part that fits.
        call: The call.
        changes: What was coerced in the arguments, a sentence each.
        unvalidated: Why the arguments could not be checked, or None when they were.
        handle: Name under which the whole result is kept, or None when `result` is whole.
        token: What to bring along to come back to a parked call, or None.
        unsettled: An earlier call like it that never got an answer: what it does may now be done twice.
    """

    kind: Literal["result", "tool_error", "input_required"]
    result: JsonObject
    call: Call
    changes: tuple[str, ...] = ()
    unvalidated: str | None = None
    handle: str | None = None
    token: str | None = None
    unsettled: Unsettled | None = None

    @property
    def is_error(self) -> bool:
        """Whether the server marked the result as an error."""
        return self.kind == "tool_error"


@dataclass(frozen=True, slots=True)
class Prepared:
    """Arguments made ready: coerced, and checked against the tool's own schema."""

    arguments: JsonObject
    validation: ValidationResult
    changes: tuple[str, ...] = ()
    unvalidated: str | None = None
