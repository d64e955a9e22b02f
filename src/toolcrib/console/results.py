"""A result as a page shows it: each block as text, image, or what is to be told of it. Nothing in it is ever a link."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from toolcrib.broker import content_of, repeats_structure
from toolcrib.catalog import JsonObject

IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/svg+xml"))
"""Media types that are shown as images. As the source of an image an SVG runs nothing and loads nothing (HTML Living
Standard, 4.8.4.4; SVG 2, 2.2.6, secure animated mode)."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a result.

    Attributes:
        kind: How it is shown: `text`; `json`; `image`; `facts`, which tell of what can't be shown.
        title: What it is.
        value: The text, or the value.
        source: The data of an image, as the address of one.
        facts: What is told of it, by name.
    """

    kind: Literal["text", "json", "image", "facts"]
    title: str
    value: Any = None
    source: str = ""
    facts: tuple[tuple[str, str], ...] = ()


def blocks_of(result: Mapping[str, Any]) -> list[Block]:
    """What there is to show of a tool's result; what merely repeats the structured content is left out."""
    found = [_block(block) for block in content_of(result) if not repeats_structure(block, result)]
    if "structuredContent" in result:
        found.insert(0, Block("json", "Structured content", result["structuredContent"]))
    return found


def _block(block: JsonObject) -> Block:
    """A block of the protocol (2026-07-28, schema, ContentBlock); any other as its JSON."""
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return Block("text", "Text", block["text"])
    if kind in ("image", "audio"):
        return _media(str(kind).capitalize(), block.get("mimeType"), block.get("data")) or _as_json(block)
    if kind == "resource_link":
        return Block("facts", "Link to a resource", facts=tuple(_told(block, ("type",))))
    resource: Any = block.get("resource")
    if kind == "resource" and isinstance(resource, dict):
        return _resource(cast("JsonObject", resource)) or _as_json(block)
    return _as_json(block)


def _resource(held: JsonObject) -> Block | None:
    facts = tuple(_told(held, ("text", "blob")))
    if isinstance(held.get("text"), str):
        return Block("text", "Resource", held["text"], facts=facts)
    found = _media("Resource", held.get("mimeType"), held.get("blob"))
    return None if found is None else Block(found.kind, found.title, source=found.source, facts=(*facts, *found.facts))


def _media(title: str, mime: object, data: object) -> Block | None:
    """Bytes in base64, as an image or as what is to be told of them; None where they are none."""
    if not isinstance(data, str):
        return None
    try:
        size = len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return None
    named = mime.partition(";")[0].strip().lower() if isinstance(mime, str) else ""
    facts = (("type", str(mime or "unknown")), ("size", f"{size:,} bytes"))
    if named in IMAGES:
        return Block("image", title, source=f"data:{named};base64,{data}", facts=facts)
    return Block("facts", title, facts=facts)


def _told(block: JsonObject, but: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, value in block.items():
        if name not in but:
            yield name, value if isinstance(value, str) else repr(value)


def _as_json(block: JsonObject) -> Block:
    return Block("json", str(block.get("type", "Block")), block)
