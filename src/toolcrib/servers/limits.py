"""The time limits of the requests of one connection, which stand still while its server waits for an answer itself."""

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager

import anyio


class Limits:
    """The time limits of requests under way."""

    def __init__(self) -> None:
        self._scopes: dict[anyio.CancelScope, float] = {}
        self._held = 0

    @contextmanager
    def limited(self, scope: anyio.CancelScope, seconds: float | None) -> Generator[Callable[[], None]]:
        """Give the block some seconds; gives what lets them begin anew.

        Args:
            scope: Of the block.
            seconds: How many; None sets no limit.
        """

        def begin_anew() -> None:
            if seconds is not None:
                scope.deadline = math.inf if self._held else anyio.current_time() + seconds

        if seconds is not None:
            self._scopes[scope] = seconds
        begin_anew()
        try:
            yield begin_anew
        finally:
            self._scopes.pop(scope, None)

    @contextmanager
    def held(self) -> Generator[None]:
        """Let no limit run out during the block; all begin anew after it."""
        self._held += 1
        for scope in self._scopes:
            scope.deadline = math.inf
        try:
            yield
        finally:
            self._held -= 1
            if not self._held:
                for scope, seconds in self._scopes.items():
                    scope.deadline = anyio.current_time() + seconds
