"""Results of tools as a model is given them."""

import json
from collections.abc import Mapping
from typing import Any

from toolcrib.broker import content_of, repeats_structure
from toolcrib.catalog import JsonObject


def blocks_for_model(result: Mapping[str, Any]) -> tuple[JsonObject, ...]:
    """The content of a tool's result, in which nothing is said twice.

    Structured content goes out as text, unless a text block says the same; of several blocks that do, the
    first is kept.
    """
    blocks = content_of(result)
    if "structuredContent" not in result:
        return tuple(blocks)
    repeating = [place for place, block in enumerate(blocks) if repeats_structure(block, result)]
    if not repeating:
        text = json.dumps(result["structuredContent"], ensure_ascii=False, separators=(",", ":"))
        return (*blocks, text_block(text))
    return tuple(block for place, block in enumerate(blocks) if place == repeating[0] or place not in repeating)


def text_block(text: str) -> JsonObject:
    """A content block of one text, in which half a surrogate pair, which has no UTF-8 form, becomes `?`."""
    return {"type": "text", "text": text.encode("utf-8", "replace").decode()}


def as_text(block: Mapping[str, Any]) -> str:
    """A block as words, for a model that takes only those: what can't be shown is named, never left out."""
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "resource":
            resource: Mapping[str, Any] = block.get("resource") or {}
            if isinstance(resource.get("text"), str):
                return str(resource["text"])
            return f"[{resource.get('uri', 'a resource')}: {_kind(resource)}, not shown]"
        case "resource_link":
            return f"[{block.get('name', 'resource')}: {block.get('uri', '')}]"
        case kind:
            return f"[{kind}: {_kind(block)}, not shown]"


def _kind(block: Mapping[str, Any]) -> str:
    data = block.get("data") or block.get("blob")
    size = f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""
    return f"{block.get('mimeType') or 'of unknown type'}{size}"
