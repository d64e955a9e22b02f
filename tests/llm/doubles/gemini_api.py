"""What Gemini's generateContent refuses, and how it answers."""

import json
import re
from typing import Any

from doubles.serving import Refusal

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")


def refuse(message: str, code: int = 400, status: str = "INVALID_ARGUMENT", details: Any = None) -> Refusal:
    error = {"code": code, "message": message, "status": status}
    return Refusal(code, {"error": {**error, "details": details} if details else error})


def check(body: dict[str, Any], headers: dict[str, str]) -> None:
    if headers.get("x-goog-api-key") != "key":
        raise refuse("API key not valid. Please pass a valid API key.")
    check_body(body)


def check_body(body: dict[str, Any]) -> None:
    for member in body:
        if member not in ("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"):
            raise refuse(f'Invalid JSON payload received. Unknown name "{member}": Cannot find field.')
    names: list[str] = []
    for tool in body.get("tools", []):
        names += [_declaration(place, each) for place, each in enumerate(tool["functionDeclarations"])]
    for name in names:
        if names.count(name) > 1:
            raise refuse(f"Duplicate function declaration found: {name}")
    if len(names) > 128:
        raise refuse("Too many function declarations.")
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    allowed = calling.get("allowedFunctionNames") or []
    if allowed and calling.get("mode") != "ANY":
        raise refuse("allowed_function_names should be set only when the function calling mode is ANY.")
    if set(allowed) - set(names):
        raise refuse("allowed_function_names should be a subset of the declared functions.")
    _contents(body["contents"])
    if len(json.dumps(body["contents"])) / 4 > 1_048_576:
        raise refuse("The input token count exceeds the maximum number of tokens allowed 1048576.")


def _declaration(place: int, each: dict[str, Any]) -> str:
    schema = each.get("parametersJsonSchema", each.get("parameters_json_schema"))
    if schema is not None and "parameters" in each:
        raise refuse("parameters and parametersJsonSchema can't both be set.")
    if not NAME.fullmatch(each["name"]):
        raise refuse(
            f"tools[0].functionDeclarations[{place}].name: Invalid function name. Must start "
            "with a letter or an underscore."
        )
    parameters = each.get("parameters")
    if parameters is not None:
        if parameters["type"] == "OBJECT" and not parameters.get("properties"):
            raise refuse("parameters.properties: should be non-empty for OBJECT type")
        if "$schema" in parameters:
            raise refuse('Unknown name "$schema": Cannot find field.')
    elif schema is not None and schema.get("type") != "object":
        raise refuse("parametersJsonSchema must be an object")
    return str(each["name"])


def _contents(contents: list[dict[str, Any]]) -> None:
    if not contents:
        raise refuse("contents is not specified")
    current = max((place for place, each in enumerate(contents) if _is_question(each)), default=0)
    pending: list[Any] = []
    for place, content in enumerate(contents):
        if not content.get("parts"):
            raise refuse(f"contents[{place}].parts must not be empty.")
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        answers = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        if (pending or answers) and len(pending) != len(answers):
            raise refuse(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        for call, answer in zip(pending, answers, strict=True):
            if "id" in call and {each.get("id") for each in pending} != {each.get("id") for each in answers}:
                raise refuse("function response ids don't match")
            if not isinstance(answer["response"], dict):
                raise refuse("function_response.response must be an object")
        if calls and (place == 0 or contents[place - 1]["role"] == "model"):
            raise refuse(
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
        if calls and content["role"] != "model":
            raise refuse("function calls come from the model")
        if calls and place > current:
            first = next(part for part in content["parts"] if "functionCall" in part)
            if "thoughtSignature" not in first:
                raise refuse(
                    f"Unable to submit request because function call `{calls[0]['name']}` in the {place + 1}. content "
                    "block is missing a `thought_signature`."
                )
        pending = calls
    if pending:
        raise refuse("Please ensure that the number of function response parts is equal to the number of function call")


def _is_question(content: dict[str, Any]) -> bool:
    return content["role"] == "user" and not any("functionResponse" in part for part in content.get("parts", []))


def answer(*parts: dict[str, Any], finish: str | None = "STOP", **more: Any) -> list[Any]:
    """The chunks of an answer of these parts."""
    chunks = [{"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]} for part in parts]
    usage = {
        "promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "cachedContentTokenCount": 4,
        "totalTokenCount": 17,
    }  # fmt: skip
    if finish is not None:
        chunks.append({"candidates": [{"finishReason": finish, "index": 0, **more}], "usageMetadata": usage})
    return chunks


def call(
    name: str, args: dict[str, Any], call_id: str | None = "fc1", signature: str | None = "c2ln"
) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"name": name, "args": args, **({"id": call_id} if call_id else {})}}
    return {**part, "thoughtSignature": signature} if signature else part
