"""Gemini's generateContent, by Google's own SDK (extra `gemini`).

Signatures of the model's thoughts stand in the parts that they belong to, so each part goes back as it came.
"""

import json
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from typing import Any, cast

from google.genai import Client, errors, types
from httpx2 import HTTPError, TimeoutException

from toolcrib.catalog import JsonObject
from toolcrib.llm.messages import Kept, Message, Part, Text, ToolResult, ToolUse
from toolcrib.llm.naming import LlmConfiguration
from toolcrib.llm.provider import (
    BrokenAnswerError,
    ContextTooLongError,
    ProviderAuthError,
    ProviderBusyError,
    ProviderError,
    ProviderEvent,
    Request,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolSpec,
    Traits,
    Turn,
    Usage,
)
from toolcrib.llm.providers.schemas import clean_name, rooted
from toolcrib.llm.providers.windows import window_of
from toolcrib.llm.results import Media, as_text, media_of
from toolcrib.schema.ids import short_hash

DEFAULT_MODEL = "gemini-3.7-flash"

_NAME = "gemini"
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_SIGNATURE = "thoughtSignature"
_FOREIGN = b64encode(b"skip_thought_signature_validator").decode()
"""What stands in place of the signature of a call that another vendor's model made."""
_MALFORMED = "MALFORMED_FUNCTION_CALL"
_ENDS: Mapping[str, Stop] = {"STOP": "end", "MAX_TOKENS": "length"}


class GeminiProvider:
    """A Gemini model.

    Args:
        configuration: Model, key (else `GEMINI_API_KEY`) and address.
    """

    def __init__(self, configuration: LlmConfiguration) -> None:
        self.name = _NAME
        self.model = configuration.model or DEFAULT_MODEL
        self.traits = Traits(window_of(self.model), media=self._shows_media)
        # The SDK counts in milliseconds.
        waits = None if configuration.timeout is None else int(configuration.timeout * 1_000)
        options = types.HttpOptions(base_url=configuration.base_url, timeout=waits)
        self._client = Client(api_key=configuration.api_key, http_options=options)

    def payload(self, request: Request) -> JsonObject:
        """See `Provider.payload`."""
        body: JsonObject = {
            "contents": [content for message in request.messages for content in self._contents(message)]
        }
        if request.system.strip():
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            body["tools"] = [{"functionDeclarations": [_declaration(tool) for tool in request.tools]}]
            forced = {"mode": "ANY", "allowedFunctionNames": [request.forced]}
            choice = forced if request.forced else {"mode": _MODES[request.tool_choice]}
            body["toolConfig"] = {"functionCallingConfig": choice}
        if request.max_output is not None:
            body["generationConfig"] = {"maxOutputTokens": request.max_output}
        return body

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent]:
        """See `Provider.stream`; an answer that is nothing but a malformed call is asked for once more."""
        answer = _Answer(str(len(request.messages)))
        async for event in self._asked(request, answer):
            yield event
        if answer.is_malformed:
            answer = _Answer(str(len(request.messages)))
            async for event in self._asked(request, answer):
                yield event
        yield answer.turn()

    async def _asked(self, request: Request, answer: "_Answer") -> AsyncGenerator[ProviderEvent]:
        """Ask once, and let the answer take in what comes."""
        body = self.payload(request)
        models: Any = self._client.aio.models
        try:
            chunks: AsyncIterator[types.GenerateContentResponse] = await models.generate_content_stream(
                model=self.model, contents=_sdk_contents(body), config=_sdk_config(body)
            )
            async for chunk in chunks:
                for event in answer.take(chunk.model_dump(mode="json", by_alias=True, exclude_none=True)):
                    yield event
        except (errors.APIError, HTTPError, ValueError) as error:
            raise _provider_error(error) from error

    async def close(self) -> None:
        """See `Provider.close`."""
        await self._client.aio.aclose()

    @property
    def _shows_media(self) -> bool:
        return not self.model.rpartition("/")[2].startswith(("gemini-1", "gemini-2"))

    def _contents(self, message: Message) -> Iterable[JsonObject]:
        """A message as contents of the API: all results of a turn in one."""
        results = [self._result(part) for part in message.parts if isinstance(part, ToolResult)]
        if results:
            yield {"role": "user", "parts": results}
        parts = [written for part in message.parts if (written := _part(part)) is not None]
        if parts:
            yield {"role": "user" if message.role == "user" else "model", "parts": _signed(parts)}

    def _result(self, result: ToolResult) -> JsonObject:
        media = [self._media(block) for block in result.content]
        shown = [each for each in media if each is not None]
        text = "\n".join(as_text(block) for block, each in zip(result.content, media, strict=True) if each is None)
        response: JsonObject = {
            "name": clean_name(result.name),
            "response": {"error" if result.is_error else "output": text},
        }
        if not result.id.startswith(_MINTED):
            response["id"] = result.id
        if shown:
            response["parts"] = [{"inlineData": {"mimeType": each.mime, "data": each.data}} for each in shown]
        return {"functionResponse": response}

    def _media(self, block: JsonObject) -> Media | None:
        """What of a block may stand in a result as it is; animations may not."""
        media = media_of(block) if self._shows_media else None
        return None if media is None or media.mime == "image/gif" else media


