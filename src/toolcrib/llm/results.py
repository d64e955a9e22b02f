"""Results of tools as a model is given them."""

import json
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from toolcrib.broker import content_of, repeats_structure
from toolcrib.catalog import JsonObject

IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
"""Images that every vendor takes which takes any."""

PDF = "application/pdf"

_LARGEST_MEDIA = 5_000_000
"""Characters of base64 in one image or document: what vendors take of it in one request."""

_OWN = "toolcrib/"
"""Begins the members of `_meta` that are Toolcrib's own."""

_WORDS = ("text/", "application/json", "application/xml", "application/yaml")


@dataclass(frozen=True, slots=True)
class Media:
    """Bytes in a result that a vendor may be given as they are.

    Attributes:
        kind: An image, or a document.
        mime: Its type.
        data: Base64.
        name: How it may be called.
    """

    kind: Literal["image", "document"]
    mime: str
    data: str
    name: str

    @property
    def url(self) -> str:
        """It as a `data:` URL."""
        return f"data:{self.mime};base64,{self.data}"


def media_of(block: Mapping[str, Any]) -> Media | None:
    """What a block holds of an image or a PDF document, be it an image block or an embedded resource; None for every
    other block, and for what is larger than vendors take."""
    held: Mapping[str, Any] = block
    name = "image"
    if block.get("type") == "resource":
        held = block.get("resource") or {}
        name = str(held.get("uri", "")).rstrip("/").rpartition("/")[2] or "document"
    elif block.get("type") != "image":
        return None
    mime, data = held.get("mimeType"), held.get("data") or held.get("blob")
    if not isinstance(data, str) or not data or len(data) > _LARGEST_MEDIA:
        return None
    if mime in IMAGES:
        return Media("image", str(mime), data, name)
    return Media("document", PDF, data, name if name.endswith(".pdf") else f"{name}.pdf") if mime == PDF else None


def blocks_for_model(result: Mapping[str, Any]) -> tuple[JsonObject, ...]:
    """The content of a tool's result, in which nothing is said twice.

    Structured content goes out as text, unless a text block says the same; of several blocks that do, the
    first is kept. What Toolcrib itself notes in the `_meta` of blocks, no server has a say in.
    """
    blocks = [_without_notes(block) for block in content_of(result)]
    if "structuredContent" not in result:
        return tuple(blocks)
    repeating = [place for place, block in enumerate(blocks) if repeats_structure(block, result)]
    if not repeating:
        text = json.dumps(result["structuredContent"], ensure_ascii=False, separators=(",", ":"))
        return (*blocks, text_block(text))
    return tuple(block for place, block in enumerate(blocks) if place == repeating[0] or place not in repeating)


def _without_notes(block: JsonObject) -> JsonObject:
    meta = block.get("_meta")
    if not isinstance(meta, dict):
        return block
    members = cast("JsonObject", meta)
    if not any(name.startswith(_OWN) for name in members):
        return block
    return {**block, "_meta": {name: each for name, each in members.items() if not name.startswith(_OWN)}}


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
            words = _decoded(resource)
            if words is not None:
                return words
            return f"[{resource.get('uri', 'a resource')}: {_kind(resource)}, not shown]"
        case "resource_link":
            return f"[{block.get('name', 'resource')}: {block.get('uri', '')}]"
        case kind:
            return f"[{kind}: {_kind(block)}, not shown]"


def _decoded(resource: Mapping[str, Any]) -> str | None:
    """The words of a blob that is a text after all."""
    data, mime = resource.get("blob"), str(resource.get("mimeType") or "")
    if not isinstance(data, str) or not mime.startswith(_WORDS):
        return None
    try:
        return b64decode(data, validate=True).decode()
    except ValueError:
        return None


def _kind(block: Mapping[str, Any]) -> str:
    data = block.get("data") or block.get("blob")
    size = f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""
    return f"{block.get('mimeType') or 'of unknown type'}{size}"
