"""Which changes concern one client, out of all that happen."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import anyio
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from toolcrib import events
from toolcrib.broker import Caller
from toolcrib.crib import Crib
from toolcrib.errors import ToolcribError
from toolcrib.gateway.profiles import Surfaces

_GATHERED = 0.05
"""Seconds in which the same change is told once: a server says it over each of its connections."""

Leave = Callable[[], None]
"""Ends the following of a resource."""


@dataclass(eq=False)
class Wanted:
    """What one client wants to be told of.

    Attributes:
        tools: Changes of the list of tools.
        resources: Changes of the lists of resources and templates.
        prompts: Changes of the list of prompts.
        uris: How the client names each resource that it follows, by server and the URI there.
        leaves: What ends the following of each, by the client's name for it.
    """

    tools: bool = True
    resources: bool = True
    prompts: bool = True
    uris: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    leaves: dict[str, tuple[tuple[str, str], Leave]] = field(default_factory=dict[str, tuple[tuple[str, str], Leave]])

    def leave(self, uri: str) -> None:
        """Follow a resource no longer."""
        key, leave = self.leaves.pop(uri, (("", ""), None))
        if leave is not None:
            self.uris.pop(key, None)
            leave()

    def leave_all(self) -> None:
        """Follow nothing any longer."""
        for uri in list(self.leaves):
            self.leave(uri)


class Telling:
    """Tells clients of changes.

    Args:
        crib: An open crib.
        surfaces: What each caller sees of the tools.
    """

    def __init__(self, crib: Crib, surfaces: Surfaces) -> None:
        self._crib = crib
        self._surfaces = surfaces

    async def follow(self, uri: str, caller: Caller, wanted: Wanted) -> None:
        """Let a client be told when a resource changes.

        Raises:
            UsageError: There is no such resource, or it could be several.
            ServerError: Its server refuses, or can't be reached.
        """
        if uri in wanted.leaves:
            return
        key = await self._crib.find_resource(uri, caller=caller, by_name=False)
        wanted.leaves[uri] = (key, await self._crib.follow_resource(*key, caller=caller))
        wanted.uris[key] = uri

    async def tell(
        self,
        heard: AsyncIterator[events.Event],
        caller: Caller,
        wanted: Wanted,
        send: Callable[[ServerEvent], Awaitable[None]],
    ) -> None:
        """Tell a client what it wants to be told, until cancelled.

        Args:
            heard: All that happens, from a moment before the client may rely on being told.
            caller: Who it is.
            wanted: What it wants to be told of.
            send: Tells it.
        """
        pending: dict[ServerEvent, None] = {}
        changed: set[str] = set()
        arrived = anyio.Event()

        async def gather() -> None:
            nonlocal arrived
            async for event in heard:
                if isinstance(event, events.CatalogChanged):
                    changed.update(event.changed)
                for each in self._concerned(event, caller, wanted):
                    pending[each] = None
                if pending:
                    arrived.set()

        shown = await self._shown(caller)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gather)
            while True:
                await arrived.wait()
                await anyio.sleep(_GATHERED)
                arrived = anyio.Event()
                told, altered = list(pending), frozenset(changed)
                pending.clear()
                changed.clear()
                for each in told:
                    if isinstance(each, ToolsListChanged):
                        before, shown = shown, await self._shown(caller)
                        if before == shown and not altered & shown:
                            continue
                    await send(each)

    async def _shown(self, caller: Caller) -> frozenset[str]:
        return (await self._surfaces.of(caller)).shown(caller)

    def _concerned(self, event: events.Event, caller: Caller, wanted: Wanted) -> list[ServerEvent]:
        match event:
            case events.Missed():
                lists = self._lists(wanted)
                return [*lists, *(ResourceUpdated(uri) for uri in wanted.uris.values())]
            case events.CatalogChanged():
                return [ToolsListChanged()] if wanted.tools else []
            case events.OffersChanged() if self._knows(event.server, caller):
                kind = ResourcesListChanged() if event.kind == "resources" else PromptsListChanged()
                return [kind] if kind in self._lists(wanted) else []
            case events.ResourceUpdated() if self._knows(event.server, caller):
                uri = wanted.uris.get((event.server, event.uri))
                return [] if uri is None else [ResourceUpdated(uri)]
            case _:
                return []

    def _lists(self, wanted: Wanted) -> list[ServerEvent]:
        kinds: Mapping[ServerEvent, bool] = {
            ToolsListChanged(): wanted.tools,
            ResourcesListChanged(): wanted.resources,
            PromptsListChanged(): wanted.prompts,
        }
        return [kind for kind, is_wanted in kinds.items() if is_wanted]

    def _knows(self, server: str, caller: Caller) -> bool:
        return any(source.id == server for source in self._crib.known_sources(caller=caller))


async def followed(telling: Telling, uris: list[str], caller: Caller, wanted: Wanted) -> list[str]:
    """Let a client be told of several resources; those that can't be followed are left out of what is returned."""
    honored: list[str] = []
    for uri in uris:
        try:
            await telling.follow(uri, caller, wanted)
        except ToolcribError:
            continue
        honored.append(uri)
    return honored
