"""Moments as they are shown."""

from datetime import datetime


def as_moment(seconds: float) -> str:
    """Seconds since 1970 as a date and time in local time."""
    try:
        return datetime.fromtimestamp(seconds).isoformat(" ", "seconds")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f}"
