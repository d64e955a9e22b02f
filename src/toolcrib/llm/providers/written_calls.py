"""Calls that a model writes as words: servers without a reader for their model's way hand them on as the answer.

Seen with small models on Ollama, vLLM and llama.cpp: one JSON object of a name and arguments, bare, in a code fence, or
in `<tool_call>` tags. Only an answer that is nothing else counts as a call.
"""

import json
import re
from typing import Any, cast

from toolcrib.catalog import JsonObject

_WRAPPED = re.compile(r"\s*(?:```(?:json|tool_call)?\s*|<tool_call>\s*)(.*?)\s*(?:```|</tool_call>)?\s*", re.DOTALL)
_BEGINS = ("{", "```", "<tool_call>")
_ARGUMENTS = ("arguments", "parameters")


class WrittenCall:
    """Holds the words of an answer back while they may be a call.

    Args:
        expected: Whether there may be one at all; if not, nothing is held back.
    """

    def __init__(self, *, expected: bool) -> None:
        self._held = ""
        self._open = expected

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
        return (call, "") if call is not None else (None, held)


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
