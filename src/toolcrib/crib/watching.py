"""Change control of one crib: how each source is watched, and new listings looked at."""

from collections.abc import Mapping
from contextlib import suppress

from toolcrib.broker import OWN_SOURCE, ChangeControl, Mode, Watch
from toolcrib.catalog import SAVED_SCRIPTS, SKILLS, Source
from toolcrib.errors import StoreError
from toolcrib.events import CatalogChanged, EventBus
from toolcrib.functions import LocalFunctions
from toolcrib.servers import McpServer


def watch_of(source: Source | None, mode: Mode, hashes: Mapping[str, str]) -> Watch | None:
    """How a source is watched.

    Functions of the program itself, saved scripts and skills are not, since their owners change them when they like,
    and what is the house's own is not. Clients that a program handed in are, until it ends, since nothing tells whether
    the next program's client of that name is the same server.

    Args:
        source: The source.
        mode: What the configuration says of all.
        hashes: The hash of each configured server's entry, by its id.
    """
    if source is None or source.id in (OWN_SOURCE, SAVED_SCRIPTS, SKILLS) or isinstance(source, LocalFunctions):
        return None
    if not isinstance(source, McpServer):
        return Watch(mode, None)
    own = source.config.options.changes
    return Watch(own or mode, f"{source.id}-{hashes[source.id][:16]}")


async def look_at_listings(control: ChangeControl, events: EventBus) -> None:
    """Tell the log of tools that a new listing has changed, until cancelled.

    A store that can't be read is told when a call needs it.

    Args:
        control: Knows what tools were.
        events: Tells of listings.
    """
    with events.subscribe() as changes:
        async for change in changes:
            if isinstance(change, CatalogChanged) and change.changed:
                with suppress(StoreError):
                    await control.look(change.server)
