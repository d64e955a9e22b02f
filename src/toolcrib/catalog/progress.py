"""Who is told of the progress of a request, in parts or whole."""

import math
from typing import Any, Protocol, runtime_checkable

from toolcrib.catalog.tool import JsonObject


class OnProgress(Protocol):
    """Receives the progress of a request under way."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take one report; total and message are None where the source says nothing of them."""
        ...


@runtime_checkable
class TakesReports(Protocol):
    """An `OnProgress` that takes each report as its server sent it, with members that no revision names."""

    async def report(self, params: JsonObject) -> None:
        """Take one report, by the params of its notification, without the token of the request."""
        ...


async def tell_progress(on_progress: OnProgress, params: JsonObject) -> None:
    """Hand on one report: whole to whoever takes it so, else by its parts.

    Args:
        on_progress: Who is told.
        params: See `readable_report`.
    """
    if isinstance(on_progress, TakesReports):
        await on_progress.report(params)
    else:
        total = params.get("total")
        await on_progress(float(params["progress"]), None if total is None else float(total), params.get("message"))


def readable_report(params: JsonObject) -> JsonObject | None:
    """The params of a progress notification, without the token and what is of the wrong type (specification 2026-07-28,
    `ProgressNotificationParams`); None where they tell of no progress."""
    if not _is_number(params.get("progress")):
        return None
    wrong = {"progressToken"}
    if not _is_number(params.get("total")):
        wrong.add("total")
    if not isinstance(params.get("message"), str):
        wrong.add("message")
    if not isinstance(params.get("_meta"), dict):
        wrong.add("_meta")
    return {name: value for name, value in params.items() if name not in wrong}


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer that no float holds
        return False
