"""Images, sounds and other bytes in a result: blocks that are never turned into text, and never taken apart."""

from collections.abc import Mapping
from typing import Any, cast

from toolcrib.catalog import JsonObject

_DATA = "data"
_BLOB = "blob"


def is_media(block: Any) -> bool:
    """Whether a content block holds bytes: an image, a sound, or an embedded resource that is no text."""
    return _bytes_of(block) is not None


def without_data(block: JsonObject) -> JsonObject:
    """What is told of a block in place of its bytes: everything else, and how many there are (of base64)."""
    data = _bytes_of(block)
    if data is None:
        return block
    if _DATA in block:
        return {**{key: value for key, value in block.items() if key != _DATA}, "bytes": _decoded_length(data)}
    resource = cast("JsonObject", block["resource"])
    told = {key: value for key, value in resource.items() if key != _BLOB}
    return {**block, "resource": {**told, "bytes": _decoded_length(data)}}


def media_name(block: Mapping[str, Any]) -> str:
    """Kind, type and size of such a block, in a few words."""
    data = _bytes_of(block) or ""
    resource = cast("JsonObject", block.get("resource", {}))
    kind = str(block.get("type"))
    mime_type = block.get("mimeType") or resource.get("mimeType") or "type unknown"
    return f"{kind} ({mime_type}, {_decoded_length(data):,} bytes)"


def _bytes_of(block: Any) -> str | None:
    if not isinstance(block, dict):
        return None
    members = cast("JsonObject", block)
    if members.get("type") in ("image", "audio") and isinstance(members.get(_DATA), str):
        return members[_DATA]
    resource = members.get("resource")
    if members.get("type") == "resource" and isinstance(resource, dict):
        blob = cast("JsonObject", resource).get(_BLOB)
        return blob if isinstance(blob, str) else None
    return None


def _decoded_length(data: str) -> int:
    return len(data) * 3 // 4 - data[-2:].count("=")
