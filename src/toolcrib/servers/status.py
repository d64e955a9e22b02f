"""What is known of one server at a moment."""

from dataclasses import dataclass
from typing import Literal

State = Literal["dormant", "starting", "ready", "idle", "needs_auth", "failed", "backing_off", "disabled"]
"""`dormant`: not connected, and started when needed. `idle`: connected, and unused for a while. `needs_auth`: it wants
a login first, or another one. `failed`: the last attempt failed; the next need tries again. `backing_off`: several
failed in a row; no attempt is made for a while."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What is known of one server at a moment.

    Attributes:
        id: The server's id.
        key: Its key in the configuration.
        state: See `State`; before it was used in this run, the one that an earlier run left it in.
        reason: Why it failed, or what it needs; empty otherwise.
        output: Its first and last lines on standard error, when it failed.
        era: `modern` (2026-07-28), `handshake`, or None while never connected.
        protocol_version: The revision agreed on last, or None.
        tools: How many tools it listed last, or None while never listed.
        listed_at: When that was, in seconds since 1970.
        pid: Process id of a running stdio server, or None; of several processes, the shared one's first.
        connections: How many connections to it are open: the shared one, and those of single callers.
        description: From the configuration, else the server's own title or name.
    """

    id: str
    key: str
    state: State
    reason: str = ""
    output: tuple[str, ...] = ()
    era: Literal["modern", "handshake"] | None = None
    protocol_version: str | None = None
    tools: int | None = None
    listed_at: float | None = None
    pid: int | None = None
    connections: int = 0
    description: str = ""

    @property
    def in_trouble(self) -> bool:
        """Whether it is of no use now, for a reason that is given."""
        return self.state in {"needs_auth", "failed", "backing_off"}

    def to_json(self) -> dict[str, object]:
        """All members, by name."""
        return {
            "id": self.id,
            "key": self.key,
            "state": self.state,
            "reason": self.reason,
            "output": list(self.output),
            "era": self.era,
            "protocol_version": self.protocol_version,
            "tools": self.tools,
            "listed_at": self.listed_at,
            "pid": self.pid,
            "connections": self.connections,
            "description": self.description,
        }
