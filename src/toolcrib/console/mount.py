"""The console as an ASGI application that costs nothing before somebody comes."""

from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from toolcrib.console.access import Doorkeeper, Teller

if TYPE_CHECKING:
    from toolcrib.crib import Crib

CONSOLE_PATH = "/console"
"""Where the console is served."""


def entry_link(console_url: str, key: str) -> str:
    """A link that works once.

    Args:
        console_url: Where the console is.
        key: See `Doorkeeper.new_key`.
    """
    return f"{console_url}/enter?key={key}"


class Console:
    """An ASGI application; it is mounted at `CONSOLE_PATH`, and its pages are loaded at the first request.

    Args:
        crib: What it shows; open while requests come.
        teller: Tells whom a bearer token lets in, for consoles that other machines reach; without one, or while it
            asks nobody, only one-time links do.
        links: Whether one-time links let in the local user; only where nobody else reads what this program tells.

    Attributes:
        doorkeeper: Who is let in.
    """

    def __init__(self, crib: "Crib", teller: Teller | None = None, *, links: bool = True) -> None:
        self.doorkeeper = Doorkeeper(crib.config.settings, crib.state_dir, teller, links=links)
        self._crib = crib
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if self._app is None:
            from toolcrib.console.app import console_app

            self._app = console_app(self._crib, self.doorkeeper)
        await self._app(scope, receive, send)
