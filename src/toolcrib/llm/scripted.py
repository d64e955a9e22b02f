"""A model that says what it is told to: for tests and examples, without a network."""

import json
from collections.abc import AsyncGenerator, Callable, Iterable
from itertools import cycle
from pathlib import Path
from typing import Any, cast

from toolcrib.catalog import JsonObject
from toolcrib.errors import UsageError, shown
from toolcrib.llm.messages import Message, Text, ToolUse, message_to_json
from toolcrib.llm.naming import LlmConfiguration
from toolcrib.llm.provider import ProviderError, ProviderEvent, Request, TextDelta, Traits, Turn, Usage
from toolcrib.schema.ids import short_hash
from toolcrib.tokens import count_tokens

Step = str | Turn | ToolUse | tuple[ToolUse, ...] | Exception
"""What a scripted model does next: says words; takes a whole turn; wants one call or several made; fails."""


class ScriptedProvider:
    """A provider that follows a script, and keeps the requests that it was sent.

    Args:
        script: What to do, turn by turn; a function is given the request and says what to do.
        traits: What it claims to be able to do.
        name: What it claims to be.

    Attributes:
        requests: The requests so far.
    """

    def __init__(
        self,
        script: "Iterable[Step | Callable[[Request], Step]]",
        *,
        traits: Traits | None = None,
        name: str = "scripted",
    ) -> None:
        self._script = iter(script)
        self.name = name
        self.model = "script"
        self.traits = traits or Traits(window=200_000)
        self.requests: list[Request] = []

    def payload(self, request: Request) -> JsonObject:
        """See `Provider.payload`."""
        tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in request.tools
        ]
        messages = [message_to_json(message) for message in request.messages]
        return {"system": request.system, "tools": tools, "messages": messages, "tool_choice": request.tool_choice}

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent]:
        """See `Provider.stream`."""
        self.requests.append(request)
        step = next(self._script, None)
        if step is None:
            raise ProviderError(self.name, "The script is at its end.")
        if callable(step):
            step = step(request)
        if isinstance(step, Exception):
            raise step
        turn = step if isinstance(step, Turn) else self._turn(step, request)
        for part in turn.message.parts:
            if isinstance(part, Text):
                yield TextDelta(part.text)
        yield turn

    async def close(self) -> None:
        """See `Provider.close`."""

    def _turn(self, step: "str | ToolUse | tuple[ToolUse, ...]", request: Request) -> Turn:
        parts = (Text(step),) if isinstance(step, str) else (step,) if isinstance(step, ToolUse) else step
        tokens = count_tokens(json.dumps(self.payload(request), ensure_ascii=False))
        message = Message("assistant", tuple(parts))
        return Turn(message, "tool_use" if message.uses else "end", Usage(input=tokens, output=1))


def script_of(configuration: LlmConfiguration) -> ScriptedProvider:
    """A model that follows a script of a file, for trying things out: no language model, and no network.

    Args:
        configuration: Its `model` is the file: a JSON list of what to do, turn by turn. A text is said; an object with
            `name` and `arguments` is a call, and a list of those are the calls of one turn. At its end, it begins anew.

    Raises:
        UsageError: The file can't be read, or is none.
    """
    path = Path(configuration.model)
    hint = 'It is a JSON list of texts and of calls: {"name": …, "arguments": {…}}.'
    try:
        steps = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else f"it is not JSON: {error}"
        raise UsageError(f"The script {shown(str(path))} can't be read: {reason}.", hint=hint) from None
    if not isinstance(steps, list):
        raise UsageError(f"The script {shown(str(path))} can't be read: it is no list.", hint=hint)
    script: list[Step] = []
    for number, step in enumerate(cast("list[Any]", steps), 1):
        try:
            script.append(_step(step))
        except (TypeError, KeyError):
            raise UsageError(
                f"The script {shown(str(path))} can't be read: its item {number} is neither a text nor a call.",
                hint=hint,
            ) from None
    return ScriptedProvider(cycle(script) if script else (), name="script")


def _step(value: Any) -> Step:
    match value:
        case str():
            return value
        case list():
            return tuple(use(each["name"], each.get("arguments")) for each in cast("list[Any]", value))
        case _:
            return use(value["name"], value.get("arguments"))


def use(name: str, arguments: "dict[str, Any] | None" = None, *, call_id: str = "") -> ToolUse:
    """A call as a scripted model writes it; without an id, one is made of name and arguments."""
    written = arguments or {}
    return ToolUse(call_id or f"call_{short_hash(name + json.dumps(written, sort_keys=True), 8)}", name, written)
