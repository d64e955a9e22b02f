"""Python functions as tools beside those of an MCP server, for a model and for a program alike.

Run it with: python examples/functions_beside_servers.py
"""

import asyncio
from typing import Literal

from toolcrib import Crib, MetaTools, text_of, value_of
from toolcrib.demo import demo_config

RATES = {"EUR": 1.0, "USD": 0.92, "GBP": 1.17}


async def convert(amount: float, base: Literal["EUR", "USD", "GBP"]) -> dict[str, float]:
    """Convert an amount of money into euros."""
    return {"euros": round(amount * RATES[base], 2)}


def vat(net: float, rate: float = 0.19) -> dict[str, float]:
    """Add the value-added tax to a net price."""
    if rate >= 1:
        raise ValueError("the rate is a share, such as 0.19")
    return {"gross": round(net * (1 + rate), 2)}


async def main() -> None:
    notes = {"mcpServers": {"notes": demo_config()["mcpServers"]["notes"]}}
    async with Crib.open(notes) as crib:
        print(crib.add_functions(convert, vat, server="money", description="Currencies and tax"))

        # Searches find both; each line is a need of its own.
        answer = await crib.search("change dollars into euros\nwrite a note", limit=2)
        print([found.tool.id for found in answer.found])

        # Arguments are checked and mended as for any server.
        outcome = await crib.call("money.convert", {"amount": "50", "base": "usd"})
        print(value_of(outcome.result), outcome.changes)

        # What a function raises is the tool's own error, for the model to read.
        outcome = await crib.call("money.vat", {"net": 100, "rate": 19})
        print(outcome.is_error, text_of(outcome.result))

        # A model calls both kinds in the same way.
        tools = MetaTools(crib)
        for name, arguments in (
            ("money.vat", {"net": 100}),
            ("notes.create_note", {"title": "Offer", "body": "119 euros, tax included"}),
        ):
            result = await tools.call("call_tool", {"name": name, "arguments": arguments})
            print(text_of(result))


if __name__ == "__main__":
    asyncio.run(main())
