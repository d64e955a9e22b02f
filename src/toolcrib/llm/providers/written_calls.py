"""Calls that a model writes as words: servers without a reader for their model's way hand them on as the answer.

Seen with small models on Ollama, vLLM and llama.cpp: one JSON object of a name and arguments, bare, in a code fence, or
in `<tool_call>` tags. Only an answer that is nothing else counts as a call, and only where it names a tool: whoever
asks for data may well get an object of a name and parameters.
"""

import json
import re
from collections.abc import Collection
from typing import Any, cast

from toolcrib.catalog import JsonObject

_WRAPPED = re.compile(r"\s*(?:```(?:json|tool_call)?\s*|<tool_call>\s*)(.*?)\s*(?:```|</tool_call>)?\s*", re.DOTALL)
_QUALIFIED = re.compile(r"[a-z][a-z0-9_]*?(?:\.|__)\w[\w.-]*")
_BEGINS = ("{", "```", "<tool_call>")
_ARGUMENTS = ("arguments", "parameters")


class WrittenCall:
    """Holds the words of an answer back while they may be a call.

    Args:
        names: The names of the tools that there are; without any, nothing is held back.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._held = ""
        self._names = names
        self._open = bool(names)

    def take(self, words: str) -> str:
        """Take words of the answer in; those that may be told now."""
        if not self._open:
            return words
        self._held += words
        begun = self._held.lstrip()
        if not begun or any(begun.startswith(each) or each.startswith(begun) for each in _BEGINS):
            return ""
        self._open = False
        return self._held

    def end(self, *, may_be: bool) -> tuple[JsonObject | None, str]:
        """At the end of the answer: the call that it is, as `name` and `arguments`; or the words that were held.

        Args:
            may_be: Whether the answer may be a call after all.
        """
        held = self._held if self._open else ""
        call = _read(held) if may_be else None
        if call is not None and not self._is_tool(str(call["name"])):
            call = None
        return (call, "") if call is not None else (None, held)

    def _is_tool(self, name: str) -> bool:
        """Whether a name is a tool's: one that there is, or one together with its server, as a search tells them."""
        name = name.removeprefix("functions.")
        return name in self._names or _QUALIFIED.fullmatch(name) is not None


def _read(text: str) -> JsonObject | None:
    wrapped = _WRAPPED.fullmatch(text)
    try:
        value: Any = json.loads(wrapped[1] if wrapped else text)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    call = cast("JsonObject", value)
    named = next((key for key in _ARGUMENTS if key in call), None)
    if named is None or set(call) != {"name", named} or not isinstance(call["name"], str):
        return None
    return {"name": call["name"], "arguments": call[named]}
