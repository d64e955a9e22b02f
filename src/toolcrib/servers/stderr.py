"""The first and last lines that a server wrote to its standard error.

Python puts the cause of a failure in the last lines, Node in the first ones with the stack after it, so both
ends are kept and the middle is not.
"""

from collections import deque

FIRST_LINES = 5
LAST_LINES = 15
_LINE_LIMIT = 500


class StderrTail:
    """Keeps the first and last lines of a stream, each cut at 500 characters."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        self._count = 0

    def add(self, line: str) -> None:
        """Take one line."""
        line = line.rstrip()
        if not line:
            return
        if len(line) > _LINE_LIMIT:
            line = line[:_LINE_LIMIT] + "…"
        self._count += 1
        if len(self._first) < FIRST_LINES:
            self._first.append(line)
        else:
            self._last.append(line)

    @property
    def lines(self) -> list[str]:
        """What was kept, in order, with a line that counts what was left out between."""
        skipped = self._count - len(self._first) - len(self._last)
        middle = [f"… {skipped} more lines …"] if skipped else []
        return [*self._first, *middle, *self._last]
