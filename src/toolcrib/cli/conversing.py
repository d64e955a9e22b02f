"""How an answer comes about, as the terminal shows it: words on standard output, all else on standard error."""

import sys
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from toolcrib.cli.streams import one_line, safe, tell

if TYPE_CHECKING:
    from toolcrib.llm import ChatResponse, Conversation, LlmClient, ToolCall

_SHOWN = 160
_WORDS = {"called": "done", "looked": "looked up", "mistaken": "not sent"}
_ENDS = {
    "rounds": "The rounds of calls are used up; --rounds allows more.",
    "length": "The answer was cut off for want of room.",
    "refused": "The model declined.",
}


async def show(client: "LlmClient", question: str, spoken: "Conversation", *, quiet: bool) -> "ChatResponse":
    """Ask, and show the answer as it comes.

    Args:
        client: Asks.
        question: The question.
        spoken: The conversation that it belongs to.
        quiet: Whether the words of the answer are left out, since a document comes in their place.
    """
    from toolcrib.llm import ChatResponse, SkillGiven, TextDelta, ToolEnded, ToolStarted, Trimmed

    writer = _Writer(quiet=quiet)
    async with aclosing(client.stream(question, conversation=spoken)) as events:
        async for event in events:
            match event:
                case TextDelta(text):
                    writer.words(text)
                case ToolStarted():
                    writer.end_line()
                    tell(_cut(f"→ {event.name} {_json(event.arguments)}"))
                case ToolEnded(call):
                    tell(_cut(_became(call, event.content)))
                case SkillGiven(name):
                    tell(f"The skill {name} was given to the model.")
                case Trimmed():
                    tell(f"The conversation grew too long: its first {event.messages} messages were left out.")
                case ChatResponse():
                    writer.end_line()
                    if event.ended in _ENDS:
                        tell(f"{_ENDS[event.ended]} {event.detail}".strip())
                    return event
                case _:
                    pass
    raise AssertionError("a stream ends with its answer")


def account_line(answer: "ChatResponse", spoken: "Conversation") -> str:
    """What an answer took, in one line."""
    usage, accounts = answer.usage, answer.accounts
    made = sum(call.kind == "called" for call in answer.tool_calls)
    parts = [f"{usage.input:,} tokens in" + (f" ({usage.cache_read:,} from the cache)" if usage.cache_read else "")]
    parts.append(f"{usage.output:,} out")
    if accounts:
        last = accounts[-1]
        held = ("system", "tools", "messages", "results")
        parts.append("last request: " + ", ".join(f"{name} {getattr(last, name):,}" for name in held))
    if spoken.surface != "all":
        saved = answer.saved
        parts.append(f"{spoken.surface} {'saved' if saved >= 0 else 'cost'} {abs(saved):,}")
    if answer.cost is not None:
        parts.append(f"cost {answer.cost:.4f}, so far {spoken.spent.cost or 0:.4f}")
    calls = f"{made} call{'' if made == 1 else 's'}"
    return f"[{calls}; {'; '.join(parts)}]"


def as_document(answers: "Sequence[ChatResponse]", spoken: "Conversation") -> Any:
    """The document of `--json`: each answer, and what the conversation took."""
    from dataclasses import asdict

    told = [
        {
            "text": answer.text,
            "ended": answer.ended,
            "rounds": answer.rounds,
            "tool_calls": [asdict(call) for call in answer.tool_calls],
            "usage": asdict(answer.usage),
            "accounts": [asdict(account) for account in answer.accounts],
            "saved": answer.saved,
            "cost": answer.cost,
            **({"detail": answer.detail} if answer.detail else {}),
        }
        for answer in answers
    ]
    return {"surface": spoken.surface, "answers": told, "spent": asdict(spoken.spent)}


class _Writer:
    """Writes the words of an answer piece by piece."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._open = False

    def words(self, text: str) -> None:
        if self._quiet or not text:
            return
        sys.stdout.write(safe(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()
        self._open = not text.endswith("\n")

    def end_line(self) -> None:
        if self._open:
            sys.stdout.write("\n")
            sys.stdout.flush()
        self._open = False


def _became(call: "ToolCall", content: Sequence[Any]) -> str:
    about = " ".join(str(block.get("text") or f"[{block.get('type')}]") for block in content)
    state = "failed" if call.is_error and call.kind != "mistaken" else _WORDS[call.kind]
    return f"← {call.name} {state}: {about}"


def _json(arguments: Any) -> str:
    import json

    return json.dumps(arguments, ensure_ascii=False)


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
