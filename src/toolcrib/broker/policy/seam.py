"""What may be called: the seam that every request passes before it leaves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from toolcrib.broker.call import Call, Principal
from toolcrib.catalog import Tool


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy says of a call, and why.

    Attributes:
        verdict: What to do with it.
        reason: Why, for a person or a model.
        rule: What decided, for the journal; empty when nothing spoke against the call.
        approval: The approval or the grant that let a call go on that was asked about, or that was refused one;
            empty where nobody was asked.
        approved_by: Who answered: `approver`, `client`, or `inbox` and the user's name; empty likewise.
    """

    verdict: Literal["allow", "ask", "deny"]
    reason: str = ""
    rule: str = ""
    approval: str = ""
    approved_by: str = ""


ALLOW = Decision("allow")

NO_READ = Decision("deny", "it is not known only to read; call_tool calls such tools.", "read_tool")
"""Of a call that is to be made only if it is known to read, and is not."""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool of the catalog whose definition may still be on disk.

    Attributes:
        id: Its id.
        name: Its name on the wire.
        read: Gives the tool with its definition; thousands of them take a second to read.
    """

    id: str
    name: str
    read: Callable[[], Tool]


class Policy(Protocol):
    """Decides what a principal may know of, and what it may call."""

    def hides(self, principal: Principal, server: str, tool: ListedTool | None) -> bool:
        """Whether a tool is wholly denied: it is then outside the visible set, as if it did not exist.

        Args:
            principal: Who must not know of it.
            server: Id of the source.
            tool: The tool; None asks whether the source is denied as a whole, whatever it offers.
        """
        ...

    def decide(self, call: Call) -> Decision:
        """What to do with a call to a visible tool."""
        ...
