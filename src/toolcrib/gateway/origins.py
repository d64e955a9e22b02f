"""Hosts and origins that are let in."""

import re
from collections.abc import Iterable

_PORT = re.compile(r"[0-9]{1,5}")
_LAST_PORT = 65_535


class Names:
    """Hosts or origins, some of them with any port; upper and lower case are one (RFC 9110, 4.2.3).

    Args:
        names: Each with its port; `:*` in place of one stands for any.
    """

    def __init__(self, names: Iterable[str]) -> None:
        lower = [each.lower() for each in names]
        self._exact = frozenset(lower)
        self._any_port = frozenset(each.removesuffix(":*") for each in lower if each.endswith(":*"))

    def have(self, name: str) -> bool:
        """Whether this is one of them."""
        name = name.lower()
        if name in self._exact:
            return True
        before, colon, port = name.rpartition(":")
        return bool(colon) and before in self._any_port and bool(_PORT.fullmatch(port)) and int(port) <= _LAST_PORT
