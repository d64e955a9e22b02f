"""What a new listing changes of the catalog, told to whoever listens."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from toolcrib.catalog import JsonObject, ToolRegistry, public_name
from toolcrib.errors import StoreError
from toolcrib.events import CatalogChanged, EventBus, OffersChanged, ResourceUpdated


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


def told_by(source_id: str, method: str, params: Mapping[str, Any]) -> OffersChanged | ResourceUpdated | None:
    """The event that a source's notification stands for; None where it is of another kind."""
    match method:
        case "notifications/resources/list_changed":
            return OffersChanged(source_id, "resources")
        case "notifications/prompts/list_changed":
            return OffersChanged(source_id, "prompts")
        case "notifications/resources/updated" if isinstance(params.get("uri"), str):
            return ResourceUpdated(source_id, params["uri"])
        case _:
            return None


def _definitions(registry: ToolRegistry, part: str) -> dict[str, JsonObject]:
    try:
        return {tool.id: tool.definition for tool in registry.tools(part)}
    except StoreError:
        return {}
