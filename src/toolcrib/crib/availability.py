"""What is told of servers that are there or could be."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

AvailableState = Literal["on", "off", "not configured"]


@dataclass(frozen=True, slots=True)
class AvailableServer:
    """A server that is there, or could be.

    Attributes:
        name: Its id, or its name in a registry.
        state: `on`, `off`, or `not configured` where only a registry knows it.
        description: What it is for.
        tools: How many tools it has for the caller; None when that is not known.
        may_enable: Whether enabling it is left to the model.
        place: The registry that describes it; empty for a configured one.
        deprecated: Its registry calls it so.
    """

    name: str
    state: AvailableState
    description: str = ""
    tools: int | None = None
    may_enable: bool = False
    place: str = ""
    deprecated: bool = False


@dataclass(frozen=True, slots=True)
class Availability:
    """Servers that fit a query.

    Attributes:
        found: Configured ones before those of registries, each best first.
        problems: What is wrong with registries.
        unread: Registries that are still being read.
    """

    found: Sequence[AvailableServer] = ()
    problems: Sequence[str] = ()
    unread: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Enabled:
    """A server that is on now: its id, and the ids of its tools that the caller sees."""

    id: str
    tools: Sequence[str]
