"""The stretches of time that figures are shown for, cut into equal parts that begin at round moments."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time up to now.

    Attributes:
        name: Its name, as in an address.
        seconds: How long it is.
        part: How long each of its parts is, in seconds.
        form: How a moment in it is written, as for `strftime`.
        follows: Whether its figures follow what happens while a page is open; those of long ones hardly move, and
            cost more to add up.
    """

    name: str
    seconds: int
    part: int
    form: str
    follows: bool

    def edges(self, now: float) -> list[float]:
        """The moments at which its parts begin and end, in seconds since 1970: the last part is the one that holds now.

        Parts of an hour or more begin when the clocks of this machine show a multiple of them.
        """
        shift = datetime.fromtimestamp(now).astimezone().utcoffset()
        offset = shift.total_seconds() if shift else 0.0
        end = ((now + offset) // self.part + 1) * self.part - offset
        count = self.seconds // self.part
        return [end - self.part * back for back in range(count, -1, -1)]

    def written(self, moment: float) -> str:
        """A moment, in the time of this machine."""
        return datetime.fromtimestamp(moment).strftime(self.form)

    def places(self, edges: Sequence[float]) -> list[str]:
        """Five moments for an axis: the edges themselves at even distances."""
        last = len(edges) - 1
        return [self.written(edges[round(last * at / 4)]) for at in range(5)]


SPANS = (
    Span("hour", _HOUR, 2 * _MINUTE, "%H:%M", follows=True),
    Span("day", _DAY, _HOUR, "%H:%M", follows=True),
    Span("week", 7 * _DAY, 6 * _HOUR, "%a %d, %H:%M", follows=False),
    Span("month", 30 * _DAY, _DAY, "%d %b", follows=False),
)
"""The spans that can be chosen; an hour, a day, seven days, thirty days."""


def span_of(name: str) -> Span:
    """The span of a name; a day for a name that there is not."""
    return next((each for each in SPANS if each.name == name), SPANS[1])
