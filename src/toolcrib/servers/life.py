"""How one connection to a server is doing: what the task that owns it and those who use it share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import anyio

from toolcrib.errors import ServerError
from toolcrib.servers.breaker import Breaker
from toolcrib.servers.status import State

if TYPE_CHECKING:
    from toolcrib.config import ServerConfig
    from toolcrib.servers.connection import Connection
    from toolcrib.servers.failures import Failure


@dataclass(slots=True)
class Attempt:
    """One attempt to connect, shared by all that wait for it.

    Attributes:
        settled: Set when it has succeeded or failed.
        era_remembered: It opens in the era that the server spoke last, unprobed.
        connection: What came of it.
        error: Why nothing came of it.
    """

    settled: anyio.Event = field(default_factory=anyio.Event)
    era_remembered: bool = False
    connection: "Connection | None" = None
    error: ServerError | None = None


class Life:
    """How one connection to a server is doing, and those that follow it.

    Args:
        state: The state to begin with.
        reason: Why, where it is a failure.
        on_change: Called after each change of state.
        breaker: Shared by all connections to one server; None makes one.

    Attributes:
        output: The first and last lines of a failed server, without secrets.
        said: Gives the same of the server that runs, or of the last one.
        connection: The connection that new requests use.
        attempt: The attempt to connect that is under way.
        opening: Cancels that attempt.
        stop: Set to end the connection.
        gone: Set while no owner task exists.
        leaving: The connection is to end as soon as no request uses it.
        busy: How many requests use the connection, or wait for it.
        held: How many want it to stay though nothing uses it.
        last_used: When the last one ended, on the event loop's clock.
        breaker: Says how long to leave a failing server alone.
    """

    def __init__(
        self, state: State, reason: str, on_change: Callable[[], None], breaker: Breaker | None = None
    ) -> None:
        self.state: State = state
        self.reason = reason
        self.output: tuple[str, ...] = ()
        self.said: Callable[[], tuple[str, ...]] = tuple[str, ...]
        self.connection: Connection | None = None
        self.attempt: Attempt | None = None
        self.opening: anyio.CancelScope | None = None
        self.stop = anyio.Event()
        self.gone = anyio.Event()
        self.gone.set()
        self.leaving = False
        self.busy = 0
        self.held = 0
        self.last_used = 0.0
        self.breaker = breaker or Breaker()
        self._on_change = on_change

    @classmethod
    def at_first(cls, config: "ServerConfig", past: "Failure | None", on_change: Callable[[], None]) -> Self:
        """How a server is doing before anybody has used it in this run: as an earlier one has left it."""
        if config.error is not None:
            return cls("failed", str(config.error), on_change)
        if config.disabled or past is None:
            return cls("disabled" if config.disabled else "dormant", "", on_change)
        life = cls(past.state, past.reason, on_change)
        life.output = past.output
        return life

    def become(self, state: State, reason: str = "", output: tuple[str, ...] = ()) -> None:
        """Enter a state."""
        self.state, self.reason, self.output = state, reason, output
        self._on_change()
