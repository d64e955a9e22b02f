"""What may be called: the seam that every request passes before it leaves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, Protocol

from toolcrib.broker.call import Call, Principal


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy says of a call, and why.

    Attributes:
        verdict: What to do with it.
        reason: Why, for a person or a model.
        rule: What decided, for the journal; empty when nothing spoke against the call.
    """

    verdict: Literal["allow", "ask", "deny"]
    reason: str = ""
    rule: str = ""


ALLOW = Decision("allow")


class Policy(Protocol):
    """Decides what a principal may know of, and what it may call."""

    def hides(self, principal: Principal, server: str, tool_name: str) -> bool:
        """Whether a tool is wholly denied: it is then outside the visible set, as if it did not exist."""
        ...

    def decide(self, call: Call) -> Decision:
        """What to do with a call to a visible tool."""
        ...


class ServerLists:
    """The policy of a plain configuration: each server's `allow` and `deny` lists, and nothing else.

    Args:
        allow: Globs over the tools' own names, by server id; a server without an entry allows all.
        deny: The same for what is denied; it wins over `allow`.
    """

    def __init__(self, allow: Mapping[str, Sequence[str]], deny: Mapping[str, Sequence[str]]) -> None:
        self._allow = {server: tuple(globs) for server, globs in allow.items()}
        self._deny = {server: tuple(globs) for server, globs in deny.items() if globs}

    def hides(self, principal: Principal, server: str, tool_name: str) -> bool:
        """Whether the lists leave the tool out."""
        allowed = self._allow.get(server)
        if allowed is not None and not any(fnmatchcase(tool_name, glob) for glob in allowed):
            return True
        return any(fnmatchcase(tool_name, glob) for glob in self._deny.get(server, ()))

    def decide(self, call: Call) -> Decision:
        """Whatever is visible may be called."""
        return ALLOW
