"""Ask a model, with the tools of the demo servers: here one that follows a script, so that no key is needed.

Run it with: python examples/ask_a_model.py
With a real model: python examples/ask_a_model.py anthropic:claude-sonnet-5
"""

import asyncio
import sys

from toolcrib import Crib, LlmClient
from toolcrib.demo import demo_config
from toolcrib.llm import ChatResponse, Provider, ScriptedProvider, TextDelta, ToolEnded, use

QUESTION = "When are Noor and Ines both free for an hour next Monday?"


def scripted() -> ScriptedProvider:
    """What a model would do: search, call with a mistake, call rightly, answer."""
    free = {"calendars": ["noor", "ines"], "from": "2026-03-16T09:00:00Z", "to": "2026-03-16T17:00:00Z"}
    wrong = {"name": "calendar.find_free_slots", "arguments": {**free, "minutes": 60}}
    right = {"name": "calendar.find_free_slots", "arguments": {**free, "duration_minutes": 60}}
    return ScriptedProvider(
        [
            use("search_tools", {"query": "find a time when two people are free"}),
            use("call_tool", wrong),
            use("call_tool", right),
            "From 9:00 on, the whole day.",
        ]
    )


async def main() -> None:
    model: Provider | str = sys.argv[1] if len(sys.argv) > 1 else scripted()
    async with Crib.open(demo_config()) as crib, LlmClient(model, crib, surface="search") as client:
        async for event in client.stream(QUESTION):
            match event:
                case TextDelta(text):
                    print(text, end="", flush=True)
                case ToolEnded(call):
                    print(f"[{call.kind}: {call.name}]")
                case ChatResponse():
                    print(f"\n{event.rounds} round of calls, {event.usage.input:,} tokens in")
                case _:
                    pass


if __name__ == "__main__":
    asyncio.run(main())
