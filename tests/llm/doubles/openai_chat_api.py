"""What the chat completions API refuses, and how it answers; with the ways of other servers as switches."""

import json
from dataclasses import dataclass
from typing import Any

from doubles import openai_rules as rules
from doubles.openai_rules import refuse
from doubles.serving import Refusal

MEMBERS = {
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "temperature",
    "max_completion_tokens", "max_tokens", "response_format", "seed", "stop", "user",
}  # fmt: skip


def check(body: dict[str, Any], headers: dict[str, str]) -> None:
    rules.key(headers)
    check_body(body)


def check_body(body: dict[str, Any]) -> None:
    for member in body:
        if member not in MEMBERS:
            raise refuse(f"Unrecognized request argument supplied: {member}")
    tools = body.get("tools")
    if tools is not None:
        _tools(tools)
    elif "tool_choice" in body or "parallel_tool_calls" in body:
        raise refuse("'tool_choice' is only allowed when 'tools' are specified.")
    rules.forced(body.get("tool_choice"), [tool["function"]["name"] for tool in tools or []])
    _format(body.get("response_format") or {"type": "text"})
    _messages(body["messages"])
    if len(json.dumps(body["messages"])) / 4 > 128_000:
        raise refuse("This model's maximum context length is 128000 tokens.", "context_length_exceeded", "messages")


GRAMMAR = {
    "type", "enum", "const", "properties", "required", "items", "additionalProperties", "anyOf", "allOf", "$ref",
    "$defs", "definitions", "minItems", "format",
}  # fmt: skip
"""Keywords that the grammars of llama.cpp, xgrammar (vLLM) and Ollama all know; one refuses what another ignores."""


def _format(given: dict[str, Any]) -> None:
    if given["type"] not in ("text", "json_object", "json_schema"):
        raise refuse(f"Invalid value: '{given['type']}'.", param="response_format.type")
    if given["type"] == "json_schema":
        if not rules.NAME.fullmatch(given["json_schema"].get("name", "")):
            raise refuse("Missing required parameter: 'response_format.json_schema.name'.")
        _grammar(given["json_schema"]["schema"])


def _grammar(schema: Any) -> None:
    unknown = set(schema) - GRAMMAR
    if unknown:
        raise refuse(f"JSON schema conversion failed: Unrecognized schema: {unknown}")
    for keyword in ("properties", "$defs", "definitions"):
        for inner in schema.get(keyword, {}).values():
            _grammar(inner)
    for keyword in ("anyOf", "allOf"):
        for inner in schema.get(keyword, []):
            _grammar(inner)
    if "items" in schema:
        _grammar(schema["items"])


def check_llama_cpp_python(body: dict[str, Any], headers: dict[str, str]) -> None:
    """What the server of llama-cpp-python 0.3.36 refuses beyond that, and what its template loses without a word."""
    given = body.get("response_format") or {"type": "text"}
    if given["type"] not in ("text", "json_object"):
        raise Refusal(422, {"detail": [{"msg": "Input should be 'text' or 'json_object'"}]})
    for message in body["messages"]:
        if message["content"] is None:
            raise Refusal(500, {"error": {"message": "content: Input should be a valid string", "type": "internal"}})
        if message["role"] == "tool":
            raise AssertionError("this server drops messages of role tool from the prompt")


def _tools(tools: list[dict[str, Any]]) -> None:
    if not tools:
        raise refuse("[] is too short - 'tools'")
    if len(tools) > 128:
        raise refuse(
            "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length "
            f"{len(tools)} instead.",
            "array_above_max_length",
        )
    for place, tool in enumerate(tools):
        if tool["type"] != "function" or set(tool) - {"type", "function"}:
            raise refuse(f"Unknown parameter in tools[{place}]")
        rules.function(f"tools[{place}].function", tool["function"])
    rules.unique([tool["function"]["name"] for tool in tools])


