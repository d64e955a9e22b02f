"""Every error that Toolcrib raises on purpose.

One hierarchy under `ToolcribError`. Each class has a stable `code` for programs; each error says what
happened to which server or tool (`message`) and what to do about it (`hint`).
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar


class ToolcribError(Exception):
    """Base of all errors raised on purpose.

    Args:
        message: One sentence: what happened, to which server or tool.
        hint: One sentence: what to do about it. Empty when there is nothing to do.
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()

    def to_json(self) -> dict[str, object]:
        """The error as a program reads it: `code`, `message` and, where there is one, `hint`."""
        body: dict[str, object] = {"code": self.code, "message": self.message}
        if self.hint:
            body["hint"] = self.hint
        return body


class UsageError(ToolcribError):
    """Something was asked for in a way that cannot be understood."""

    code = "usage"


class ConfigError(ToolcribError):
    """A configuration, or one server's entry in it, can't be used."""

    code = "config_invalid"


class StoreError(ToolcribError):
    """The state directory or its database can't be used."""

    code = "store_unusable"


class LostListingError(StoreError):
    """What a server listed was stored, and can't be read any more.

    Args:
        server: The server's id.
    """

    code = "listing_lost"

    def __init__(self, server: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.server = server


class UnknownToolError(ToolcribError):
    """No visible tool has that id.

    Args:
        name: What was asked for.
        candidates: Ids that it may have meant, best first; only from the caller's visible set.
    """

    code = "tool_unknown"

    def __init__(self, name: str, candidates: Sequence[str] = (), *, hint: str = "") -> None:
        if not hint:
            hint = (
                f"Did you mean {' or '.join(candidates)}?"
                if candidates
                else "search_tools finds the id of a tool from words that describe it."
            )
        super().__init__(f"There is no tool {shown(name)}.", hint=hint)
        self.name = name
        self.candidates = tuple(candidates)


class AmbiguousNameError(ToolcribError):
    """A short or foreign spelling of a name fits several tools."""

    code = "name_ambiguous"

    def __init__(self, name: str, candidates: Sequence[str]) -> None:
        super().__init__(f"{shown(name)} names several tools.", hint=f"Use one of: {', '.join(candidates)}.")
        self.name = name
        self.candidates = tuple(candidates)


class DeniedError(ToolcribError):
    """A policy rule forbids the call."""

    code = "denied"


class SandboxError(ToolcribError):
    """Scripts of a language can't be run here, or a suspended one can't be taken up."""

    code = "sandbox_unavailable"


class ServerError(ToolcribError):
    """One server failed.

    Args:
        server: The server's id.
    """

    code = "server_failed"

    def __init__(self, server: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.server = server

    def to_json(self) -> dict[str, object]:
        """As `ToolcribError.to_json`, with the server's id."""
        return {**super().to_json(), "server": self.server}


class ServerStartError(ServerError):
    """A server could not be started or connected to."""

    code = "server_start_failed"


class AuthRequiredError(ServerError):
    """A server lets nobody in, or not to what was asked for, before somebody has logged in."""

    code = "needs_auth"


class ServerClosedError(ServerError):
    """The connection to a server ended while it was needed."""

    code = "server_closed"


class CallTimeoutError(ServerError):
    """A server did not answer in time."""

    code = "timeout"


class UnknownOutcomeError(ServerError):
    """A call was sent and its answer never came: its effect may or may not have happened."""

    code = "outcome_unknown"


class ProtocolError(ServerError):
    """A server answered a request with a JSON-RPC error.

    Args:
        server: The server's id.
        message: The server's own text.
        rpc_code: The JSON-RPC error code.
        data: The JSON-RPC error's `data`, as sent.
    """

    code = "protocol_error"

    def __init__(self, server: str, message: str, *, rpc_code: int, data: object = None) -> None:
        super().__init__(server, f"Server {server} answered with error {rpc_code}: {message}")
        self.rpc_code = rpc_code
        self.rpc_message = message
        self.data = data

    def to_json(self) -> dict[str, object]:
        """As `ServerError.to_json`, with the JSON-RPC code."""
        return {**super().to_json(), "rpc_code": self.rpc_code}


def shown(name: str, limit: int = 120) -> str:
    """A name from outside as it may stand in a message: quoted, on one line, cut when very long."""
    text = repr(name)
    return text if len(text) <= limit else f"{text[:limit]}…'"


LEAST_LIKENESS = 0.65
"""Share of letters in common, in order, below which one name was not meant by another; `difflib`'s ratio."""
SAME_LIKENESS = 0.1
"""How much less like it than the best one a name may be, and be named beside that one."""


def probably_meant(name: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """Those of some names that were probably meant by one that is none of them, best first.

    Only what is about as near as the nearest: beside a slip of one letter, all else is far off.

    Args:
        name: What was written; the first hundred letters are looked at.
        names: What there is.
        limit: How many to name.
    """
    from difflib import SequenceMatcher, get_close_matches

    wanted = name[:100]
    near = get_close_matches(wanted, list(names), limit, LEAST_LIKENESS)
    # as `get_close_matches` puts them: the order makes a difference to the ratio
    likeness = [SequenceMatcher(None, each, wanted).ratio() for each in near]
    return [each for each, ratio in zip(near, likeness, strict=True) if ratio >= likeness[0] - SAME_LIKENESS]
