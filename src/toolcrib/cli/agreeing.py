"""Asking the person at the terminal before something of theirs is changed."""

import sys

from toolcrib.errors import UsageError


def agreed(question: str, refused: str) -> bool:
    """Ask on the terminal whether to go on.

    Args:
        question: The question.
        refused: What did not happen, and why, where nobody can be asked.

    Raises:
        UsageError: There is no terminal to ask on.
    """
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(refused, hint="Run it on a terminal; or add --yes when you have read it.")
    sys.stdout.flush()
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
