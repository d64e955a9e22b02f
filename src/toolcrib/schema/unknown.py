"""What whoever names a server that is not there is told, wherever it is asked for."""

from collections.abc import Iterable

from toolcrib.errors import UsageError, shown
from toolcrib.schema.problems import nearest

_MOST_NAMED = 30
"""Servers that are listed where no name is near."""


class UnknownServerError(UsageError):
    """No server that whoever asks may know of has that name; the hint says which was probably meant.

    Args:
        name: What was asked for.
        known: The servers that whoever asks may know of, by id.
        listed: What these are called, where they are listed since none is near.
        otherwise: What is told in place of such a list.

    Attributes:
        near: The id that was probably meant, or None.
    """

    code = "server_unknown"

    def __init__(
        self, name: str, known: Iterable[str], *, listed: str = "The configured ones", otherwise: str | None = None
    ) -> None:
        names = list(known)
        self.near = nearest(name, names)
        if self.near is not None:
            hint = f"Did you mean {self.near}?"
        elif otherwise is not None:
            hint = otherwise
        else:
            more = ", …" if len(names) > _MOST_NAMED else ""
            hint = f"{listed}: {', '.join(names[:_MOST_NAMED]) or 'none'}{more}."
        super().__init__(f"There is no server {shown(name)}.", hint=hint)