def _messages(messages: list[dict[str, Any]]) -> None:
    if not messages:
        raise refuse("[] is too short - 'messages'")
    pending: list[str] = []
    for place, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in pending:
                raise refuse(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    param=f"messages.[{place}].role",
                )
            if not isinstance(message["content"], str):
                raise refuse("Invalid type for tool content")
            pending.remove(message["tool_call_id"])
            continue
        if pending:
            raise _unanswered(pending)
        if role not in ("system", "developer", "user", "assistant"):
            raise refuse(f"Invalid value: '{role}'.")
        if role == "assistant":
            pending = _calls(place, message)
        elif not message["content"]:
            raise refuse(f"Invalid content in messages[{place}]")
    if pending:
        raise _unanswered(pending)


def _calls(place: int, message: dict[str, Any]) -> list[str]:
    calls = message.get("tool_calls")
    if message.get("content") is None and not calls:
        raise refuse(f"Invalid value for 'content': expected a string, got null. messages.[{place}].content")
    for call in calls or []:
        if len(call["id"]) > 40:
            raise refuse(f"Invalid 'messages[{place}].tool_calls[0].id': string too long.")
        if not rules.NAME.fullmatch(call["function"]["name"]):
            raise refuse(f"Invalid 'messages[{place}].tool_calls[0].function.name'")
        if not isinstance(json.loads(call["function"]["arguments"]), dict):
            raise refuse("invalid tool call arguments")
    return [call["id"] for call in calls or []]


def _unanswered(ids: list[str]) -> Exception:
    return refuse(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(ids)}"
    )


@dataclass(frozen=True)
class Ways:
    """How a server differs from OpenAI's.

    Attributes:
        whole: Calls come whole in one delta.
        as_object: Arguments come as an object.
        twice: Arguments are a text in a text.
        no_ids: Calls have no ids.
        one_id: Calls have the same id.
        no_index: Calls have no index.
        prefix: What stands before the names of tools.
        stop: The reason that is given for the end although there were calls.
        usage: Whether what it took is told.
    """

    whole: bool = False
    as_object: bool = False
    twice: bool = False
    no_ids: bool = False
    one_id: bool = False
    no_index: bool = False
    prefix: str = ""
    stop: str = "tool_calls"
    usage: bool = True


OPENAI = Ways()


def answer(words: str = "", *calls: tuple[str, Any, str], ways: Ways = OPENAI, **delta: Any) -> list[Any]:
    """The chunks of an answer of words and calls (name, arguments, id)."""
    chunks = [_chunk({"role": "assistant", "content": "", **delta})]
    chunks += (
        [_chunk({"content": piece}) for piece in words.split(" ") if piece]
        if " " not in words
        else [_chunk({"content": piece}) for piece in [words[: len(words) // 2], words[len(words) // 2 :]]]
    )
    for index, (name, arguments, call_id) in enumerate(calls):
        chunks += _call_chunks(index, name, arguments, call_id, ways)
    chunks.append(_chunk({}, ways.stop if calls else "stop"))
    if ways.usage:
        usage = {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17}
        details = {"prompt_tokens_details": {"cached_tokens": 4}}
        chunks.append({**_chunk({}), "choices": [], "usage": {**usage, **details}})
    return [*chunks, "[DONE]"]


def answer_end(reason: str) -> dict[str, Any]:
    """The chunk with which an answer ends."""
    return _chunk({}, reason)


def _call_chunks(index: int, name: str, arguments: Any, call_id: str, ways: Ways) -> list[Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    text = json.dumps(text) if ways.twice else text
    head: dict[str, Any] = {"index": index, "id": "call_same" if ways.one_id else call_id, "type": "function"}
    if ways.no_ids:
        del head["id"]
    if ways.no_index:
        del head["index"]
    named = ways.prefix + name
    if ways.whole or ways.as_object or ways.no_index:
        given = arguments if ways.as_object else text
        return [_chunk({"tool_calls": [{**head, "function": {"name": named, "arguments": given}}]})]
    first = {"tool_calls": [{**head, "function": {"name": named, "arguments": ""}}]}
    pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
    return [
        _chunk(first),
        *(_chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}) for piece in pieces),
    ]


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
