"""Leading a small model one step at a time: `Guide` stands between an exchange and the model.

Small models invent tools and arguments when they are left free, and keep to the order when every step is held to the
few answers that it may have. So each request asks for one thing, in words alone: templates of small models often drop
results, and refuse turns that hold nothing but calls. What the model wrote becomes the call that it stands for, and
the conversation is kept as any other is; how a message is worded follows from what stands before it, so that what was
sent is never sent otherwise.
"""

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal, cast

from toolcrib.catalog import JsonObject
from toolcrib.llm.account import Account, Accountant
from toolcrib.llm.messages import Kept, Message, Text, ToolUse, user
from toolcrib.llm.provider import Provider, ProviderEvent, Request, TextDelta, Traits, Turn, Usage
from toolcrib.llm.results import as_text
from toolcrib.llm.shapes import held_to, members, names, one_of
from toolcrib.llm.surfaces.guided import GUIDE, NONE, step_of
from toolcrib.metatools import CALL_TOOL, GET_TOOL_DETAILS, SEARCH_TOOLS
from toolcrib.metatools.formatting import compact
from toolcrib.schema.ids import short_hash

Kind = Literal["search", "choose", "write", "decide", "answer"]

SYSTEM = "You help with the tools that a search finds, one step at a time. Each message says what to write next."

_ASKS: dict[Kind, str] = {
    "search": 'Write {"query": "…"}: in a few words, what a tool must do to help with this.',
    "choose": f'Write {{"tool": "…"}}: the name of the tool that does what is asked for, or "{NONE}".',
    "write": "Write the arguments of the call as one JSON object, with values copied from the request or from earlier "
    "results.",
    "decide": 'Write {"next": "answer"} if that is enough to answer the user, or {"next": "search", "query": "…"} if '
    "another tool has to be called first.",
    "answer": "Now answer the user, in plain words.",
}
_SHORT, _LONG = 1_024, 4_096
"""Most tokens of a step, and of arguments: a model that is held to a shape may not find its end."""

_REPEATED = 600
"""Characters of a request that is repeated where arguments are written: small models do the tool's work instead, such
as translating a text that a tool is to translate, when the request stands far above."""

_FORCED: dict[Kind, str] = {"search": SEARCH_TOOLS, "choose": GET_TOOL_DETAILS, "write": CALL_TOOL}


@dataclass(frozen=True, slots=True)
class Step:
    """What a model is to write next.

    Attributes:
        kind: Search words, a tool's name, arguments, whether to go on, or the answer.
        names: To choose from.
        tool: Whose arguments are to be written.
        schema: The schema of these.
    """

    kind: Kind = "search"
    names: tuple[str, ...] = ()
    tool: str = ""
    schema: JsonObject | None = None

    @property
    def shape(self) -> JsonObject | None:
        """What the answer is held to; None for words."""
        match self.kind:
            case "search":
                return members(query={"type": "string"})
            case "choose":
                return members(tool=names((*self.names, NONE)))
            case "write":
                return held_to(self.schema or {})
            case "decide":
                go_on = members(next={"const": "search"}, query={"type": "string"})
                return one_of(members(next={"const": "answer"}), go_on)
            case "answer":
                return None


class Guide:
    """A provider that has a model take the steps of `GuidedTools`.

    Where the provider can hold an answer to a shape, every step is; where it can't, the tool that a step stands for
    is demanded by its name, and the rest is left to validation and repair.

    Args:
        provider: The model.
    """

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    @property
    def name(self) -> str:
        """See `Provider.name`."""
        return self._provider.name

    @property
    def model(self) -> str:
        """See `Provider.model`."""
        return self._provider.model

    @property
    def traits(self) -> Traits:
        """See `Provider.traits`."""
        return self._provider.traits

    def payload(self, request: Request) -> JsonObject:
        """See `Provider.payload`."""
        return self._provider.payload(self.rendered(request))

    def rendered(self, request: Request) -> Request:
        """The request as the provider is sent it."""
        step = _step(request)
        if not self.traits.constrains:
            choice = "none" if step.kind == "answer" else request.tool_choice
            return replace(request, tool_choice=choice, forced=_FORCED.get(step.kind, ""))
        most = None if step.kind == "answer" else _LONG if step.kind == "write" else _SHORT
        return Request(
            in_words(request.messages, ends=step.kind == "answer"),
            f"{request.system}\n\n{SYSTEM}" if request.system.strip() else SYSTEM,
            max_output=min(most, request.max_output or most) if most else request.max_output,
            shape=step.shape,
        )

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent]:
        """See `Provider.stream`; a step's words are not told, as they are none of the answer's."""
        step = _step(request)
        in_steps = self.traits.constrains and step.kind != "answer"
        turn: Turn | None = None
        async with aclosing(self._provider.stream(self.rendered(request))) as events:
            async for event in events:
                if isinstance(event, Turn):
                    turn = event
                elif not (in_steps and isinstance(event, TextDelta)):
                    yield event
        if turn is None:
            return
        if not in_steps:
            yield turn
            return
        if turn.stop in ("length", "refused"):
            yield replace(turn, message=Message("assistant", _kept(turn)))
            return
        use = _use(step, turn.message.text, request)
        if use is not None:
            yield Turn(Message("assistant", (*_kept(turn), use)), "tool_use", turn.usage)
        elif _object(turn.message.text) is None:  # an endpoint that does not hold to shapes let it answer at once
            yield TextDelta(turn.message.text)
            yield turn
        else:
            async with aclosing(self.stream(replace(request, tool_choice="none"))) as events:
                async for event in events:
                    yield _with(event, turn.usage)

    async def close(self) -> None:
        """See `Provider.close`."""
        await self._provider.close()


