"""Those who are told of the progress of one call, which may come and go."""

from contextlib import suppress

from toolcrib.catalog import JsonObject, OnProgress, tell_progress


class Listeners:
    """Tells all who are there of each report, whole; one whose connection broke is no trouble of the call's."""

    def __init__(self) -> None:
        self._present: list[OnProgress] = []

    def add(self, listener: OnProgress) -> None:
        """Let one more be told."""
        self._present.append(listener)

    def remove(self, listener: OnProgress) -> None:
        """Tell it no longer."""
        self._present.remove(listener)

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """See `OnProgress`."""
        for listener in list(self._present):
            with suppress(Exception):
                await listener(progress, total, message)

    async def report(self, params: JsonObject) -> None:
        """See `TakesReports.report`."""
        for listener in list(self._present):
            with suppress(Exception):
                await tell_progress(listener, params)
