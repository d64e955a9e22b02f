"""The namespaces of a script as Monty sees them: objects without anything, whose methods are the tools."""

import builtins
import uuid
from collections.abc import Iterable

from pydantic_monty import ClassInstance

from toolcrib.sandbox.contract import CallError

_FAMILY = uuid.UUID("6f6b2f3c-3b0e-5d0a-9a53-1f3f0c4c6a11")
_MOST_KINDS = 40


class Namespaces:
    """Gives each namespace an object of a fixed id, so that a run taken up by another process knows it again.

    Args:
        names: The ids of the servers.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._by_id = {uuid.uuid5(_FAMILY, name): name for name in names}
        self._ids = {name: own for own, name in self._by_id.items()}

    def instance(self, name: str) -> ClassInstance | None:
        """The object for a name, or None."""
        if name not in self._ids:
            return None
        # messages about it show the name of its class
        return ClassInstance(type(name, (), {})(), id=self._ids[name])

    def name(self, own: uuid.UUID | None) -> str | None:
        """The name behind an object's id, or None."""
        return None if own is None else self._by_id.get(own)


def function(name: str) -> object:
    """What stands for a tool as a value: a function of that name, which is never called here."""

    def stand_in() -> None: ...

    stand_in.__name__ = stand_in.__qualname__ = name
    return stand_in


def raised(error: CallError) -> BaseException:
    """A failure as the exception that the script gets; `ToolError` is another name of RuntimeError there."""
    kind = getattr(builtins, error.kind, None) if len(error.kind) < _MOST_KINDS else None
    if isinstance(kind, type) and issubclass(kind, Exception) and kind is not UnicodeError:
        try:
            return kind(error.message)
        except TypeError:
            pass
    return RuntimeError(error.message)
