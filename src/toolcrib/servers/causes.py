"""The one exception that matters in a group of them."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import cast

from toolcrib.errors import ToolcribError


@contextmanager
def unwrapped() -> Generator[None]:
    """Let the exception that matters leave the block in place of the group around it."""
    try:
        yield
    except ExceptionGroup as group:
        raise innermost(group) from group


def innermost(error: BaseException) -> BaseException:
    """Out of a group, one of Toolcrib's own errors, else the first exception; task groups wrap what they raise."""
    leaves = list(_leaves(error))
    return next((each for each in leaves if isinstance(each, ToolcribError)), leaves[0])


def reason(error: BaseException) -> str:
    """The innermost exception in words."""
    cause = innermost(error)
    status = getattr(getattr(cause, "response", None), "status_code", None)
    if status is not None:
        return f"HTTP status {status}"
    return str(cause).rstrip(".") or type(cause).__name__


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(each)
    else:
        yield error
