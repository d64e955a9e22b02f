"""Log messages of a server, taken to the request that they belong to."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import Any

from toolcrib.servers.progress import Kind

_current: ContextVar[Kind | None] = ContextVar("toolcrib_logs", default=None)
"""What takes the log messages of the request that this task sends: an answer over HTTP is read in its context."""


LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of log messages, the least first (RFC 5424)."""


class Logs:
    """The requests of one connection that want log messages.

    Over HTTP a message comes in the stream of its request. Elsewhere nothing on the wire tells whose it is: it is
    taken for that of the only request under way that wants any, and dropped where there are several.
    """

    def __init__(self) -> None:
        self._under_way: list[Kind] = []

    @contextmanager
    def wanted(self, taker: Kind) -> Generator[None]:
        """Let the log messages of the request that the block sends be taken so."""
        self._under_way.append(taker)
        token = _current.set(taker)
        try:
            yield
        finally:
            _current.reset(token)
            self._under_way.remove(taker)

    def taker(self, params: Mapping[str, Any], sender: Context | None) -> Kind | None:
        """What has to hand on a message that came; None where nobody wants it, or it is being done.

        Args:
            params: Of the message.
            sender: The context in which it was received; None for this one.
        """
        found = _current.get() if sender is None else sender.get(_current)
        if found is None or found not in self._under_way:
            found = self._under_way[0] if len(self._under_way) == 1 else None
        return found if found is not None and found.take(dict(params)) else None


def is_lower(level: str, other: str | None) -> bool:
    """Whether messages of a level are less important than those of another one; of none, it is."""
    if other is None or other not in LEVELS:
        return True
    return level in LEVELS and LEVELS.index(level) < LEVELS.index(other)
