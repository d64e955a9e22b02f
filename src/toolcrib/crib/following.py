"""Resources that somebody wants to be told of: each followed once, however many want it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from toolcrib.catalog import RequestContext, Source
from toolcrib.errors import ServerError, UsageError, shown

_PATIENCE = 10.0
"""Seconds that whoever wants to be told waits for the server to agree."""

Key = tuple[str, str, str | None]
"""Source, URI, and whose connection."""


@dataclass(eq=False, slots=True)
class _Followed:
    """One resource that is followed."""

    wanted: int = 0
    settled: anyio.Event = field(default_factory=anyio.Event)
    error: ServerError | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class FollowedResources:
    """Follows resources for as long as somebody wants to be told of them."""

    def __init__(self) -> None:
        self._followed: dict[Key, _Followed] = {}

    async def want(self, source: Source, uri: str, context: RequestContext, tasks: TaskGroup) -> Key:
        """Follow a resource from now on; its changes are published. Returns what takes that back.

        Args:
            source: The source that has it.
            uri: The URI by which the source knows it.
            context: What accompanies a request to the source.
            tasks: It is followed in these.

        Raises:
            ServerError: The source refuses, or can't be reached.
            UsageError: It tells of no changes.
        """
        follow: Callable[[str, RequestContext, Callable[[], None]], Awaitable[None]] | None
        follow = getattr(source, "follow", None)
        if follow is None:
            raise UsageError(f"{source.id} does not tell when {shown(uri)} changes.")
        key = (source.id, uri, context.connection_key)
        followed = self._followed.get(key)
        if followed is None:
            followed = self._followed[key] = _Followed()
            tasks.start_soon(self._follow, key, followed, follow, context)
        followed.wanted += 1
        with anyio.move_on_after(_PATIENCE):
            await followed.settled.wait()
        if followed.error is not None:
            self.leave(key)
            raise followed.error
        return key

    def leave(self, key: Key) -> None:
        """Take back one wish to be told."""
        followed = self._followed.get(key)
        if followed is None:
            return
        followed.wanted -= 1
        if followed.wanted <= 0:
            followed.scope.cancel()
            self._followed.pop(key, None)

    async def _follow(
        self,
        key: Key,
        followed: _Followed,
        follow: Callable[[str, RequestContext, Callable[[], None]], Awaitable[None]],
        context: RequestContext,
    ) -> None:
        try:
            with followed.scope:
                await follow(key[1], context, followed.settled.set)
        except ServerError as error:
            followed.error = error
            if self._followed.get(key) is followed:
                del self._followed[key]
        finally:
            followed.settled.set()
