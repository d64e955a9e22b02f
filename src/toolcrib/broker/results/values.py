"""What a program gets of a result, and which of its parts say the same."""

import json
from collections.abc import Mapping
from typing import Any, cast

from toolcrib.catalog import JsonObject


def value_of(result: Mapping[str, Any]) -> Any:
    """What a program works with: the structured content; else a single text, parsed where it is JSON; else the
    blocks as they came.

    Numbers, strings and the like inside JSON text are parsed only where the text is an object or array: a text
    that says `42` or `null` stays a text.
    """
    if "structuredContent" in result:
        return result["structuredContent"]
    blocks = content_of(result)
    if len(blocks) == 1 and blocks[0].get("type") == "text":
        return parsed(str(blocks[0].get("text", "")))
    return blocks


def content_of(result: Mapping[str, Any]) -> list[JsonObject]:
    """The content blocks of a result; empty where a server sent none or something else."""
    content = result.get("content")
    if not isinstance(content, list):
        return []
    blocks = cast("list[Any]", content)
    return [cast("JsonObject", block) for block in blocks if isinstance(block, dict)]


def contents_as_blocks(result: Mapping[str, Any]) -> JsonObject:
    """What was read of a resource as the result of a tool has it: each content as an embedded resource."""
    contents = content_of({"content": result.get("contents")})
    return {"content": [{"type": "resource", "resource": each} for each in contents], "isError": False}


def text_of(result: Mapping[str, Any]) -> str:
    """The text blocks of a result, one after the other."""
    return "\n".join(str(block.get("text", "")) for block in content_of(result) if block.get("type") == "text")


def repeats_structure(block: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Whether a text block says nothing but what the structured content says.

    Servers must repeat structured content as text for older clients (specification 2025-06-18, tools); some
    wrap the value as `{"result": …}` and repeat only what is inside.
    """
    if block.get("type") != "text" or "structuredContent" not in result:
        return False
    text = str(block.get("text", ""))
    structure = result["structuredContent"]
    candidates = [structure]
    if isinstance(structure, dict) and set(cast("JsonObject", structure)) == {"result"}:
        candidates.append(cast("JsonObject", structure)["result"])
    try:
        read = json.loads(text)
        return any(same_json(read, each) for each in candidates)
    except ValueError:
        return text in [each for each in candidates if isinstance(each, str)]
    except RecursionError:  # nested too deep to be compared; to keep both loses nothing
        return False


def same_json(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON; `true` is not `1`, and the order of members does not count."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        one, other = cast("JsonObject", left), cast("JsonObject", right)
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(left, list) and isinstance(right, list):
        items, others = cast("list[Any]", left), cast("list[Any]", right)
        return len(items) == len(others) and all(map(same_json, items, others))
    return bool(left == right)


def parsed(text: str) -> Any:
    """The object or array that a text is the JSON of; any other text as it is."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
