"""Asking the person at the terminal whether a call may go on."""

import sys
from typing import TYPE_CHECKING

from toolcrib.cli.progress import paused
from toolcrib.cli.streams import tell

if TYPE_CHECKING:
    from toolcrib.broker import Approver, Question


def terminal_approver() -> "Approver | None":
    """Asks on the terminal; None where there is none, as in a pipe, so that the inbox is asked."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return _ask


async def _ask(question: "Question") -> bool:
    import anyio.to_thread

    with paused():
        tell(question.text)
        # Abandoned on Ctrl-C: reading from a terminal can't be cancelled.
        return await anyio.to_thread.run_sync(_yes, abandon_on_cancel=True)


def _yes() -> bool:
    sys.stderr.write("Allow it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
