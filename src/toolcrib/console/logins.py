"""Logins to servers that were begun on the console: where each takes place, and how it goes."""

import logging
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

import anyio

from toolcrib.crib import Crib
from toolcrib.errors import ToolcribError, UsageError
from toolcrib.events import ServerStateChanged

logger = logging.getLogger(__name__)

_PATIENCE = 30.0
"""Seconds that the server's authorization server has to say where the login takes place."""


@dataclass(eq=False, slots=True)
class Login:
    """One login.

    Attributes:
        address: Where it takes place, for a browser; empty until that is known.
        problem: What was wrong with what was pasted, or why it failed.
        ended: Whether it is over.
    """

    address: str = ""
    problem: str = ""
    ended: bool = False
    known: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    pasted: list[str] = field(default_factory=list[str], repr=False)
    paste: anyio.Event = field(default_factory=anyio.Event)
    taken: anyio.Event = field(default_factory=anyio.Event)


class Logins:
    """Logins that are under way, and those that failed, by server.

    Args:
        crib: Logs in.
    """

    def __init__(self, crib: Crib) -> None:
        self._crib = crib
        self._logins: dict[str, Login] = {}

    def of(self, server: str) -> Login | None:
        """The login to a server that is under way or has failed."""
        return self._logins.get(server)

    async def begin(self, server: str) -> Login:
        """Begin a login, in place of one that is under way, and wait until it is known where it takes place, or why
        it takes place nowhere.

        Args:
            server: The server's id.
        """
        self.cancel(server)
        login = self._logins[server] = Login()
        self._crib.spawn(partial(self._run, server, login))
        with anyio.move_on_after(_PATIENCE):
            await login.known.wait()
        return login

    async def finish(self, server: str, address: str) -> Login:
        """Hand in the address at which a browser ended that could not return by itself, and wait for what comes of it.

        Raises:
            UsageError: No login to that server is under way.
        """
        login = self._logins.get(server)
        if login is None or login.ended:
            raise UsageError(f"No login to {server} is under way.", hint="Begin it anew.")
        login.problem = ""
        login.taken = anyio.Event()
        login.pasted.append(address)
        login.paste.set()
        with anyio.move_on_after(_PATIENCE):
            await login.taken.wait()
        return login

    def cancel(self, server: str) -> None:
        """Give up a login, and forget one that failed."""
        login = self._logins.pop(server, None)
        if login is not None:
            login.scope.cancel()

    async def _run(self, server: str, login: Login) -> None:
        from toolcrib.servers.auth.login import Person

        async def show(url: str) -> None:
            if is_page(url):
                login.address = url
            else:
                login.problem = "The server names no page of the web to log in at."
            login.known.set()

        async def pasted() -> str:
            while not login.pasted:
                login.paste = anyio.Event()
                await login.paste.wait()
            return login.pasted.pop(0)

        def complain(text: str) -> None:
            login.problem = text
            login.taken.set()

        try:
            with login.scope:
                await self._crib.log_in(server, Person(show, pasted, complain))
                await self._crib.refresh(server)
                if self._logins.get(server) is login:
                    del self._logins[server]
        except ToolcribError as error:
            login.problem = str(error)
        except Exception:
            logger.exception("The login to %s failed", server)
            login.problem = f"The login to {server} failed; the program's log says more."
        finally:
            login.ended = True
            login.address = ""
            login.known.set()
            login.taken.set()
            for status in self._crib.servers:
                if status.id == server:  # for pages that show how the login goes
                    self._crib.events.publish(ServerStateChanged(server, status.state, status.reason))


def is_page(address: str) -> bool:
    """Whether an address is one that a link may lead to: a page of the web, and no script."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc)
