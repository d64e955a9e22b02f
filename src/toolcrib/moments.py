"""Moments as people type them."""

import re
import time
from datetime import datetime

from toolcrib.errors import UsageError, shown

_AGO = re.compile(r"(\d{1,6})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def moment_of(text: str) -> float:
    """Seconds since 1970 of a moment that somebody typed: so long ago, or a date and time, in local time unless it
    says otherwise.

    Raises:
        UsageError: It is neither.
    """
    if ago := _AGO.fullmatch(text.strip()):
        return time.time() - int(ago[1]) * _SECONDS[ago[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"{shown(text, 60)} is no moment.", hint="Write 90s, 15m, 2h, 7d, or a date such as 2026-05-01T12:00."
        ) from None
