"""What a new listing changes of the catalog, told to whoever listens."""

from collections.abc import Generator
from contextlib import contextmanager

from toolcrib.catalog import JsonObject, ToolRegistry, public_name
from toolcrib.errors import StoreError
from toolcrib.events import CatalogChanged, EventBus


@contextmanager
def published(registry: ToolRegistry, events: EventBus, part: str) -> Generator[None]:
    """Publish what the block changes of one source's tools, if anything; a block that raises changes nothing.

    Args:
        registry: The catalog.
        events: Told.
        part: The source's id, or the name of a part that is one principal's own.
    """
    before = _definitions(registry, part)
    yield
    after = _definitions(registry, part)
    change = CatalogChanged(
        public_name(part),
        added=tuple(each for each in after if each not in before),
        removed=tuple(each for each in before if each not in after),
        changed=tuple(each for each in after if each in before and after[each] != before[each]),
    )
    if change.added or change.removed or change.changed:
        events.publish(change)


def _definitions(registry: ToolRegistry, part: str) -> dict[str, JsonObject]:
    try:
        return {tool.id: tool.definition for tool in registry.tools(part)}
    except StoreError:
        return {}
