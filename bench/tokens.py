"""What a model has to read: all definitions, against Toolcrib's surface, its search answers and its details.

Over recorded catalogs of real servers, with the queries taken from the catalogs themselves (the first sentence of
every 25th description), so that anyone can repeat it with any folder of catalogs.
"""

import asyncio
from dataclasses import asdict
from typing import Any

from bench.catalog import CatalogSource
from bench.report import Spread, Target, arguments, data_option, emit, read_catalogs
from toolcrib.crib import Crib
from toolcrib.metatools import MetaTools
from toolcrib.metatools.definitions import meta_tools
from toolcrib.metatools.formatting import compact
from toolcrib.schema import first_sentence
from toolcrib.tokens import count_tokens, counter_name

SERVERS_NAMED = 30
EVERY = 25


def as_sent(tool: dict[str, Any]) -> str:
    """A definition as a client hands it to a model: name, description and input schema."""
    return compact({key: tool[key] for key in ("name", "description", "inputSchema") if key in tool})


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


async def measure(catalogs: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], list[Target]]:
    tools = [tool for catalog in catalogs.values() for tool in catalog["tools"]]
    whole = sum(count_tokens(as_sent(tool)) for tool in tools)
    surface = sum(
        count_tokens(as_sent(tool)) for tool in meta_tools(_named(catalogs), token_budget=300, languages=["python"])
    )
    figures: dict[str, Any] = {
        "counter": counter_name(),
        "servers": len(catalogs),
        "tools": len(tools),
        "all_definitions": whole,
        "surface": surface,
        "saved_percent": round(100 * (1 - surface / whole), 2),
        "pays_from_tools": -(-surface * len(tools) // whole),
    }
    async with Crib.open({"mcpServers": {}}) as crib:
        for name, catalog in catalogs.items():
            await crib.add_source(CatalogSource(name, catalog))
        doors = MetaTools(crib)
        queries = [
            sentence for tool in tools[::EVERY] if (sentence := first_sentence(str(tool.get("description") or ""), 120))
        ]
        spreads: dict[str, Spread] = {}
        for detail in ("name", "brief", "signature", "full"):
            sizes = [
                count_tokens(text_of(await doors.call("search_tools", {"query": query, "detail": detail})))
                for query in queries
            ]
            spreads[detail] = Spread.of(sizes)
        details = [
            count_tokens(text_of(await doors.call("get_tool_details", {"name": tool_id}))) for tool_id in crib.registry
        ]
        default = [count_tokens(text_of(await doors.call("search_tools", {"query": query}))) for query in queries]
    figures["search_answers"] = {detail: asdict(spread) for detail, spread in spreads.items()}
    figures["details"] = asdict(Spread.of(details))
    return figures, [
        Target("meta-tools, all definitions, 30 servers named", surface, "tokens", 1000),
        Target("search answer, 8 hits, default detail, median", Spread.of(default).median, "tokens", 600),
    ]


def _named(catalogs: dict[str, dict[str, Any]]) -> list[tuple[str, str]]:
    """Thirty servers with a description each, as a configuration would have them."""
    return [(name, f"{name} and what belongs to it") for name in list(catalogs)[:SERVERS_NAMED]]


def main() -> None:
    parser = arguments(__doc__ or "")
    data_option(parser)
    options = parser.parse_args()
    figures, targets = asyncio.run(measure(read_catalogs(options.data)))
    emit("tokens", figures, targets, as_json=options.json)


if __name__ == "__main__":
    main()
