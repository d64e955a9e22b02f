"""Which changes concern one client, out of all that happen."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from toolcrib import events
from toolcrib.broker import Caller
from toolcrib.catalog import JsonObject
from toolcrib.crib import Crib
from toolcrib.errors import ToolcribError
from toolcrib.gateway.profiles import Surfaces

_GATHERED = 0.05
"""Seconds in which the same change is told once: a server says it over each of its connections."""

_TOOLS = "notifications/tools/list_changed"
_RESOURCES = "notifications/resources/list_changed"
_PROMPTS = "notifications/prompts/list_changed"
_UPDATED = "notifications/resources/updated"

_MOST_UPDATED = 1_000
"""Parts of resources whose changes wait to be told one by one."""

Change = tuple[str, str]
"""What is told: a notification's method, and the client's name for the resource that it is about."""

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

    def name_of(self, server: str, uri: str) -> str | None:
        """How the client names a resource that it follows, or a part of one (specification 2025-11-25, schema,
        `notifications/resources/updated`); None for any other."""
        if (server, uri) in self.uris:
            return self.uris[server, uri]
        for (owner, whole), name in self.uris.items():
            if owner == server and uri.startswith((f"{whole.rstrip('/')}/", f"{whole}#", f"{whole}?")):
                return name + uri[len(whole) :]
        return None

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
        send: Callable[[str, JsonObject], Awaitable[None]],
        on_ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Tell a client what it wants to be told, in the words of whoever said it, until cancelled.

        Args:
            heard: All that happens, from a moment before the client may rely on being told.
            caller: Who it is.
            wanted: What it wants to be told of.
            send: Tells it, by method and params.
            on_ready: Called before it is told anything, once all that changes from then on will be told.
        """
        pending: dict[Change, JsonObject] = {}
        changed: set[str] = set()
        arrived = anyio.Event()
        told_of: dict[str, Mapping[str, Any]] = {}

        async def gather() -> None:
            async for event in heard:
                match event:
                    case events.ToolsToldOf() if wanted.tools and self._knows(event.server, caller):
                        told_of[event.server] = event.words
                    case events.CatalogChanged():
                        changed.update(event.changed)
                    case _:
                        pass
                for change in self._concerned(event, caller, wanted):
                    words = told_of.pop(event.server, {}) if isinstance(event, events.CatalogChanged) else _words(event)
                    if len(pending) < _MOST_UPDATED or change in pending:
                        pending[change] = {**words} or pending.get(change, {})
                    else:  # the client takes nothing: whatever it follows may have changed
                        pending.update({each: {} for each in self._all(wanted)})
                if pending:
                    arrived.set()

        shown = await self._shown(caller)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gather)
            if on_ready is not None:
                await on_ready()
            while True:
                await arrived.wait()
                await anyio.sleep(_GATHERED)
                arrived = anyio.Event()
                told, altered = dict(pending), frozenset(changed)
                pending.clear()
                changed.clear()
                for (method, uri), words in told.items():
                    if method == _TOOLS:
                        before, shown = shown, await self._shown(caller)
                        if before == shown and not altered & shown:
                            continue
                    await send(method, {"uri": uri, **words} if uri else words)

    async def _shown(self, caller: Caller) -> frozenset[str]:
        return (await self._surfaces.of(caller)).shown(caller)

    def _concerned(self, event: events.Event, caller: Caller, wanted: Wanted) -> list[Change]:
        match event:
            case events.Missed():
                return self._all(wanted)
            case events.CatalogChanged():
                return [(_TOOLS, "")] if wanted.tools else []
            case events.OffersChanged() if self._knows(event.server, caller):
                kind = (_RESOURCES if event.kind == "resources" else _PROMPTS, "")
                return [kind] if kind in self._lists(wanted) else []
            case events.ResourceUpdated() if self._knows(event.server, caller):
                uri = wanted.name_of(event.server, event.uri)
                return [] if uri is None else [(_UPDATED, uri)]
            case _:
                return []

    def _all(self, wanted: Wanted) -> list[Change]:
        return [*self._lists(wanted), *((_UPDATED, uri) for uri in wanted.uris.values())]

    def _lists(self, wanted: Wanted) -> list[Change]:
        kinds = {_TOOLS: wanted.tools, _RESOURCES: wanted.resources, _PROMPTS: wanted.prompts}
        return [(kind, "") for kind, is_wanted in kinds.items() if is_wanted]

    def _knows(self, server: str, caller: Caller) -> bool:
        return any(source.id == server for source in self._crib.known_sources(caller=caller))


def _words(event: events.Event) -> Mapping[str, Any]:
    return event.words if isinstance(event, events.OffersChanged | events.ResourceUpdated) else {}


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
