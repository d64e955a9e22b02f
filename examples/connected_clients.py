"""Clients of the MCP SDK that a program connected by itself: as a registry of metadata, and as a crib.

The servers run in this process, so nothing is started. A client of any other server does as well.
Run it with: python examples/connected_clients.py
"""

import asyncio

from mcp import Client

from toolcrib import Crib, ToolRegistry, list_tools_metadata, value_of
from toolcrib.demo.notes import APP as NOTES
from toolcrib.demo.tickets import APP as TICKETS
from toolcrib.schema import compile_validator


async def metadata_first(client: Client) -> None:
    """Names and descriptions for the model up front; a schema when it wants to call one of the tools."""
    registry = ToolRegistry()
    metadata = await list_tools_metadata(client, registry)
    print(f"{len(metadata)} tools, the first: {metadata[0].name}")

    definition = registry.get_schema("create_note")
    assert definition is not None
    check = compile_validator(definition["inputSchema"]).validate({"title": "Bread"})
    print(f"valid: {check.is_valid}; {check.error}")


async def all_in_one(clients: dict[str, Client]) -> None:
    """Search and call over several clients; they stay connected when the crib is left."""
    async with Crib.from_clients(clients) as crib:
        print(crib.registry.servers, crib.registry.count)
        answer = await crib.search("list the people of the team", limit=1)
        outcome = await crib.call(answer.found[0].tool.id)
        people = value_of(outcome.result)["people"]
        print(answer.found[0].tool.id, [person["username"] for person in people])


async def main() -> None:
    async with Client(NOTES.server()) as notes, Client(TICKETS.server()) as tickets:
        await metadata_first(notes)
        await all_in_one({"notes": notes, "tickets": tickets})
        print("still connected:", len((await notes.list_tools()).tools), "tools")


if __name__ == "__main__":
    asyncio.run(main())