_MINTED = "own_"
"""How ids begin that we made up for calls of models that give none."""


class _Answer:
    """Puts an answer together from the chunks of its stream."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._parts: list[Part] = []
        self._finish = ""
        self._detail = ""
        self._usage = Usage()

    @property
    def is_malformed(self) -> bool:
        """Whether the model wrote a call that could not be read, and nothing else."""
        return self._finish == _MALFORMED and not self._parts

    def take(self, chunk: JsonObject) -> Iterable[ProviderEvent]:
        """Take a chunk in; what of it is to be told at once."""
        if "usageMetadata" in chunk:
            self._usage = _usage(chunk["usageMetadata"])
        feedback = cast("JsonObject", chunk.get("promptFeedback") or {})
        if feedback.get("blockReason"):
            self._finish, self._detail = "BLOCKED", str(feedback["blockReason"])
        for candidate in cast("list[JsonObject]", chunk.get("candidates") or [])[:1]:
            content = cast("JsonObject", candidate.get("content") or {})
            for part in cast("list[JsonObject]", content.get("parts") or []):
                yield from self._part(part)
            if candidate.get("finishReason"):
                self._finish = str(candidate["finishReason"])
                self._detail = str(candidate.get("finishMessage") or "")

    def turn(self) -> Turn:
        """The whole turn.

        Raises:
            BrokenAnswerError: The stream ended before the answer did, or the call in it can't be read.
        """
        if not self._finish:
            raise BrokenAnswerError(_NAME, "The answer of the model broke off.", hint="Ask again.")
        if self._finish == _MALFORMED:
            raise BrokenAnswerError(_NAME, "The model wrote a call that can't be read.", hint="Ask again.")
        message = Message("assistant", tuple(self._parts))
        stop = _ENDS.get(self._finish, "refused")
        if stop == "end" and message.uses:
            stop = "tool_use"
        return Turn(message, stop, self._usage, self._detail or (self._finish if stop == "refused" else ""))

    def _part(self, part: JsonObject) -> Iterable[ProviderEvent]:
        extra = {_NAME: {_SIGNATURE: part[_SIGNATURE]}} if part.get(_SIGNATURE) else {}
        if part.get("thought"):
            self._parts.append(Kept(_NAME, part))
            if part.get("text"):
                yield ThinkingDelta(part["text"])
        elif "functionCall" in part:
            call = cast("JsonObject", part["functionCall"])
            minted = _MINTED + short_hash(f"{self._place}:{len(self._parts)}", 12)
            self._parts.append(ToolUse(call.get("id") or minted, call["name"], call.get("args") or {}, None, extra))
        elif "text" in part:
            self._words(part["text"], extra)
            if part["text"]:
                yield TextDelta(part["text"])
        else:
            self._parts.append(Kept(_NAME, part))

    def _words(self, text: str, extra: JsonObject) -> None:
        """Join words to those before them; a part with a signature stays by itself."""
        last = self._parts[-1] if self._parts else None
        if isinstance(last, Text) and not last.extra and not extra:
            self._parts[-1] = Text(last.text + text)
        else:
            self._parts.append(Text(text, extra))


def _part(part: Part) -> JsonObject | None:
    match part:
        case Text(text, extra):
            own = cast("JsonObject", extra.get(_NAME) or {})
            return {"text": text, **own} if text.strip() or own else None
        case ToolUse(id, name, arguments, _, extra):
            call: JsonObject = {"name": clean_name(name), "args": arguments}
            if not id.startswith(_MINTED):
                call["id"] = id
            return {"functionCall": call, **cast("JsonObject", extra.get(_NAME) or {})}
        case Kept(provider, data):
            return data if provider == _NAME else None
        case ToolResult():
            return None


def _signed(parts: list[JsonObject]) -> list[JsonObject]:
    """The parts of a turn, of which the first call must be signed: one of another vendor's gets what stands for it."""
    first = next((place for place, part in enumerate(parts) if "functionCall" in part), None)
    if first is not None and not any(_SIGNATURE in part for part in parts):
        parts[first] = {**parts[first], _SIGNATURE: _FOREIGN}
    return parts


