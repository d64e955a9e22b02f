"""What the user does with the servers of a crib, and what only the user is told of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from toolcrib.broker import LOCAL, Caller
from toolcrib.catalog import public_name
from toolcrib.crib.exposing import CribExposing
from toolcrib.crib.presence import states_elsewhere
from toolcrib.crib.weights import Weights
from toolcrib.errors import UsageError
from toolcrib.servers import McpServer, ServerStatus
from toolcrib.store import ServerState

if TYPE_CHECKING:
    from toolcrib.config import ResolvedServer
    from toolcrib.servers.auth.login import LoggedIn, Person


class CribOperating(CribExposing):
    """A crib as whoever runs it needs it: none of this asks what a caller may do."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._weights = Weights(self.registry)

    async def refresh(self, server: str | None = None) -> list[ServerStatus]:
        """List servers anew, all usable ones or one, and return their states; failures are states, not errors."""
        chosen = self._sources.servers if server is None else [self._server(server)]
        await self._listings.refresh(chosen)
        return [each.status for each in chosen]

    async def stop(self, server: str) -> ServerStatus:
        """End a server's connections and processes at once, and calls that are under way with them. The next need
        starts it again.

        Args:
            server: Its id or key.

        Raises:
            UsageError: There is no such server.
        """
        chosen = self._server(server)
        if chosen.running:
            await chosen.stop()
        return chosen.status

    async def switch(self, server: str, *, on: bool) -> ServerStatus:
        """Switch a server on or off for good, in every running Toolcrib of this state directory; the configuration
        stays as it is. One that is off ends after the calls under way, and no model can enable it.

        Args:
            server: Its id or key.
            on: Whether it is to be on.

        Raises:
            UsageError: There is no such server, or the configuration does not have it.
            StoreError: That can't be kept.
        """
        tasks = self._follow_switches()
        chosen = self._server(server)
        self._switchboard.switch(chosen, tasks, on=on)
        return chosen.status

    def servers_for(self, caller: Caller) -> list[ServerStatus]:
        """What is known of each configured server that a caller may know of."""
        return [each.status for each in self._sources.servers if not self._is_hidden(each.id, caller)]

    def is_off(self, server: str) -> bool:
        """Whether a server's tools are not there until it is enabled: it is disabled, or starts on request and
        nobody has asked for it.

        Raises:
            UsageError: There is no such server.
        """
        return self._is_off(self._server(server).id)

    def output_of(self, server: str) -> Sequence[str]:
        """The first and last lines that a server wrote to its standard error, without secrets: those of the process
        that runs, else of the last one.

        Raises:
            UsageError: There is no such server.
        """
        return self._server(server).output

    async def log_in(self, server: str, person: "Person", *, port: int | None = None) -> "LoggedIn":
        """Log in to an HTTP server, in place of the login that there may be, and keep what is granted.

        Args:
            server: Its id or key.
            person: Who logs in.
            port: The port that the browser returns to; None takes the configured one, that of the last login, or a
                free one.

        Raises:
            UsageError: There is no such server, or it takes no login.
            AuthRequiredError: The login failed, or the server has none.
            ServerError: The server can't be reached.
            ConfigError: Its entry needs a variable that is not set.
            StoreError: The login can't be kept.
        """
        from toolcrib.servers.auth.login import log_in

        chosen = self._server(server)
        if (reason := no_login(chosen)) is not None:
            raise reason
        return await log_in(chosen.id, await self._resolved(chosen), self._vault, person, port=port)

    async def log_out(self, server: str) -> bool:
        """Forget the login to an HTTP server; whether there was one.

        Args:
            server: Its id or key.

        Raises:
            UsageError: There is no such server, or it is started here.
            StoreError: It can't be forgotten.
        """
        chosen = self._server(server)
        if chosen.config.url is None:
            raise _started_here(chosen)
        resolved = await self._resolved(chosen)
        assert resolved.url is not None
        async with self._vault.locked(chosen.id, resolved.url):
            return await anyio.to_thread.run_sync(self._vault.forget, chosen.id, resolved.url)

    def takes_login(self, server: str) -> bool:
        """Whether `log_in` can be tried.

        Raises:
            UsageError: There is no such server.
        """
        return no_login(self._server(server)) is None

    async def weights(self, *, caller: Caller = LOCAL) -> dict[str, int]:
        """Tokens of the definition of each tool that the caller may know of and that is listed already, by its id;
        counted by `toolcrib.tokens.count_tokens`, once for each listing."""
        parts, visible = list(self._parts_of(caller)), self._access.visible(caller.principal)
        counted = await anyio.to_thread.run_sync(self._weights.of, parts)
        return {public_name(key): tokens for key, tokens in counted.items() if key in visible}

    async def states_elsewhere(self) -> dict[str, ServerState]:
        """The states of these very servers in other running instances of the same state directory, by id.

        Raises:
            StoreError: The shared store can't be read.
        """
        return await states_elsewhere(self._shared, self._hashes)

    async def _resolved(self, server: McpServer) -> "ResolvedServer":
        return await anyio.to_thread.run_sync(server.config.resolve, self._variables)


def no_login(server: McpServer) -> UsageError | None:
    """Why no login can be tried, or None."""
    if server.config.url is None:
        return _started_here(server)
    if any(header.lower() == "authorization" for header in server.config.headers):
        return UsageError(
            f"Server {server.id} has an Authorization header in its configuration, which is used instead of any login.",
            hint="Remove the header first.",
        )
    return None


def _started_here(server: McpServer) -> UsageError:
    return UsageError(
        f"Server {server.id} is started here, and knows no login.",
        hint="What such a server needs stands in the `env` of its entry.",
    )
