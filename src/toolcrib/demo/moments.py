"""When the demo takes place, and how it writes and reads points in time."""

from datetime import UTC, date, datetime

from toolcrib.demo.faults import DemoError

DEMO_NOW = datetime(2026, 3, 16, 9, 0, tzinfo=UTC)
"""The demo's present: a Monday morning. Seeds are relative to it, and its clock starts there."""

DEMO_TODAY = DEMO_NOW.date()

_YEARS = range(2000, 2101)


def timestamp(moment: datetime) -> str:
    """A moment as the demo stores and shows it: RFC 3339 in UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime:
    """The moment that an RFC 3339 text names, in UTC.

    Raises:
        DemoError: There is no such moment (RFC 3339 allows a leap second; Python's calendar knows none), or
            it is not in the years 2000 to 2100.
    """
    try:
        found = datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise DemoError(f"{text} is no point in time.", hint="Write it like 2026-03-16T09:00:00Z.") from error
    if found.year not in _YEARS:
        raise DemoError(f"{text} is too far away.", hint="The demo knows the years 2000 to 2100.")
    return found


def day(text: str) -> date:
    """The day that a text like 2026-03-16 names.

    Raises:
        DemoError: There is no such day.
    """
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise DemoError(f"{text} is no day.", hint="Write it like 2026-03-16.") from error
