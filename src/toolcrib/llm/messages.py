"""What a conversation is made of, in no vendor's own form: messages of parts.

A part that only one vendor understands and wants back unchanged, such as signed reasoning, is kept as it came
and never shown to another vendor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from toolcrib.catalog import JsonObject
from toolcrib.errors import UsageError

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Text:
    """Words.

    Attributes:
        text: The words.
        extra: Members of a vendor's own that must go back with them, by the provider's name; `skill` names the skill
            that they are.
    """

    text: str
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call that a model wants made.

    Attributes:
        id: Unique in the conversation.
        name: The tool's name, as the model wrote it.
        arguments: Its arguments; empty where they could not be read.
        unreadable: What the model wrote in place of arguments that are a JSON object; None when they are one.
        extra: Members of a vendor's own that must go back with the call, by the provider's name.
    """

    id: str
    name: str
    arguments: JsonObject
    unreadable: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to.

    Attributes:
        id: The call's id.
        name: The tool's name, as the call had it.
        content: Content blocks as MCP has them.
        is_error: Whether the call failed.
        references: Names of tools that this result makes known to the model, where the vendor expands them.
    """

    id: str
    name: str
    content: tuple[JsonObject, ...]
    is_error: bool = False
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A part that belongs to one vendor: reasoning, its own tools' calls and results.

    Attributes:
        provider: The vendor's name.
        data: The part as it came.
        binds: Whether the vendor refuses the messages after it when those before it change.
    """

    provider: str
    data: JsonObject
    binds: bool = False


Part = Text | ToolUse | ToolResult | Kept


@dataclass(frozen=True, slots=True)
class Message:
    """One message. Results of calls are in a message of the user's, as the first parts."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its words."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        """The calls in it."""
        return tuple(part for part in self.parts if isinstance(part, ToolUse))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results in it."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))

    @property
    def binds(self) -> bool:
        """Whether it holds a part that a vendor binds to what stands before it."""
        return any(isinstance(part, Kept) and part.binds for part in self.parts)

    def without_calls(self) -> "Message | None":
        """The same without calls and what the vendor ties to them; None when nothing is left."""
        words = tuple(part for part in self.parts if isinstance(part, Text) and part.text.strip())
        return Message(self.role, words) if words else None


def user(text: str) -> Message:
    """A message of the user's."""
    return Message("user", (Text(text),))


def message_to_json(message: Message) -> JsonObject:
    """A message as JSON, to be stored."""
    return {"role": message.role, "parts": [_part_to_json(part) for part in message.parts]}


def message_from_json(value: Mapping[str, Any]) -> Message:
    """A message that was stored.

    Raises:
        UsageError: It is none.
    """
    try:
        role, parts = value["role"], value["parts"]
        if role not in ("user", "assistant"):
            raise ValueError(role)
        return Message(role, tuple(_part_from_json(part) for part in parts))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"A stored message can't be read: {type(error).__name__} {error}.", hint="Was it altered since?"
        ) from None


def _part_to_json(part: Part) -> JsonObject:
    match part:
        case Text(text, extra):
            words: JsonObject = {"type": "text", "text": text}
            return {**words, "extra": dict(extra)} if extra else words
        case ToolUse(id, name, arguments, unreadable, extra):
            written: JsonObject = {"type": "tool_use", "id": id, "name": name, "arguments": arguments}
            if unreadable is not None:
                written["unreadable"] = unreadable
            return {**written, "extra": dict(extra)} if extra else written
        case ToolResult(id, name, content, is_error, references):
            result: JsonObject = {"type": "tool_result", "id": id, "name": name, "content": list(content)}
            if is_error:
                result["is_error"] = True
            return {**result, "references": list(references)} if references else result
        case Kept(provider, data, binds):
            return {"type": "kept", "provider": provider, "data": data, "binds": binds}


def _part_from_json(value: Mapping[str, Any]) -> Part:
    extra = cast("Mapping[str, Any]", value.get("extra") or {})
    match value["type"]:
        case "text":
            return Text(str(value["text"]), extra)
        case "tool_use":
            return ToolUse(value["id"], value["name"], value["arguments"], value.get("unreadable"), extra)
        case "tool_result":
            content = tuple(cast("Sequence[JsonObject]", value["content"]))
            references = tuple(cast("Sequence[str]", value.get("references") or ()))
            return ToolResult(value["id"], value["name"], content, value.get("is_error") is True, references)
        case "kept":
            return Kept(value["provider"], value["data"], value.get("binds") is True)
        case other:
            raise ValueError(f"a part of type {other!r}")
