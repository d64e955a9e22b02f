"""Asking the person at the terminal before something of theirs is changed."""

import sys

from toolcrib.cli.streams import tell
from toolcrib.errors import ToolcribError, UsageError


def agreed(question: str, nothing: str) -> bool:
    """Ask on the terminal whether to go on.

    Args:
        question: The question.
        nothing: What has not happened unless somebody agrees, such as `Nothing was imported`.

    Raises:
        UsageError: There is no terminal to ask on.
        ToolcribError: The input ended before there was an answer.
        KeyboardInterrupt: Ctrl-C came in place of an answer; what has not happened was told.
    """
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"{nothing}: somebody has to agree.", hint="Run it on a terminal; or add --yes when you have read it."
        )
    try:
        sys.stdout.flush()
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        tell(f"{nothing}.")
        raise
    if not answer.endswith("\n"):
        sys.stderr.write("\n")
        raise ToolcribError(f"{nothing}: the question has no answer.", hint="Run it again, and answer y or n.")
    return answer.strip().lower() in {"y", "yes"}


def declined(question: str, nothing: str, *, yes: bool) -> bool:
    """Whether somebody has said no, who is told then that nothing has happened.

    Args:
        question: The question.
        nothing: See `agreed`, which also says what it raises.
        yes: Whether nobody is to be asked.
    """
    if yes or agreed(question, nothing):
        return False
    tell(f"{nothing}.")
    return True