def _declaration(tool: ToolSpec) -> JsonObject:
    schema = {name: value for name, value in rooted(tool.input_schema).items() if name != "$schema"}
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": schema}


def _sdk_contents(body: JsonObject) -> list[types.Content]:
    return [types.Content.model_validate_json(json.dumps(content)) for content in body["contents"]]


def _sdk_config(body: JsonObject) -> types.GenerateContentConfig:
    config: JsonObject = {**body.get("generationConfig", {}), "automaticFunctionCalling": {"disable": True}}
    config |= {name: body[name] for name in ("systemInstruction", "tools", "toolConfig") if name in body}
    return types.GenerateContentConfig.model_validate_json(json.dumps(config))


def _usage(counts: JsonObject) -> Usage:
    output = (counts.get("candidatesTokenCount") or 0) + (counts.get("thoughtsTokenCount") or 0)
    return Usage(counts.get("promptTokenCount") or 0, output, counts.get("cachedContentTokenCount") or 0)


def _provider_error(error: Exception) -> ProviderError:
    if isinstance(error, TimeoutException):
        return ProviderError(_NAME, "Gemini's API did not answer in time.", hint="Try again, or allow more time.")
    if not isinstance(error, errors.APIError):
        return ProviderError(_NAME, f"Gemini's API can't be reached: {error}", hint="Check the address.")
    message, code = str(error.message or error), int(error.code or 0)
    if code in (401, 403) or "API key not valid" in message:
        return ProviderAuthError(_NAME, f"Gemini's API refused the key: {message}", hint="Check GEMINI_API_KEY.")
    if code == 400 and "token count exceeds" in message:
        return ContextTooLongError(_NAME, message, hint="Begin another conversation.")
    if code in (408, 429) or code >= 500:
        wait = _retry_delay(getattr(error, "details", None))
        return ProviderBusyError(_NAME, f"Gemini's API is busy: {message}", hint="Try again later.", retry_after=wait)
    return ProviderError(_NAME, f"Gemini's API refused the request: {message}")


def _retry_delay(details: Any) -> float | None:
    """Seconds from a `RetryInfo` such as `{"retryDelay": "34s"}`, wherever it stands."""
    text = json.dumps(details, default=str)
    _, found, rest = text.partition('"retryDelay": "')
    number = rest.partition("s")[0]
    try:
        return float(number) if found else None
    except ValueError:
        return None
