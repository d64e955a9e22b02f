"""What the Responses API refuses, and how it answers."""

import json
from typing import Any

from doubles import openai_rules as rules
from doubles.openai_rules import refuse

MEMBERS = {
    "model", "input", "instructions", "tools", "tool_choice", "store", "stream", "max_output_tokens",
    "parallel_tool_calls", "reasoning", "include", "metadata", "prompt_cache_key", "temperature",
}  # fmt: skip
PREFIXES = {
    "function_call": "fc", "message": "msg", "reasoning": "rs", "tool_search_call": "ts", "tool_search_output": "tso",
}  # fmt: skip
ITEMS = {*PREFIXES, "function_call_output", "tool_search_output"}


def check(body: dict[str, Any], headers: dict[str, str]) -> None:
    rules.key(headers)
    check_body(body)


def check_body(body: dict[str, Any]) -> None:
    for member in body:
        if member not in MEMBERS:
            raise refuse(f"Unknown parameter: '{member}'.", "unknown_parameter", member)
    searches = False
    names: list[str] = []
    spaces: dict[str, str] = {}
    for place, tool in enumerate(body.get("tools") or []):
        if tool["type"] == "tool_search":
            searches = True
            if tool.get("execution", "server") == "server" and "parameters" in tool:
                raise refuse("A tool_search that the server executes takes no parameters.")
        elif tool["type"] == "namespace":
            _namespace(place, tool, spaces)
        else:
            rules.function(f"tools[{place}]", tool)
            names.append(tool["name"])
        if tool.get("strict") is None and tool["type"] == "function":
            raise refuse("a function of somebody else's schema without strict: false would be made strict")
        if tool.get("defer_loading") and not any(each["type"] == "tool_search" for each in body["tools"]):
            raise refuse("Deferred tools need a tool_search tool.")
    rules.unique(names)
    rules.forced(body.get("tool_choice"), names)
    if any(tool["type"] == "namespace" for tool in body.get("tools") or []) and not searches:
        raise refuse("Deferred tools need a tool_search tool.")
    _items(body["input"], searches=searches, spaces=spaces)
    if len(json.dumps(body["input"])) / 4 > 1_000_000:
        raise refuse("Your input exceeds the context window of this model.", "context_length_exceeded", "input")


def _namespace(place: int, space: dict[str, Any], spaces: dict[str, str]) -> None:
    if not space.get("description"):
        raise refuse(f"Missing required parameter: 'tools[{place}].description'.")
    for tool in space["tools"]:
        rules.function(f"tools[{place}].tools[0]", tool)
        spaces[tool["name"]] = space["name"]
    rules.unique([tool["name"] for tool in space["tools"]])


def _items(items: list[dict[str, Any]], *, searches: bool, spaces: dict[str, str]) -> None:
    calls: dict[str, str] = {}
    answered: set[str] = set()
    ids: set[str] = set()
    for place, item in enumerate(items):
        kind = item["type"]
        if kind not in ITEMS:
            raise refuse(f"Invalid value: '{kind}'.", "invalid_value", f"input[{place}].type")
        _id(place, item, ids)
        if kind in ("tool_search_call", "tool_search_output") and item.get("execution") == "server":
            if "call_id" not in item or item["call_id"] is not None:
                raise refuse(f"Invalid 'input[{place}].call_id': expected null.")
            if not searches:
                raise refuse("tool_search_call without a tool_search tool")
            continue
        if kind == "function_call" and item["name"] in spaces and item.get("namespace") != spaces[item["name"]]:
            raise refuse(f"Missing namespace for function_call '{item['name']}'.", None, f"input[{place}]")
        if kind in ("function_call", "tool_search_call"):
            calls[item["call_id"]] = kind
            if kind == "function_call":
                _call(place, item)
            elif not searches:
                raise refuse("tool_search_call without a tool_search tool")
        if kind in ("function_call_output", "tool_search_output"):
            wanted = kind.replace("_output", "") if kind == "function_call_output" else "tool_search_call"
            if calls.get(item["call_id"]) != wanted or item["call_id"] in answered:
                raise refuse(
                    f"No tool call found for function call output with call_id {item['call_id']}.", None, "input"
                )
            answered.add(item["call_id"])
            for tool in item.get("tools", []):
                rules.function("tools[0]", tool)
    for call_id in calls:
        if call_id not in answered:
            raise refuse(f"No tool output found for function call {call_id}.", None, "input")
    _reasoning(items)


def _id(place: int, item: dict[str, Any], ids: set[str]) -> None:
    if "id" not in item:
        return
    prefix = PREFIXES.get(item["type"], "")
    if not item["id"].startswith(prefix):
        raise refuse(f"Invalid 'input[{place}].id': '{item['id']}'. Expected an ID that begins with '{prefix}'.")
    if item["id"] in ids:
        raise refuse(f"Duplicate item found with id {item['id']}")
    ids.add(item["id"])


