"""Watching requests go by: how many, how long, and how they end."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from toolcrib.broker.call import Caller, Options, Outcome

Proceed = Callable[[Options], Awaitable[Outcome]]
"""Goes on with a request."""


class Asked(NamedTuple):
    """A request as its caller made it, before anything is known of it.

    Attributes:
        method: The request, by its name on the wire.
        target: What for, in the caller's own words.
        caller: Who asks.
    """

    method: str
    target: str
    caller: Caller


class Observer(Protocol):
    """Watches what goes by. What it is told is not to be kept whole: arguments and results are in it."""

    async def around(self, asked: Asked, options: Options, proceed: Proceed) -> Outcome:
        """Let a request go on, once, and return or raise what comes of it.

        Args:
            asked: The request.
            options: With which it goes on; the observer may add to their `meta`.
            proceed: Lets it go on.
        """
        ...

    def searched(self, seconds: float) -> None:
        """A search has taken this long."""
        ...


async def observed(observers: Sequence[Observer], asked: Asked, options: Options, proceed: Proceed) -> Outcome:
    """Let a request go on past all observers, the first outermost."""
    for observer in reversed(observers):
        proceed = partial(_past, observer, asked, proceed)
    return await proceed(options)


async def _past(observer: Observer, asked: Asked, proceed: Proceed, options: Options) -> Outcome:
    return await observer.around(asked, options, proceed)
