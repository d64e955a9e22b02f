"""Find a tool by what it does, look at it, call it: on the demo servers, as on any configuration.

Run it with: python examples/search_and_call.py
"""

import asyncio

from toolcrib import Crib, InvalidArgumentsError, value_of
from toolcrib.demo import demo_config
from toolcrib.metatools import tool_signature


async def main() -> None:
    # A path to your client's configuration does as well: Crib.open("mcp.json").
    async with Crib.open(demo_config()) as crib:
        # A first search lists servers by itself; this only makes sure that it misses none that starts slowly.
        for server in await crib.refresh():
            print(f"{server.id}: {server.state}, {server.tools} tools")

        answer = await crib.search("find a time when two people are free", limit=3)
        for found in answer.found:
            print(f"{found.hit.score:.2f}  {found.tool.id}")

        tool = answer.found[0].tool
        print(tool_signature(tool))

        arguments = {
            "calendars": ["noor", "ines"],
            "from": "2026-03-16T09:00:00Z",
            "to": "2026-03-20T17:00:00Z",
            "duration_minutes": "90",  # text where a number is needed: mended, and told in `changes`
            "limit": 2,
        }
        outcome = await crib.call(tool.id, arguments)
        print("mended:", *outcome.changes)
        for slot in value_of(outcome.result)["slots"]:
            print(f"free from {slot['starts_at']} for {slot['minutes']} minutes")

        try:
            await crib.call(tool.id, {"calendars": ["noor"], "duration": 90})
        except InvalidArgumentsError as error:
            print("not sent:")
            for problem in error.result.errors:
                print(f"  {problem.path}: {problem.message}")


if __name__ == "__main__":
    asyncio.run(main())