def _call(place: int, item: dict[str, Any]) -> None:
    if not isinstance(item["arguments"], str):
        raise refuse(f"Invalid type for 'input[{place}].arguments': expected a string.")
    if not rules.NAME.fullmatch(item["name"]) or len(item["call_id"]) > 64:
        raise refuse(f"Invalid 'input[{place}].name'")


def _reasoning(items: list[dict[str, Any]]) -> None:
    """An item with an id that came after reasoning needs it, and reasoning needs what followed it."""
    for place, item in enumerate(items):
        if item["type"] != "reasoning":
            continue
        following = items[place + 1] if place + 1 < len(items) else None
        if (
            following is None
            or following["type"] in ("function_call_output", "tool_search_output")
            or (following["type"] == "message" and following.get("role") == "user")
        ):
            raise refuse(f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.")
    for place, item in enumerate(items):
        if item["type"] == "function_call" and item.get("id", "").startswith("fc_r"):
            wanted = f"rs_{item['id'][4:]}"
            if not any(each.get("id") == wanted for each in items[:place]):
                raise refuse(
                    f"Item '{item['id']}' of type 'function_call' was provided without its required 'reasoning' item: "
                    f"'{wanted}'."
                )


def words(text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "type": "message",
        "id": f"msg_{len(text)}",
        "role": "assistant",
        "status": "completed",
        "content": content,
        **more,
    }


def call(name: str, arguments: Any, call_id: str, **more: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    head = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "status": "completed"}
    return {**head, "arguments": text, **more}


def search(query: str, call_id: str) -> dict[str, Any]:
    return {
        "type": "tool_search_call", "id": f"ts_{call_id}", "execution": "client", "call_id": call_id,
        "arguments": {"query": query}, "status": "completed",
    }  # fmt: skip


def searched(body: dict[str, Any], words: str, number: int = 1) -> list[dict[str, Any]]:
    """What the API itself finds in the namespaces of a request, as it answers."""
    wanted = set(words.lower().split())
    spaces = [
        {**each, "tools": [tool for tool in each["tools"] if wanted & set(json.dumps(tool).lower().split('"'))]}
        for each in body["tools"]
        if each["type"] == "namespace"
    ]
    found = [space for space in spaces if space["tools"]]
    shared = {"execution": "server", "call_id": None, "status": "completed"}
    paths = [space["name"] for space in found]
    return [
        {"type": "tool_search_call", "id": f"ts_{number}", "arguments": {"paths": paths}, **shared},
        {"type": "tool_search_output", "id": f"tso_{number}", "tools": found, **shared},
    ]


def reasoning(number: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "gAAA"}


def answer(*items: dict[str, Any], status: str = "completed", reason: str | None = None) -> list[Any]:
    """The events of an answer of these items."""
    events: list[dict[str, Any]] = [{"type": "response.created", "response": _response("in_progress", [])}]
    for index, item in enumerate(items):
        place = {"output_index": index}
        begun = {**item, "status": "in_progress"} if item["type"] != "reasoning" else item
        if item["type"] == "function_call":
            begun["arguments"] = ""
        events.append({"type": "response.output_item.added", "item": begun, **place})
        if item["type"] == "function_call":
            for at in range(0, len(item["arguments"]), 5):
                delta = {"delta": item["arguments"][at : at + 5], "item_id": item["id"], "obfuscation": "x"}
                events.append({"type": "response.function_call_arguments.delta", **delta, **place})
        if item["type"] == "message":
            for part, content in enumerate(item["content"]):
                if content["type"] == "output_text":
                    delta = {"delta": content["text"], "item_id": item["id"], "content_index": part, "logprobs": []}
                    events.append({"type": "response.output_text.delta", **delta, **place})
        events.append({"type": "response.output_item.done", "item": item, **place})
    done = _response(status, list(items), reason)
    events.append({"type": f"response.{status}", "response": done})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def failed(message: str, code: str) -> list[Any]:
    response = {**_response("failed", []), "error": {"code": code, "message": message}}
    return [{"type": "response.failed", "response": response, "sequence_number": 0}]


def _response(status: str, output: list[Any], reason: str | None = None) -> dict[str, Any]:
    usage = {
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2}, "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 17,
    }  # fmt: skip
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt", "status": status, "output": output,
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": usage, "error": None,
        "incomplete_details": {"reason": reason} if reason else None, "instructions": None, "metadata": {},
        "temperature": 1, "top_p": 1,
    }  # fmt: skip
