"""What a tool answered, made ready for one client: the values of the upstream in the envelope of this server.

Two members of a result belong to one hop of the protocol and not to the tool's answer, so they are this server's
own: `resultType`, and the `serverInfo` stamp in `_meta` (specification 2026-07-28, basic). Everything else goes
out with the values that the upstream sent, members and block types that no revision knows included.

What a client of the `initialize` handshake era can't be given is projected: until 2025-11-25
`structuredContent` is an object, so any other value is left out, and goes out as JSON text where no text block
says the same already.

Python reads and JavaScript writes what JSON in UTF-8 has no form for: half a surrogate pair, where a text was cut
in the middle of an emoji, and numbers that are not finite. Those alone are replaced, by `\ufffd` and null, and
`_meta` says where; the rest of such an answer is worth having.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, cast

from mcp_types import INTERNAL_ERROR, SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic_core import PydanticSerializationError, to_json

from toolcrib.broker import content_of, repeats_structure
from toolcrib.catalog import JsonObject
from toolcrib.errors import ProtocolError

_STRUCTURE = "structuredContent"

REPLACED_META = "toolcrib/replaced"
"""Member of a result's `_meta` that tells which values had no form in JSON, by JSON Pointer."""

_MOST_TOLD = 20

_KEEPING = ("ttlMs", "cacheScope")
"""Members that say how long and for whom a result may be kept."""


def enveloped(answer: JsonObject, envelope: Mapping[str, Any], protocol_version: str) -> JsonObject:
    """A tool's answer as it goes out to a client.

    What can't go out even so is told in its place as a result marked as an error, because a message that can't
    be written would end the whole connection.

    Args:
        answer: The result as the upstream sent it, or as Toolcrib made it.
        envelope: A result that the SDK shaped for this request: it carries what the revision demands.
        protocol_version: The revision that the client speaks.
    """
    kind = answer.get("resultType", "complete")
    if kind == "input_required" and protocol_version in MODERN_PROTOCOL_VERSIONS:
        return _asking(answer, envelope)
    if kind != "complete":
        return _refusal(f"The tool's server answered with resultType {kind!r}, which is not relayed here.", envelope)
    result: JsonObject = {"content": [], **answer}
    result.pop("resultType", None)
    result.pop("_meta", None)
    if "resultType" in envelope:
        result["resultType"] = envelope["resultType"]
    if meta := _meta(answer, envelope):
        result["_meta"] = meta
    if protocol_version not in MODERN_PROTOCOL_VERSIONS:
        _project(result)
    if _is_writable(result):
        return result
    places: list[str] = []
    try:
        mended = cast("JsonObject", _writable(result, "", places))
        to_json(mended)
    except (PydanticSerializationError, RecursionError) as error:
        return _refusal(f"The tool answered with something that can't be written as JSON: {error}", envelope)
    if not places:
        return result
    mended["_meta"] = {**mended.get("_meta", {}), REPLACED_META: places[:_MOST_TOLD]}
    return mended


def relayed(answer: JsonObject, envelope: Mapping[str, Any], protocol_version: str, *, shared: bool) -> JsonObject:
    """The answer to a request that is no tool call, as it goes out to a client.

    Args:
        answer: The result as the upstream sent it.
        envelope: A result that the SDK shaped for this request.
        protocol_version: The revision that the client speaks.
        shared: Whether what the upstream calls public may be kept for other callers too.

    Raises:
        ProtocolError: It can't go out.
    """
    kind = answer.get("resultType", "complete")
    modern = protocol_version in MODERN_PROTOCOL_VERSIONS
    if kind == "input_required" and modern:
        return _asking(answer, envelope)
    if kind != "complete":
        raise ProtocolError("upstream", f"resultType {kind!r} is not relayed here", rpc_code=INTERNAL_ERROR)
    result: JsonObject = {**envelope, **answer}
    for member in ("resultType", *_KEEPING):
        if member in envelope:
            result[member] = answer.get(member, envelope[member])
        else:
            result.pop(member, None)
    if "cacheScope" in envelope and not shared:
        result["cacheScope"] = "private"
    result.pop("_meta", None)
    if meta := _meta(answer, envelope):
        result["_meta"] = meta
    return result if _is_writable(result) else cast("JsonObject", _writable(result, "", []))


def listed(envelope: Mapping[str, Any], page: JsonObject, protocol_version: str) -> JsonObject:
    """A page of a list as it goes out to a client; how long it may be kept is told from 2026-07-28 on.

    Args:
        envelope: A result that the SDK shaped for this request.
        page: The entries, and what there is to say of them.
        protocol_version: The revision that the client speaks.
    """
    if protocol_version not in MODERN_PROTOCOL_VERSIONS:
        page = {name: value for name, value in page.items() if name not in _KEEPING}
    result = {**envelope, **page}
    return result if _is_writable(result) else cast("JsonObject", _writable(result, "", []))


def _asking(answer: JsonObject, envelope: Mapping[str, Any]) -> JsonObject:
    """An answer that asks for input: nothing of it is a result yet."""
    names = ("inputRequests", "requestState")
    result: JsonObject = {"resultType": "input_required", **{name: answer[name] for name in names if name in answer}}
    if meta := _meta(answer, envelope):
        result["_meta"] = meta
    if not _is_writable(result):
        return _refusal("The tool asks for something that can't be written as JSON.", envelope)
    return result


def _is_writable(result: JsonObject) -> bool:
    try:
        text = to_json(result)
    except PydanticSerializationError:
        return False
    # These words stand for numbers that are not finite, unless some text has them.
    return b"NaN" not in text and b"Infinity" not in text


def _writable(value: Any, path: str, places: list[str]) -> Any:
    """A copy with what has no form in JSON replaced; notes where that was."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {_text(key, path, places): _writable(item, f"{path}/{_escaped(key)}", places) for key, item in members}
    if isinstance(value, list):
        items = enumerate(cast("list[Any]", value))
        return [_writable(item, f"{path}/{index}", places) for index, item in items]
    if isinstance(value, str):
        return _text(value, path, places)
    if isinstance(value, float) and not math.isfinite(value):
        places.append(path)
        return None
    return value


def _text(text: str, path: str, places: list[str]) -> str:
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if whole != text:
        places.append(path)
    return whole


def _escaped(key: str) -> str:
    return key.encode("utf-8", "replace").decode().replace("~", "~0").replace("/", "~1")


def _refusal(text: str, envelope: Mapping[str, Any]) -> JsonObject:
    return {**envelope, "content": [{"type": "text", "text": text}], "isError": True}


def _meta(answer: JsonObject, envelope: Mapping[str, Any]) -> JsonObject:
    """The answer's `_meta`, with this server's stamp, if the revision has one, in place of the upstream's."""
    upstream = answer.get("_meta")
    kept = dict(cast("JsonObject", upstream)) if isinstance(upstream, dict) else {}
    kept.pop(SERVER_INFO_META_KEY, None)
    return {**kept, **envelope.get("_meta", {})}


def _project(result: JsonObject) -> None:
    """Take out of a result what the handshake era has no place for."""
    if _STRUCTURE not in result or isinstance(result[_STRUCTURE], dict):
        return
    blocks = content_of(result)
    if not any(repeats_structure(block, result) for block in blocks):
        text = json.dumps(result[_STRUCTURE], ensure_ascii=False, separators=(",", ":"))
        result["content"] = [*blocks, {"type": "text", "text": text}]
    del result[_STRUCTURE]
