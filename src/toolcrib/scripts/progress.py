"""How far a run is, told to whoever asked for it: the calls that ended, and what those under way report."""

from toolcrib.catalog import OnProgress
from toolcrib.sandbox import ScriptCall

_HALF_WAY = 10.0
"""Reports of a call that does not say how many there will be, after which it counts as half done."""


class Steps:
    """The progress of one run: a whole step for each call that ended, a part of one for each under way.

    What is told only ever grows (specification 2026-07-28, progress), whatever the calls report. How many there will
    be only the script knows, so no total is told.

    Args:
        on_progress: Is told; None tells nobody.
    """

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._on_progress = on_progress
        self._ended = 0
        self._parts: dict[int, float] = {}
        self._told = 0.0

    def of(self, call: ScriptCall) -> OnProgress | None:
        """What takes the reports of a call."""
        if self._on_progress is None:
            return None

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            part = progress / total if total else progress / (progress + _HALF_WAY) if progress > 0 else 0.0
            self._parts[call.number] = max(self._parts.get(call.number, 0.0), min(part, 0.99))
            await self._tell(call, message or "")

        return on_progress

    async def ended(self, call: ScriptCall) -> None:
        """Count a call that is over."""
        self._parts.pop(call.number, None)
        self._ended += 1
        await self._tell(call, "")

    async def _tell(self, call: ScriptCall, message: str) -> None:
        progress = self._ended + sum(self._parts.values())
        if self._on_progress is None or progress <= self._told:
            return
        self._told = progress
        await self._on_progress(progress, None, f"call {call.number}: {call.name}{f': {message}' if message else ''}")
