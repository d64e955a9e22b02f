"""The outcome of a script that was refused before its first statement."""

from toolcrib.sandbox.contract import Fault, Outcome, Usage
from toolcrib.sandbox.limits import Limits

_NOTHING = Usage(wall=0.0, own=0.0, cpu=None, memory=None, calls=0, output=0, arguments=0, answers=0)


def rejected(fault: Fault) -> Outcome:
    """A script that never ran."""
    return Outcome("rejected", None, "", "", 0, fault, (), _NOTHING)


def too_long(code: str, limits: Limits) -> Outcome:
    """A script that is too long to be looked at."""
    text = f"It has {len(code):,} characters; {limits.code_bytes:,} are allowed."
    return rejected(Fault("TooLong", text))
