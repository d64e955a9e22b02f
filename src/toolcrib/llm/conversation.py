"""A conversation: messages that are only ever added to, and what every request of it has in common."""

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, cast

from toolcrib.catalog import JsonObject
from toolcrib.errors import UsageError
from toolcrib.llm.account import Spent
from toolcrib.llm.messages import Message, message_from_json, message_to_json
from toolcrib.llm.provider import ToolGroup, ToolSpec, Usage

_VERSION = 1
_FLAGS = ("deferred", "searches", "hosted")


class Conversation:
    """One conversation with a model.

    Its system text, its tools and its earlier messages never change, whatever servers come, go or change their
    lists: vendors cache what precedes the newest message, and some refuse a request in which it differs. Only
    `trim` begins anew, and says so.

    Args:
        system: Standing instructions.
        key: Names it, as the caller of tools; None makes one up.

    Attributes:
        id: Its name.
        tools: What the model is told of; None until the first request.
        surface: How it was told; empty until the first request.
        segment: How often the conversation was cut at its beginning.
        whole: Tokens of the definitions of all tools there were at the first request, as `all` would tell of them.
        aside: Ids of the calls that looked for tools or were mistaken, which `all` would not have needed.
        spent: What it took so far.
    """

    def __init__(self, system: str = "", *, key: str | None = None) -> None:
        self.id = key or secrets.token_hex(8)
        self.system = system
        self.tools: tuple[ToolSpec, ...] | None = None
        self.surface = ""
        self.segment = 0
        self.whole = 0
        self.aside: set[str] = set()
        self.spent = Spent()
        self._messages: list[Message] = []

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first."""
        return tuple(self._messages)

    def add(self, *messages: Message) -> None:
        """Add messages at the end."""
        self._messages.extend(messages)

    def take_back(self, length: int) -> None:
        """Drop what was added after the conversation had `length` messages, and was never answered."""
        del self._messages[length:]

    def trim(self, keep: int) -> int:
        """Begin a new segment with the last `keep` exchanges; the number of messages that this dropped.

        An exchange begins with words of the user's, so that no call is parted from its result.
        """
        begins = [place for place, message in enumerate(self._messages) if message.role == "user" and message.text]
        if len(begins) <= keep:
            return 0
        cut = begins[-keep] if keep else len(self._messages)
        del self._messages[:cut]
        self.segment += 1
        return cut

    def to_json(self) -> JsonObject:
        """All of it, to be stored."""
        return {
            "version": _VERSION,
            "id": self.id,
            "system": self.system,
            "surface": self.surface,
            "segment": self.segment,
            "whole": self.whole,
            "aside": sorted(self.aside),
            "spent": asdict(self.spent),
            "tools": None if self.tools is None else [_tool_to_json(tool) for tool in self.tools],
            "messages": [message_to_json(message) for message in self._messages],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Conversation":
        """A conversation that was stored.

        Raises:
            UsageError: It is none, or of a newer version.
        """
        try:
            if value["version"] != _VERSION:
                raise UsageError(f"The conversation is of version {value['version']}.", hint="Update Toolcrib.")
            conversation = cls(value["system"], key=value["id"])
            conversation.surface, conversation.segment = value["surface"], value["segment"]
            tools = cast("Iterable[Mapping[str, Any]] | None", value["tools"])
            conversation.tools = None if tools is None else tuple(_tool_from_json(tool) for tool in tools)
            conversation.whole, conversation.aside = value.get("whole", 0), set(value.get("aside", ()))
            conversation.spent = _spent_from_json(value.get("spent") or {})
            conversation.add(*(message_from_json(message) for message in value["messages"]))
        except (KeyError, TypeError) as error:
            raise UsageError(f"That is no stored conversation: {type(error).__name__} {error}.") from None
        return conversation

    def save(self) -> str:
        """All of it as JSON text, for `load`."""
        return json.dumps(self.to_json(), ensure_ascii=False)

    @classmethod
    def load(cls, text: str) -> "Conversation":
        """A conversation from the text that `save` gave.

        Raises:
            UsageError: It is none, or of a newer version.
        """
        try:
            value = json.loads(text)
        except ValueError:
            raise UsageError("That is no stored conversation: it is not JSON.") from None
        if not isinstance(value, dict):
            raise UsageError("That is no stored conversation: it is no JSON object.")
        return cls.from_json(cast("JsonObject", value))


def _spent_from_json(value: Mapping[str, Any]) -> Spent:
    usage = Usage(**cast("Mapping[str, int]", value.get("usage") or {}))
    return Spent(value.get("requests", 0), usage, value.get("saved", 0), value.get("cost"))


def _tool_to_json(tool: ToolSpec) -> JsonObject:
    written: JsonObject = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    if tool.group is not None:
        written["group"] = {"name": tool.group.name, "about": tool.group.about}
    return {**written, **{name: True for name in _FLAGS if getattr(tool, name)}}


def _tool_from_json(value: Mapping[str, Any]) -> ToolSpec:
    flags = {name: value.get(name) is True for name in _FLAGS}
    group = None if value.get("group") is None else ToolGroup(value["group"]["name"], value["group"]["about"])
    return ToolSpec(value["name"], value["description"], value["input_schema"], **flags, group=group)
