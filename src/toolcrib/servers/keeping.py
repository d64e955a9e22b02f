"""Keeping a server running that is always to run."""

from contextlib import suppress

import anyio

from toolcrib.errors import ServerError
from toolcrib.servers.auth import Standing
from toolcrib.servers.breaker import FIRST_PAUSE, LONGEST_PAUSE
from toolcrib.servers.line import Line


class Keeper:
    """Starts a server, and again whenever it has ended on its own.

    Args:
        line: The shared way to the server.
        standing: Its login.
    """

    def __init__(self, line: Line, standing: Standing) -> None:
        self._line = line
        self._standing = standing
        self._scope: anyio.CancelScope | None = None

    async def keep(self) -> None:
        """Keep it running, in place of whoever did so until now, until `rest`."""
        self.rest()
        life = self._line.life
        with anyio.CancelScope() as self._scope:
            while True:
                with suppress(ServerError):
                    await self._line.ensure()
                await life.gone.wait()
                need = self._standing.need
                mended_unseen = need is not None and not need.by_login
                await anyio.sleep(LONGEST_PAUSE if mended_unseen else max(life.breaker.pause, FIRST_PAUSE))

    def rest(self) -> None:
        """No longer start it unasked."""
        if self._scope is not None:
            self._scope.cancel()
