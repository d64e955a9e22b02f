"""What Anthropic's Messages API refuses, and how it answers: from its reference and from its published refusals."""

import json
import re
from collections.abc import Iterator
from typing import Any

from doubles import anthropic_rules
from doubles.serving import Refusal

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
ID = re.compile(r"[a-zA-Z0-9_-]+")
MEMBERS = {
    "model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "thinking", "metadata",
    "stop_sequences", "temperature", "top_p", "top_k", "service_tier", "container", "mcp_servers",
}  # fmt: skip
TOOL_MEMBERS = {
    "name", "description", "input_schema", "type", "defer_loading", "cache_control", "strict", "input_examples",
    "allowed_callers", "eager_input_streaming",
}  # fmt: skip
WINDOW = 200_000


def refuse(message: str, kind: str = "invalid_request_error", status: int = 400, **headers: str) -> Refusal:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return Refusal(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def check(body: dict[str, Any], headers: dict[str, str]) -> None:
    if headers.get("authorization") != "Bearer key" and headers.get("x-api-key") != "key":
        raise refuse("invalid x-api-key", "authentication_error", 401)
    if headers.get("anthropic-version") not in ("2023-06-01", "2026-10-21"):
        raise refuse("anthropic-version: header is required")
    for member in body:
        if member not in MEMBERS:
            raise refuse(f"{member}: Extra inputs are not permitted")
    for member in ("model", "max_tokens", "messages"):
        if member not in body:
            raise refuse(f"{member}: Field required")
    tools = body.get("tools")
    if tools is not None:
        _tools(tools)
    elif "tool_choice" in body:
        raise refuse("tool_choice: may only be specified while providing tools")
    _choice(body)
    _cache(body)
    _messages(body["messages"], {tool["name"] for tool in tools or []}, tools is not None)
    anthropic_rules.check(body, refuse)
    if len(json.dumps(body["messages"])) / 4 > WINDOW:
        raise refuse(f"prompt is too long: 210000 tokens > {WINDOW} maximum")


SEARCHES = {f"tool_search_tool_{kind}{version}" for kind in ("regex", "bm25") for version in ("", "_20251119")}


def _choice(body: dict[str, Any]) -> None:
    choice = body.get("tool_choice") or {"type": "auto"}
    if choice["type"] in ("any", "tool") and (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
        raise refuse("Thinking may not be enabled when tool_choice forces tool use.")
    if choice["type"] == "tool" and choice["name"] not in {tool["name"] for tool in body["tools"]}:
        raise refuse(f"tool_choice: Tool '{choice['name']}' not found in provided tools")


def _tools(tools: list[dict[str, Any]]) -> None:
    names = [tool["name"] for tool in tools]
    for place, tool in enumerate(tools):
        where = f"tools.{place}.custom"
        if tool.get("type") in SEARCHES:
            if tool["name"] != tool["type"].removesuffix("_20251119"):
                raise refuse(f"tools.{place}.{tool['type']}.name: Input should be '{tool['type']}'")
            if tool.get("defer_loading"):
                raise refuse("At least one tool must have defer_loading=false. The search tool can't be deferred.")
            continue
        if not NAME.fullmatch(tool["name"]):
            raise refuse(f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        for member in tool:
            if member not in TOOL_MEMBERS:
                raise refuse(f"{where}.{member}: Extra inputs are not permitted")
        schema = tool.get("input_schema")
        if schema is None:
            raise refuse(f"{where}.input_schema: Field required")
        if schema.get("type") != "object":
            raise refuse(f"{where}.input_schema.type: Input should be 'object'")
        if {"oneOf", "allOf", "anyOf"} & set(schema):
            raise refuse(f"{where}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level")
        if not all(KEY.fullmatch(key) for key in schema.get("properties", {})):
            raise refuse(
                f"{where}.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'"
            )
        if tool.get("defer_loading") and "cache_control" in tool:
            raise refuse(f"{where}: cache_control and defer_loading can't go together")
    if len(set(names)) != len(names):
        raise refuse("tools: Tool names must be unique.")
    if tools and all(tool.get("defer_loading") for tool in tools):
        raise refuse("At least one tool must have defer_loading=false. All tools cannot be deferred.")


def _cache(body: dict[str, Any]) -> None:
    text = json.dumps(body)
    count = text.count('"cache_control"')
    if count > 4:
        raise refuse(f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")
    for block in _all_blocks(body):
        if "cache_control" in block and block["type"] == "text" and not block["text"]:
            raise refuse("cache_control cannot be set for empty text blocks")
        if "cache_control" in block and block["type"] in ("thinking", "redacted_thinking"):
            raise refuse("cache_control cannot be set for thinking blocks")


def _all_blocks(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if isinstance(body.get("system"), list):
        yield from body["system"]
    for message in body["messages"]:
        if isinstance(message["content"], list):
            yield from message["content"]


def _messages(messages: list[dict[str, Any]], names: set[str], has_tools: bool) -> None:
    if not messages or messages[0]["role"] != "user":
        raise refuse('messages: first message must use the "user" role')
    if messages[-1]["role"] == "assistant":
        raise refuse(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    pending: list[str] = []
    seen: set[str] = set()
    for place, message in enumerate(messages):
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        if not blocks:
            raise refuse(
                f"messages.{place}: all messages must have non-empty content except for the optional final assistant "
                "message"
            )
        pending = _blocks(place, message["role"], blocks, pending, seen, names, has_tools)
    if pending:
        raise _unanswered(len(messages) - 1, pending)


def _blocks(
    place: int,
    role: str,
    blocks: list[dict[str, Any]],
    pending: list[str],
    seen: set[str],
    names: set[str],
    has_tools: bool,
) -> list[str]:
    calls: list[str] = []
    answered: list[str] = []
    other = False
    for index, block in enumerate(blocks):
        where = f"messages.{place}.content.{index}"
        match block["type"]:
            case "text":
                if not block["text"].strip():
                    raise refuse("messages: text content blocks must be non-empty")
                other = True
            case "tool_use":
                if role != "assistant":
                    raise refuse(f"{where}: tool_use blocks can only be in assistant messages")
                if not has_tools:
                    raise refuse("Requests which include `tool_use` or `tool_result` blocks must define tools.")
                if not NAME.fullmatch(block["name"]):
                    raise refuse(f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
                if not ID.fullmatch(block["id"]):
                    raise refuse(f"{where}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
                if not isinstance(block["input"], dict):
                    raise refuse(f"{where}.input: Input should be a valid dictionary")
                if block["id"] in seen:
                    raise refuse(f"{where}: `tool_use` ids must be unique")
                seen.add(block["id"])
                calls.append(block["id"])
            case "server_tool_use":
                if block["id"] not in {each.get("tool_use_id") for each in blocks[index + 1 :]}:
                    raise refuse(
                        f"`{block['name']}` tool use with id `{block['id']}` was found without a corresponding "
                        f"`{block['name']}_tool_result` block"
                    )
                if block["name"] not in names:
                    raise refuse(f"... but no `{block['name']}` tool was provided")
            case "tool_search_tool_result":
                if role != "assistant":
                    raise refuse(f"{where}: tool_search_tool_result blocks can only be in assistant messages")
                for found in block["content"].get("tool_references", []):
                    _known(found["tool_name"], names)
            case "tool_result":
                if block["tool_use_id"].startswith("srvtoolu_"):
                    raise refuse(f"{where}: `tool_result` for a server tool: {block['tool_use_id']}")
                if role != "user":
                    raise refuse(f"{where}: tool_result blocks can only be in user messages")
                if block["tool_use_id"] not in pending:
                    raise refuse(
                        f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {block['tool_use_id']}. "
                        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                    )
                if block["tool_use_id"] in answered:
                    raise refuse("each tool_use must have a single result")
                if other:
                    raise _unanswered(place - 1, pending)
                answered.append(block["tool_use_id"])
                _result(where, block, names)
            case _:
                pass
    left = [call for call in pending if call not in answered]
    if left:
        raise _unanswered(place - 1, left)
    return calls


def _result(where: str, block: dict[str, Any], names: set[str]) -> None:
    for part in block.get("content", []):
        if part["type"] == "text" and not part["text"].strip():
            raise refuse("messages: text content blocks must be non-empty")
        if part["type"] == "tool_reference":
            _known(part["tool_name"], names)
        if part["type"] not in ("text", "image", "document", "search_result", "tool_reference"):
            raise refuse(f"{where}.content: Input tag '{part['type']}' found using 'type' does not match")


def _known(name: str, names: set[str]) -> None:
    if name not in names:
        raise refuse(f"Tool reference '{name}' not found in available tools")


def _unanswered(place: int, ids: list[str]) -> Refusal:
    return refuse(
        f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def answer(*blocks: dict[str, Any], stop: str = "end_turn", **usage: int) -> list[Any]:
    """The events of an answer of these blocks."""
    counts = {"input_tokens": 10, "output_tokens": 1, **usage}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": counts,
    }  # fmt: skip
    events: list[Any] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    for index, block in enumerate(blocks):
        events += _block_events(index, block)
    details = {"type": "refusal", "category": "cyber", "explanation": "no"} if stop == "refusal" else None
    delta = {"stop_reason": stop, "stop_sequence": None, "stop_details": details}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}})
    return [*events, {"type": "message_stop"}]


def _block_events(index: int, block: dict[str, Any]) -> list[Any]:
    start: dict[str, Any]
    match block["type"]:
        case "text":
            start, deltas = (
                {"type": "text", "text": ""},
                [{"type": "text_delta", "text": piece} for piece in re.findall(r"\S+\s*", block["text"])],
            )
        case "tool_use":
            text = block.get("raw", json.dumps(block["input"]) if block["input"] else "")
            pieces = ["", *(text[at : at + 5] for at in range(0, len(text), 5))]
            start = {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        case "server_tool_use":
            written = json.dumps(block["input"])
            start = {**block, "input": {}}
            deltas = [
                {"type": "input_json_delta", "partial_json": written[at : at + 9]} for at in range(0, len(written), 9)
            ]
        case "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case _:
            start, deltas = block, []
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def searched(body: dict[str, Any], words: str, number: int = 1) -> list[dict[str, Any]]:
    """What the API itself finds among the tools of a request that are held back, as it answers."""
    tool = next(each for each in body["tools"] if each.get("type") in SEARCHES)
    wanted = set(words.lower().split())
    hits = [
        each["name"]
        for each in body["tools"]
        if each.get("defer_loading") and wanted & set(re.findall(r"[a-z]+", json.dumps(each).lower()))
    ]
    call_id = f"srvtoolu_{number}"
    given = {"query" if "bm25" in tool["name"] else "pattern": words}
    references = [{"type": "tool_reference", "tool_name": name} for name in hits[:5]]
    found = {"type": "tool_search_tool_search_result", "tool_references": references}
    return [
        {"type": "server_tool_use", "id": call_id, "name": tool["name"], "input": given},
        {"type": "tool_search_tool_result", "tool_use_id": call_id, "content": found},
    ]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, arguments: dict[str, Any], call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments, **more}
