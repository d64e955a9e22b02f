"""A provider of your own: a model behind an API that Toolcrib does not know.

A provider turns one request into what its API takes, and the answer into a `Turn`; searching, checking, mending,
calling and the history are the client's. The API here is a function that knows two things; put yours in its place.
Run it with: python examples/own_provider.py
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from toolcrib import Crib, LlmClient, LlmConfiguration
from toolcrib.llm import (
    Message,
    ProviderEvent,
    Request,
    Text,
    TextDelta,
    ToolUse,
    Traits,
    Turn,
    Usage,
    register_provider,
)


def api(payload: dict[str, Any]) -> dict[str, Any]:
    """A model: it adds what it is asked to add, and says what came of it."""
    *_, last = payload["messages"]
    if last["role"] == "tool":
        return {"say": f"That is {last['content']}."}
    numbers = [int(word) for word in last["content"].replace("?", "").split() if word.isdigit()]
    return {"call": {"name": "local__add", "arguments": {"numbers": numbers}}}


class HouseProvider:
    """The model of the house."""

    name = "house"
    traits = Traits(window=8_000)

    def __init__(self, configuration: LlmConfiguration) -> None:
        self.model = configuration.model or "adder"

    def payload(self, request: Request) -> dict[str, Any]:
        """What is sent: the same request gives the same bytes, or the vendor's cache is lost."""
        messages: list[dict[str, str]] = []
        for message in request.messages:
            messages += [{"role": "tool", "content": each.content[0]["text"]} for each in message.results]
            if message.text:
                messages.append({"role": message.role, "content": message.text})
        tools = [{"name": each.name, "about": each.description, "takes": each.input_schema} for each in request.tools]
        return {"model": self.model, "system": request.system, "messages": messages, "tools": tools}

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent]:
        """Ask; the words as they come, then the whole turn. What fails is raised as a `ProviderError`."""
        payload = self.payload(request)
        answer = api(payload)  # here a real one is awaited
        usage = Usage(input=len(json.dumps(payload)) // 4, output=1)
        if "call" in answer:
            use = ToolUse(f"call_{len(request.messages)}", answer["call"]["name"], answer["call"]["arguments"])
            yield Turn(Message("assistant", (use,)), "tool_use", usage)
        else:
            yield TextDelta(answer["say"])
            yield Turn(Message("assistant", (Text(answer["say"]),)), "end", usage)

    async def close(self) -> None:
        """Close what is open: nothing."""


def add(numbers: list[int]) -> int:
    """Add whole numbers."""
    return sum(numbers)


async def main() -> None:
    register_provider("house", HouseProvider)
    async with Crib.open({"mcpServers": {}}) as crib:
        crib.add_functions(add)
        async with LlmClient("house:adder-2", crib) as client:
            response = await client.chat("What is 1 and 2 and 39?")
            print(client.provider.name, client.provider.model)
            print(*(f"{call.kind}: {call.name} {call.arguments}" for call in response.tool_calls))
            print(response.text)


if __name__ == "__main__":
    asyncio.run(main())
