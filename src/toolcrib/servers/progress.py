"""What is reported while one request is under way, handed on at a bearable rate however fast a server reports it."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 100
"""Reports that are handed on however fast they come."""

PER_SECOND = 20.0
"""Reports that are handed on beyond that; of more, the newest."""


class Reports:
    """Hands on what a server reports while one request is under way.

    Args:
        report: Receives each report.
        on_report: Called at each report that came, handed on or not.
    """

    def __init__(self, report: Callable[..., Awaitable[None]], on_report: Callable[[], None]) -> None:
        self._report = report
        self._on_report = on_report
        self._waiting: deque[tuple[Any, ...]] = deque(maxlen=MOST_AT_ONCE)
        self._spare = float(MOST_AT_ONCE)
        self._counted_at = 0.0
        self._handing_on = False
        self._over = False

    def take(self, *report: Any) -> bool:
        """Take one report; whether `hand_on` has to be run for it."""
        self._on_report()
        self._waiting.append(report)
        return not self._handing_on

    async def hand_on(self) -> None:
        """Hand on what has been taken, in order."""
        if self._handing_on:
            return
        self._handing_on = True
        try:
            while self._waiting and not self._over:
                if not self._allowed():
                    await anyio.sleep(1 / PER_SECOND)
                    while len(self._waiting) > 1:
                        self._waiting.popleft()
                await self._hand_on_one()
        finally:
            self._handing_on = False

    async def finish(self) -> None:
        """Hand on what is still waiting, or the newest of much: the request has been answered."""
        self._over = True
        while self._waiting:
            if not self._allowed():
                while len(self._waiting) > 1:
                    self._waiting.popleft()
            await self._hand_on_one()

    async def _hand_on_one(self) -> None:
        if not self._waiting:
            return
        self._spare -= 1
        try:
            await self._report(*self._waiting.popleft())
        except Exception:
            logger.exception("A report could not be handed on")

    def _allowed(self) -> bool:
        now = anyio.current_time()
        self._spare = min(MOST_AT_ONCE, self._spare + (now - self._counted_at) * PER_SECOND)
        self._counted_at = now
        return self._spare >= 1


class Progress(Reports):
    """The same for progress, in the shape that the SDK calls."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take one report and hand it on, if that is not being done."""
        if self.take(progress, total, message):
            await self.hand_on()
