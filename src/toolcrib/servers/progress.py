"""What is reported while one request is under way, handed on in order, at a bearable rate however fast it comes."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable

import anyio

from toolcrib.catalog import JsonObject, OnProgress, readable_report, tell_progress

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 100
"""Reports of one kind that are handed on however fast they come."""

PER_SECOND = 20.0
"""Reports that are handed on beyond that; of more, the newest."""


class Reports:
    """Hands on what a server reports while one request is under way, of all kinds in the order in which it came.

    Args:
        on_report: Called at each report that came, handed on or not.
    """

    def __init__(self, on_report: Callable[[], None]) -> None:
        self._on_report = on_report
        self._waiting: deque[tuple[Kind, JsonObject]] = deque()
        self._one_by_one = anyio.Lock()
        self._handing_on = False
        self._over = False

    def take(self, kind: "Kind", report: JsonObject) -> bool:
        """Take one report; whether `hand_on` has to be run for it."""
        self._on_report()
        if self._over:
            return False
        if kind.waiting >= MOST_AT_ONCE:
            self._drop_oldest(kind)
        kind.waiting += 1
        self._waiting.append((kind, report))
        return not self._handing_on

    async def hand_on(self) -> None:
        """Hand on what has been taken."""
        if self._handing_on:
            return
        self._handing_on = True
        try:
            while self._waiting and not self._over:
                kind = self._waiting[0][0]
                if kind.is_allowed():
                    await self._hand_on_one()
                else:
                    await anyio.sleep(1 / PER_SECOND)
                    self._keep_newest(kind)
        finally:
            self._handing_on = False

    async def finish(self) -> None:
        """Hand on what is still waiting, or the newest of much: the request has been answered, and whoever waits for
        the answer gets it after all that was reported before."""
        self._over = True
        await self.catch_up()

    async def catch_up(self) -> None:
        """Hand on what is waiting, or the newest of much, before something that came after it."""
        last = self._waiting[-1] if self._waiting else None
        if self._one_by_one.locked():
            async with self._one_by_one:
                pass  # what was being handed on has been
        while last is not None and any(each is last for each in self._waiting):
            kind = self._waiting[0][0]
            if not kind.is_allowed():
                self._keep_newest(kind)
            await self._hand_on_one()

    async def _hand_on_one(self) -> None:
        async with self._one_by_one:
            if not self._waiting:
                return
            kind, report = self._waiting.popleft()
            kind.waiting -= 1
            kind.spare -= 1
            try:
                await kind.hand(report)
            except Exception:
                logger.exception("A report could not be handed on")

    def _drop_oldest(self, kind: "Kind") -> None:
        for place, (each, _) in enumerate(self._waiting):
            if each is kind:
                del self._waiting[place]
                kind.waiting -= 1
                return

    def _keep_newest(self, kind: "Kind") -> None:
        while kind.waiting > 1:
            self._drop_oldest(kind)


class Kind:
    """One kind of reports, with a rate of its own.

    Args:
        reports: All of the request.
        hand: Receives each report, by the params of its notification.

    Attributes:
        reports: The same.
        hand: The same.
        waiting: How many of this kind wait to be handed on.
        spare: How many may be handed on at once.
    """

    def __init__(self, reports: Reports, hand: Callable[[JsonObject], Awaitable[None]]) -> None:
        self.reports = reports
        self.hand = hand
        self.waiting = 0
        self.spare = float(MOST_AT_ONCE)
        self._counted_at = 0.0

    def take(self, params: JsonObject) -> bool:
        """Take one report; whether `Reports.hand_on` has to be run for it."""
        return self.reports.take(self, params)

    def is_allowed(self) -> bool:
        """Whether one may be handed on now."""
        now = anyio.current_time()
        self.spare = min(MOST_AT_ONCE, self.spare + (now - self._counted_at) * PER_SECOND)
        self._counted_at = now
        return self.spare >= 1


class Progress(Kind):
    """Reports of progress, in the shape that the SDK calls, too.

    Args:
        reports: All of the request.
        on_progress: Receives each.
    """

    def __init__(self, reports: Reports, on_progress: OnProgress) -> None:
        async def hand(params: JsonObject) -> None:
            await tell_progress(on_progress, params)

        super().__init__(reports, hand)

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take one report and hand it on, if that is not being done."""
        report = readable_report({"progress": progress, "total": total, "message": message})
        if report is not None and self.take(report):
            await self.reports.hand_on()
