"""An agent that works with every configured server, in twenty lines.

It shows what an `LlmClient` does by itself: it finds tools, checks and mends calls, makes them, and goes on until there
is an answer. Without a model, one that follows a script is asked, on the demo servers.
Run it with: python examples/agent_in_twenty_lines.py "what to do" [provider:model] [mcp.json]
"""

import asyncio
import sys

from toolcrib import Crib, LlmClient
from toolcrib.demo import demo_config
from toolcrib.llm import ScriptedProvider, use

TASK = "Who has reported the ticket WEB-1?"
# In place of a real model, such as "anthropic:claude-sonnet-5", which is given as the second word.
SCRIPT = [
    use("search_tools", {"query": "show a ticket"}),
    use("tickets__get_ticket", {"ticket": "WEB-1"}),
    "Yuki reported WEB-1.",
]


async def main(task: str = TASK, model: str = "", config: str = "") -> None:
    async with (
        Crib.open(config or demo_config()) as crib,
        LlmClient(model or ScriptedProvider(SCRIPT), crib, surface="search", max_tool_rounds=10) as agent,
    ):
        response = await agent.chat(task)
        for call in response.tool_calls:
            print(f"{call.kind}: {call.name} {call.arguments}")
        print(response.text)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
