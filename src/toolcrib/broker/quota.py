"""How often a principal may ask: token buckets, refilled evenly."""

import time
from collections.abc import Callable, Mapping
from typing import ClassVar, Literal

from toolcrib.broker.call import Principal
from toolcrib.config import PrincipalSettings, entry_of
from toolcrib.errors import ToolcribError

_MOST_KEPT = 10_000


class RateLimitedError(ToolcribError):
    """A principal has asked too often; nothing was done.

    Args:
        principal: Who.
        what: What there were too many of.
        per_minute: How many there may be in a minute.
        wait: Seconds until the next one.
    """

    code: ClassVar[str] = "rate_limited"

    def __init__(self, principal: str, what: str, per_minute: int, wait: float) -> None:
        bound = f"1 {what.removesuffix('s')} a minute" if per_minute == 1 else f"{per_minute} {what} a minute"
        super().__init__(
            f"{principal} may make {bound}, and has made them.",
            hint=f"Nothing was done; ask again in {whole_seconds(wait)} s.",
        )
        self.wait = wait


def whole_seconds(wait: float) -> int:
    """Seconds as `Retry-After` has them: at least 1."""
    return max(1, -int(-wait // 1))


class Quota:
    """Counts what principals ask for, each by itself.

    A minute's worth may be asked for at once; each further request has to wait until its part of a minute has passed.

    Args:
        principals: The configured bounds.
        bound: Which of them.
        clock: Seconds, of any beginning.
    """

    def __init__(
        self,
        principals: Mapping[str, PrincipalSettings],
        bound: Literal["requests", "calls"],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what: Literal["requests", "calls"] = bound
        self._principals = principals
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    @property
    def is_bound(self) -> bool:
        """Whether anybody is bound at all."""
        return any(self._most(each) is not None for each in self._principals.values())

    def take(self, principal: Principal) -> None:
        """Count one.

        Raises:
            RateLimitedError: It is one too many.
        """
        entry = entry_of(self._principals, principal.name)
        most = None if entry is None else self._most(entry)
        if most is None:
            return
        now = self._clock()
        left, last = self._left.pop(principal.name, (float(most), now))
        left = min(float(most), left + (now - last) * most / 60)
        if left < 1:
            self._left[principal.name] = (left, now)
            raise RateLimitedError(principal.name, self._what, most, (1 - left) * 60 / most)
        if len(self._left) >= _MOST_KEPT:
            del self._left[next(iter(self._left))]  # whoever has been silent longest
        self._left[principal.name] = (left - 1, now)

    def _most(self, entry: PrincipalSettings) -> int | None:
        return entry.requests_per_minute if self._what == "requests" else entry.calls_per_minute
