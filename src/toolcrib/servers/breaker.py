"""How long to leave a failing server alone."""

import random
from collections.abc import Callable

import anyio

FREE_FAILURES = 2
"""Failures in a row after which the next attempt may still come at once: whoever just mended a configuration wants
to try it."""

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds; the pause doubles with each further failure."""

STEADY_SECONDS = 30.0
"""A connection that lasted so long was no failure, however it ended."""


class Breaker:
    """Counts the failures in a row of one server, and says how long to leave it alone.

    While the pause lasts nothing is attempted; after it, one attempt is, and decides. Pauses are spread over half to
    one and a half times their length, so that servers which failed together do not come back together.

    Args:
        clock: The time in seconds.
        chance: A number between 0 and 1.
    """

    def __init__(
        self, clock: Callable[[], float] = anyio.current_time, chance: Callable[[], float] = random.random
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._until = 0.0

    @property
    def pause(self) -> float:
        """Seconds until the next attempt may be made; 0 when it may be made now."""
        return 0.0 if self._failures <= FREE_FAILURES else max(0.0, self._until - self._clock())

    def failed(self) -> None:
        """Count a failure."""
        self._failures += 1
        doubled = FIRST_PAUSE * 2.0 ** min(self._failures - FREE_FAILURES - 1, 16)
        self._until = self._clock() + min(doubled, LONGEST_PAUSE) * (0.5 + self._chance())

    def reset(self) -> None:
        """Forget the failures: it worked, or somebody asked for an attempt now."""
        self._failures = 0
