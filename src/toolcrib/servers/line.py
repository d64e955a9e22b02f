"""One way to a server: a connection that is opened when it is needed, kept, and opened anew after it has ended."""

from collections.abc import Awaitable, Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio

from toolcrib.catalog import (
    LIST_MEMBERS,
    ClientSide,
    JsonObject,
    Listing,
    ListMethod,
    RequestContext,
    RequestMethod,
)
from toolcrib.config import ServerConfig
from toolcrib.errors import AuthRequiredError, ProtocolError, ServerClosedError, ServerError, ServerStartError
from toolcrib.servers.answers import Answers
from toolcrib.servers.auth import Standing
from toolcrib.servers.following import follow_resource
from toolcrib.servers.freshness import freshness_of
from toolcrib.servers.life import Attempt, Life
from toolcrib.servers.listing import ToolListing
from toolcrib.servers.surroundings import Surroundings

if TYPE_CHECKING:
    from toolcrib.servers.connection import Connection

_Answer = TypeVar("_Answer")

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 60.0
"""Seconds before a resource is followed on a new connection; the pause doubles each time."""

_ENTRIES = "entries"
_FRESH_UNTIL = "until"
_PRIVATE = "private"
"""Members of what is kept of a list: the entries of all pages, and how far they may be kept."""


class Line:
    """One way to a server.

    Nothing runs until a request needs it; then one task opens the connection, lists the tools and keeps the
    connection until it ends, is idle for too long or `stop` is called.

    Args:
        server_id: The server's id.
        config: Its entry in the configuration, as it is now.
        around: What it shares with the other servers.
        life: How it is doing.
        listing: Takes what is listed at each new connection.
        standing: The server's login.
        client: Whom the server may ask over this line, and whose capabilities are declared on it; None declares
            none, and refuses.
        kept: Whether it is neither stopped for idleness nor counted among those that run.
        on_idle: Called when nothing uses it and it may be gone.
    """

    def __init__(
        self,
        server_id: str,
        config: Callable[[], ServerConfig],
        around: Surroundings,
        life: Life,
        listing: ToolListing,
        standing: Standing,
        *,
        client: ClientSide | None = None,
        kept: bool = False,
        on_idle: Callable[[], None] = lambda: None,
    ) -> None:
        self.life = life
        self.listing = listing
        self.answers = Answers()
        self.client = client
        self.kept = kept
        self._serving: list[RequestContext] = []
        self.asked_in_vain = False
        self._id = server_id
        self._config = config
        self._around = around
        self._standing = standing
        self._on_idle = on_idle

    @contextmanager
    def serving(self, context: RequestContext) -> Generator[None]:
        """Let the server ask the client of the request that the block sends."""
        self._serving.append(context)
        try:
            yield
        finally:
            self._serving.remove(context)

    def client_now(self, asked: Collection[ClientSide]) -> ClientSide | None:
        """Whom the server may ask at this moment.

        Over a connection of one caller it is the client of its newest request; one whose client is being asked does not
        count, since its server waits for that answer first. Over a shared one it is nobody: nothing tells whom a
        question is for, and what one caller answers, such as its folders, would hold for the others too.

        Args:
            asked: The clients that are being asked.
        """
        if self.client is None:
            self.asked_in_vain = True
            return None
        free = [each.client for each in self._serving if not any(each.client is one for one in asked)]
        return next((each for each in reversed(free) if each is not None), self.client)

    def heard(self, method: str, params: Mapping[str, Any]) -> None:
        """Take a notification of the connection that says that something has changed."""
        self.listing.heard(method)
        self.answers.heard(method)
        self._around.on_heard(self._id, method, params)

    def closed(self) -> None:
        """The task that owned a connection is done."""
        self.life.gone.set()
        self._on_idle()

    @property
    def running(self) -> bool:
        """Whether a connection is being opened, used or closed."""
        return not self.life.gone.is_set()

    @property
    def pid(self) -> int | None:
        """Process id of a stdio server that runs."""
        return None if self.life.connection is None else self.life.connection.pid

    @property
    def open_connection(self) -> "Connection | None":
        """The connection that there is, if it has not ended."""
        connection = self.life.connection
        return None if connection is None or connection.ended.is_set() else connection

    async def use(self, send: "Callable[[Connection], Awaitable[_Answer]]") -> _Answer:
        """Send something; once more, where the connection proves to have ended before anything was sent.

        Not so where it was opened for this: a server that ends as soon as it has listed its tools would end
        again.

        Raises:
            ServerError: It can't be reached, or what `send` raises.
        """
        with self._needed():
            opened = self.open_connection is None
            try:
                return await self._send(await self._connected(), send)
            except ServerClosedError as error:
                if opened:
                    raise ServerClosedError(
                        self._id,
                        f"{self._id} ended before it took the request.",
                        hint="It ends by itself once it is started; look at what it writes to standard error.",
                    ) from error
            return await self._send(await self._connected(), send)

    async def asked(
        self, method: ListMethod | RequestMethod, params: JsonObject, context: RequestContext, timeout: float
    ) -> JsonObject:
        """The result of something that only asks, perhaps one that is fresh still; of a list, see `listing_of`.

        Raises:
            ServerError: It can't be reached, refuses, or did not answer in time.
        """

        async def asking(connection: "Connection") -> JsonObject:
            kept = self.answers.find(connection, method, params, context.principal)
            if kept is not None:
                return kept
            changes = self.answers.changes
            if method in LIST_MEMBERS:
                entries, freshness = await connection.list_all(cast("ListMethod", method), timeout)
                until = None if freshness.ttl is None else anyio.current_time() + freshness.ttl
                answer: JsonObject = {_ENTRIES: entries, _FRESH_UNTIL: until, _PRIVATE: freshness.private}
            else:
                answer = await connection.request(cast("RequestMethod", method), params, context)
                freshness = freshness_of(answer)
            if changes == self.answers.changes:
                self.answers.keep(method, params, context.principal, answer, freshness)
            return answer

        return await self.use(asking)

    async def follow(self, uri: str, timeout: float, on_start: Callable[[], None]) -> None:
        """Be told when a resource changes, until cancelled; a connection that ends is opened anew for it.

        Args:
            uri: The resource's URI at the server.
            timeout: Seconds for the server to agree.
            on_start: Called each time that it has agreed.

        Raises:
            ProtocolError: The server does not offer that.
        """
        pause = _FIRST_PAUSE
        self.life.held += 1
        try:
            while True:
                try:
                    await follow_resource(await self.ensure(), uri, timeout, on_start)
                    pause = _FIRST_PAUSE
                except ProtocolError:
                    raise
                except ServerError:
                    pass
                await anyio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                # What happened meanwhile nobody tells.
                self.heard("notifications/resources/updated", {"uri": uri})
        finally:
            self.life.held -= 1

    async def ensure(self) -> "Connection":
        """Connect if need be; a new connection lists the tools.

        Raises:
            ServerError: It can't be reached.
        """
        with self._needed():
            return await self._connected()

    async def relist(self, timeout: float) -> None:
        """List the tools anew, on the connection that there is or else on a new one.

        Raises:
            ServerError: It can't be reached, or can't list.
        """
        with self._needed():
            used = self.open_connection
            connection = await self._connected()
            if connection is used:  # a new one has listed already
                await self.listing.fetch(connection, timeout)

    def retire(self) -> None:
        """Stop as soon as no request is under way; a later one starts it again."""
        life = self.life
        life.leaving = True
        if not life.busy:
            life.stop.set()
            life.connection = None

    async def stop(self) -> None:
        """End the connection and the server's processes, and wait until they are gone."""
        life = self.life
        life.stop.set()
        life.connection = None
        if life.opening is not None:
            life.opening.cancel()
        await life.gone.wait()

    @contextmanager
    def _needed(self) -> Generator[None]:
        """Keep it from being stopped or forgotten from the moment that somebody needs it, connected or not."""
        life = self.life
        life.busy += 1
        try:
            yield
        finally:
            life.busy -= 1
            life.last_used = anyio.current_time()
            self._around.berths.touch()
            if life.leaving:
                self.retire()
            self._on_idle()

    async def _send(self, connection: "Connection", send: "Callable[[Connection], Awaitable[_Answer]]") -> _Answer:
        self.listing.note_use()
        life = self.life
        if life.state == "idle" or (life.state == "needs_auth" and self._standing.outdated):
            life.become("ready")
        try:
            answer = await send(connection)
        except AuthRequiredError as error:
            life.become("needs_auth", str(error))
            raise
        except ServerError as error:
            if isinstance(error, ProtocolError):
                life.breaker.reset()  # an error is an answer too
            self._around.secrets.clean(error)
            raise
        life.breaker.reset()
        return answer

    async def _connected(self) -> "Connection":
        life = self.life
        while True:
            config = self._config()
            if config.disabled:
                raise ServerError(
                    self._id,
                    f"Server {self._id} is disabled.",
                    hint=f"Enable it in the configuration, or with: toolcrib servers enable {config.key}",
                )
            if (connection := self.open_connection) is not None:
                return connection
            if config.error is not None:
                raise ServerStartError(self._id, str(config.error))
            attempt = life.attempt
            if attempt is not None:
                break
            if life.gone.is_set():
                need = self._standing.need
                if need is not None and need.closed and not self._standing.outdated:
                    raise need.error()
                if (pause := life.breaker.pause) > 0:
                    raise ServerStartError(
                        self._id,
                        f"{self._id} failed several times in a row, and is left alone for {pause:.0f} s: {life.reason}",
                        hint=f"toolcrib servers --refresh {self._id} tries at once.",
                    )
                attempt = self._begin(config)
                break
            await life.gone.wait()  # the owner of an ended connection is still clearing up
        await attempt.settled.wait()
        if attempt.error is not None:
            raise _copy(attempt.error)
        assert attempt.connection is not None
        return attempt.connection

    def _begin(self, config: ServerConfig) -> Attempt:
        """Spawn the task that opens and owns a connection."""
        # The SDK takes most of a second to load, and most commands connect to nothing.
        from toolcrib.servers.owner import Owner

        life = self.life
        attempt = life.attempt = Attempt()
        life.stop, life.gone, life.leaving = anyio.Event(), anyio.Event(), False
        owner = Owner(self._id, config, self._around, self, attempt, standing=self._standing)
        self._around.spawn(owner.run)
        return attempt


def listing_of(answer: JsonObject) -> Listing:
    """The listing in the answer of `Line.asked` to a list request."""
    until = answer[_FRESH_UNTIL]
    left = None if until is None else max(0.0, until - anyio.current_time())
    entries = (cast("JsonObject", entry) for entry in answer[_ENTRIES] if isinstance(entry, dict))
    return Listing(entries, left, private=answer[_PRIVATE])


def _copy(error: ServerError) -> ServerError:
    """One for each waiter: an exception raised in several tasks would gather all their tracebacks."""
    kind = next((each for each in (AuthRequiredError, ServerStartError) if isinstance(error, each)), ServerError)
    return kind(error.server, error.message, hint=error.hint)
