"""What a new listing changes of the catalog, told to whoever listens."""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from toolcrib.catalog import JsonObject, ListMethod, ToolRegistry, public_name
from toolcrib.errors import ServerError, StoreError
from toolcrib.events import CatalogChanged, EventBus, OffersChanged, ResourceUpdated, ToolsToldOf
from toolcrib.servers import McpServer

LISTS_OF: Mapping[str, tuple[ListMethod, ...]] = {
    "resources": ("resources/list", "resources/templates/list"),
    "prompts": ("prompts/list",),
}
"""What a server lists of each kind that `OffersChanged` tells of."""


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


_OF_HOP = ("io.modelcontextprotocol/subscriptionId", "io.modelcontextprotocol/serverInfo")
"""Members of a notification's `_meta` that are between a server and whoever is connected to it."""

MOST_WORDS = 65_536
"""Characters of JSON that a notification may say beside what has changed: it waits for each client that reads none."""
_LONGEST_URI = 8_192


def told_by(
    source_id: str, method: str, params: Mapping[str, Any]
) -> OffersChanged | ResourceUpdated | ToolsToldOf | None:
    """The event that a source's notification stands for; None where it is of another kind, or says nothing more than
    that the tools have changed."""
    words = _words(params)
    match method:
        case "notifications/resources/list_changed":
            return OffersChanged(source_id, "resources", words)
        case "notifications/prompts/list_changed":
            return OffersChanged(source_id, "prompts", words)
        case "notifications/tools/list_changed" if words:
            return ToolsToldOf(source_id, words)
        case "notifications/resources/updated" if (
            isinstance(uri := params.get("uri"), str) and len(uri) <= _LONGEST_URI
        ):
            return ResourceUpdated(source_id, uri, words)
        case _:
            return None


def _words(params: Mapping[str, Any]) -> JsonObject:
    """What a notification says beside what has changed, without what belongs to its hop; nothing of too much."""
    words = {name: each for name, each in params.items() if name != "uri"}
    if isinstance(meta := words.pop("_meta", None), Mapping):
        kept = {name: each for name, each in cast("JsonObject", meta).items() if name not in _OF_HOP}
        if kept:
            words["_meta"] = kept
    return words if not words or len(json.dumps(words)) <= MOST_WORDS else {}


async def tell_if_changed(server: McpServer, event: OffersChanged, before: Sequence[bytes], events: EventBus) -> None:
    """Publish that what a server offers has changed, unless it lists the same as before.

    Args:
        server: The server that says so.
        event: What it says.
        before: What `Offering.seen` told when it said so.
        events: Told.
    """
    methods = LISTS_OF[event.kind]
    try:
        for method in methods:
            await server.list(method)
    except ServerError:
        events.publish(event)
        return
    if server.offering.seen(*methods) != before:
        events.publish(event)


def _definitions(registry: ToolRegistry, part: str) -> dict[str, JsonObject]:
    try:
        return {tool.id: tool.definition for tool in registry.tools(part)}
    except StoreError:
        return {}
