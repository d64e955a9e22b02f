"""How many servers run at once: who needs one more makes room by stopping the one that was used least recently."""

from collections.abc import Awaitable, Callable

import anyio

from toolcrib.servers.life import Life


class Berths:
    """Bounds how many servers run at once.

    A server with a request under way is never stopped; while all are busy, whoever needs one more waits.

    Args:
        most: How many may run; servers that are always to run don't count.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: dict[Life, Callable[[], Awaitable[None]]] = {}
        self._changed = anyio.Event()

    @property
    def taken(self) -> int:
        """How many run, or are being started or ended."""
        return len(self._taken)

    async def take(self, life: Life, stop: Callable[[], Awaitable[None]]) -> None:
        """Take a berth, making room if need be.

        Args:
            life: Of the server that is to run.
            stop: Stops it and waits until it is gone.
        """
        while len(self._taken) >= self._most:
            idle = self._least_recently_used()
            if idle is None:
                await self._changed.wait()
            else:
                await self._taken[idle]()
        self._taken[life] = stop

    def leave(self, life: Life) -> None:
        """Give a berth back, if one was taken."""
        if self._taken.pop(life, None) is not None:
            self.touch()

    def touch(self) -> None:
        """A server may have become idle: whoever waits looks again."""
        self._changed.set()
        self._changed = anyio.Event()

    async def shed(self) -> bool:
        """Stop the server that was used least recently, if one is idle; whether one was."""
        idle = self._least_recently_used()
        if idle is None:
            return False
        await self._taken[idle]()
        return True

    def _least_recently_used(self) -> Life | None:
        idle = [life for life in self._taken if life.connection is not None and not life.busy]
        return min(idle, key=lambda life: life.last_used, default=None)
