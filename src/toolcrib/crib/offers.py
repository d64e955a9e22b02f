"""What all sources together list of one kind: asked at the same time, each for itself."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from toolcrib.catalog import CAPABILITIES, Claiming, JsonObject, Listing, ListMethod, RequestContext, Source
from toolcrib.errors import ProtocolError, ServerError
from toolcrib.servers import McpServer

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Offered:
    """What sources listed.

    Attributes:
        listings: By the id of the source, in the order in which the sources were given.
        failed: The ids of sources that could not be asked.
        late: The ids of sources that have not answered yet.
    """

    listings: dict[str, Listing]
    failed: tuple[str, ...] = ()
    late: tuple[str, ...] = ()

    @property
    def ttl(self) -> float | None:
        """Seconds for which all of it is promised to be fresh; None where one source promises nothing."""
        times = [each.ttl for each in self.listings.values()]
        known = [each for each in times if each is not None]
        return min(known) if known and len(known) == len(times) and not self.late else None

    @property
    def private(self) -> bool:
        """Whether a part of it is for nobody but whom it was fetched for, or may be."""
        return any(each.private or each.ttl is None for each in self.listings.values()) or not self.listings

    def entries(self) -> Iterable[tuple[str, JsonObject]]:
        """Each entry with the id of its source."""
        return ((source, entry) for source, listing in self.listings.items() for entry in listing)


async def offered(
    sources: Iterable[Source],
    method: ListMethod,
    context: Callable[[str], RequestContext],
    *,
    tasks: TaskGroup | None = None,
    patience: float | None = None,
    on_late: Callable[[str], None] = lambda _: None,
) -> Offered:
    """What sources list of one kind; one that can't be asked costs only its own.

    A server that does not run is not started for it, if it was listed before or is known to have nothing.

    Args:
        sources: Those that the caller may know of.
        method: What to list.
        context: What accompanies a request to one.
        tasks: What takes longer than `patience` goes on in these.
        patience: Seconds to wait; None waits for all.
        on_late: Told of each source whose answer came later.
    """
    asked = list(sources)
    found: dict[str, Listing] = {}
    failed: list[str] = []
    gate = anyio.CapacityLimiter(_AT_ONCE)
    gone = anyio.Event()

    async def one(source: Source) -> None:
        async with gate:
            try:
                listing = await _listing(source, method, context(source.id))
            except ServerError:
                failed.append(source.id)
            else:
                found[source.id] = listing
        if gone.is_set():
            on_late(source.id)

    if tasks is None or patience is None:
        async with anyio.create_task_group() as group:
            for source in asked:
                group.start_soon(one, source)
    else:
        ended = [anyio.Event() for _ in asked]

        async def noted(source: Source, end: anyio.Event) -> None:
            await one(source)
            end.set()

        for source, end in zip(asked, ended, strict=True):
            tasks.start_soon(noted, source, end)
        with anyio.move_on_after(patience):
            for end in ended:
                await end.wait()
        gone.set()
    listings = {source.id: found[source.id] for source in asked if source.id in found}
    late = tuple(source.id for source in asked if source.id not in found and source.id not in failed)
    return Offered(listings, tuple(sorted(failed)), late)


async def _listing(source: Source, method: ListMethod, context: RequestContext) -> Listing:
    if isinstance(source, McpServer):
        if not source.running and (stored := await source.offering.stored(method)) is not None:
            return stored
        if may_offer(source, method) is None:
            await source.ensure(context)
    if may_offer(source, method) is False:
        return Listing(ttl=float("inf"))
    try:
        listing = await source.list(method, context)
    except ProtocolError:
        return Listing(ttl=float("inf"))  # it has nothing of the kind, whatever it claims
    return listing if isinstance(listing, Listing) else Listing(listing)


def may_offer(source: Source, method: ListMethod) -> bool | None:
    """Whether a source claims to list something; None where that can't be told."""
    return source.offers(CAPABILITIES[method]) if isinstance(source, Claiming) else None