class StepAccountant(Accountant):
    """Counts requests as a guide sends them.

    Args:
        guide: The guide.
    """

    def __init__(self, guide: Guide) -> None:
        super().__init__()
        self._guide = guide

    def account(self, request: Request) -> Account:
        """See `Accountant.account`."""
        return super().account(self._guide.rendered(request))


def in_words(messages: Iterable[Message], *, ends: bool = False) -> tuple[Message, ...]:
    """A conversation in words alone, each of the user's messages with what is to be written next.

    Args:
        messages: The conversation.
        ends: Whether the answer is asked for now, whatever the last message asks for.
    """
    written: list[Message] = []
    step, asked = Step(), ""
    for message in messages:
        if message.role == "user":
            step = _after(message, step)
            asked = asked if message.results else message.text
            words = _told(message) or message.text
            written.append(user(f"{words}\n\n{_ask(step, asked)}"))
        elif message.uses:
            said = "\n".join(_said(use) for use in message.uses)
            written.append(Message("assistant", (*_kept_in(message), Text(said))))
        else:
            written += () if step.kind == "answer" else _bridge()
            written.append(message)
    return (*written, *(_bridge() if ends and step.kind != "answer" else ()))


def _ask(step: Step, asked: str) -> str:
    """What is to be written next, in answer to what the user asked."""
    repeated = step.kind == "write" and len(asked) <= _REPEATED
    return f"{_ASKS[step.kind]} The request was: {asked}" if repeated else _ASKS[step.kind]


def _bridge() -> tuple[Message, Message]:
    """What leads from any step to the answer."""
    return Message("assistant", (Text('{"next": "answer"}'),)), user(_ASKS["answer"])


def _step(request: Request) -> Step:
    """The step that a request is for."""
    if request.tool_choice == "none":
        return Step("answer")
    step = Step()
    for message in request.messages:
        if message.role == "user":
            step = _after(message, step)
    return step


def _after(message: Message, before: Step) -> Step:
    """The step after a message of the user's: what its result says, or the one before once more."""
    if not message.results:
        return Step()
    given = step_of(message.results[-1])
    if given is None:
        return before
    if "names" in given:
        return Step("choose", tuple(given["names"]))
    if "tool" in given:
        return Step("write", tool=given["tool"], schema=given["schema"])
    return Step("answer" if given["next"] == "answer" else "decide")


def _told(message: Message) -> str:
    return "\n\n".join(
        f"{'Error: ' if result.is_error else ''}{chr(10).join(as_text(block) for block in result.content)}"
        for result in message.results
    )


def _said(use: ToolUse) -> str:
    known = cast("JsonObject", use.extra.get(GUIDE) or {})
    return str(known.get("said") or use.unreadable or compact(use.arguments))


def _use(step: Step, text: str, request: Request) -> ToolUse | None:
    """The call that a step stands for; None for the end of the steps."""
    written = _object(text)
    extra: JsonObject = {"said": text}
    unreadable: str | None = None
    match step.kind:
        case "search":
            asked = [message.text for message in request.messages if message.role == "user" and message.text]
            extra["beside"] = asked[-1] if asked else ""
            name, arguments = SEARCH_TOOLS, {"query": _query(written, text)}
        case "choose":
            chosen = (written or {}).get("tool") or next((name for name in step.names if name in text), text[:80])
            name, arguments = GET_TOOL_DETAILS, {"name": str(chosen)}
        case "write":
            name, unreadable = CALL_TOOL, None if written is not None else text
            arguments = {"name": step.tool} if written is None else {"name": step.tool, "arguments": written}
        case _:
            if (written or {}).get("next") != "search":
                return None
            name, arguments = SEARCH_TOOLS, {"query": _query(written, text)}
    return ToolUse(
        f"call_{short_hash(f'{len(request.messages)}:{text}', 16)}", name, arguments, unreadable, {GUIDE: extra}
    )


def _query(written: JsonObject | None, text: str) -> str:
    return str((written or {}).get("query") or ("" if written else text[:200]))


def _object(text: str) -> JsonObject | None:
    """The JSON object that a text is, or that stands in it; None when there is none."""
    for candidate in (text, text[text.find("{") : text.rfind("}") + 1]):
        try:
            value = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(value, dict):
            return cast("JsonObject", value)
    return None


def _kept(turn: Turn) -> tuple[Kept, ...]:
    return _kept_in(turn.message)


def _kept_in(message: Message) -> tuple[Kept, ...]:
    return tuple(part for part in message.parts if isinstance(part, Kept))


def _with(event: ProviderEvent, usage: Usage) -> ProviderEvent:
    return replace(event, usage=event.usage + usage) if isinstance(event, Turn) else event
