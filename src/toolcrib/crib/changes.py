"""What a new listing changes of the catalog, told to whoever listens."""

from collections.abc import Generator
from contextlib import contextmanager

from toolcrib.catalog import JsonObject, ToolRegistry
from toolcrib.errors import StoreError
from toolcrib.events import CatalogChanged, EventBus


@contextmanager
def published(registry: ToolRegistry, events: EventBus, server: str) -> Generator[None]:
    """Publish what the block changes of one source's tools, if anything; a block that raises changes nothing.

    Args:
        registry: The catalog.
        events: Told.
        server: The source's id.
    """
    before = _definitions(registry, server)
    yield
    after = _definitions(registry, server)
    change = CatalogChanged(
        server,
        added=tuple(each for each in after if each not in before),
        removed=tuple(each for each in before if each not in after),
        changed=tuple(each for each in after if each in before and after[each] != before[each]),
    )
    if change.added or change.removed or change.changed:
        events.publish(change)


def _definitions(registry: ToolRegistry, server: str) -> dict[str, JsonObject]:
    try:
        return {tool.id: tool.definition for tool in registry.tools(server)}
    except StoreError:
        return {}
