"""`toolcrib tokens`: what the tools cost a model, with and without Toolcrib."""

from functools import partial
from typing import Annotated

import typer

from toolcrib.cli.costs import Costs, count_costs
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.progress import list_anew, progress
from toolcrib.cli.session import open_crib, read_config, run, tell_left_out
from toolcrib.cli.streams import print_json, print_text
from toolcrib.cli.tables import print_styled, print_table
from toolcrib.cli.troubles import FAILED
from toolcrib.config import Config


def tokens(
    top: Annotated[
        int, typer.Option("--top", "-n", metavar="N", min=0, help="How many of the heaviest tools to name.")
    ] = 10,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Count what the tools cost a model, with and without Toolcrib.

    Without it, a client sends name, description and input schema of every tool with every request. Servers
    that were never listed are started once and listed.

    Example: toolcrib tokens --top 20
    """
    return run(partial(_tokens, read_config(config), top, as_json=as_json))


async def _tokens(config: Config, top: int, *, as_json: bool) -> int:
    async with open_crib(config, lists=True) as crib:
        await list_anew(crib, [each.id for each in crib.servers if each.tools is None and each.state != "disabled"])
        with progress("Counting tokens"):
            costs = await count_costs(crib)
        uncounted = [each for each in crib.servers if each.tools is None and each.state != "disabled"]
    heaviest = sorted(costs.tools.items(), key=lambda item: -item[1])[:top]
    if as_json:
        failed = {each.id: each.reason for each in uncounted}
        print_json({**costs.to_json(), "heaviest": dict(heaviest), "uncounted": failed})
    else:
        _print(costs, heaviest)
    tell_left_out(uncounted, "counted")
    return 0 if costs.tools or not uncounted else FAILED


def _print(costs: Costs, heaviest: list[tuple[str, int]]) -> None:
    if not costs.tools:
        print_text("There are no tools to count.")
        _print_hidden(costs)
        return
    sizes = costs.sizes
    by_server = sorted(costs.servers.items(), key=lambda item: -item[1])
    print_table(
        ("server", "tools", "tokens", "average"),
        [(server, f"{sizes[server]:,}", f"{count:,}", f"{count / sizes[server]:,.0f}") for server, count in by_server],
        numbers=(1, 2, 3),
    )
    if heaviest:
        print_text()
        print_table(("heaviest tools", "tokens"), [(tool, f"{count:,}") for tool, count in heaviest], numbers=(1,))
    print_text()
    print_styled(
        "All definitions, sent with every request:  ",
        (f"{costs.total:,} tokens", "bold"),
        f" ({len(costs.tools):,} tools)",
    )
    print_styled("Toolcrib's constant tools in their place:  ", (f"{costs.surface:,} tokens", "bold"))
    print_styled(verdict(costs))
    _print_hidden(costs)
    print_styled((f"Counted by {costs.counter}.", "dim"))


def _print_hidden(costs: Costs) -> None:
    if costs.hidden:
        count = "1 tool" if len(costs.hidden) == 1 else f"{len(costs.hidden):,} tools"
        tokens = sum(costs.hidden.values())
        print_styled(f"Not counted, since `allow`, `deny` or the rules hide them: {count} with {tokens:,} tokens.")


def verdict(costs: Costs) -> str:
    """Whether Toolcrib pays for these tools, and from how many it does."""
    paying = f"{costs.pays_from:,} tools of this average size" if costs.pays_from else ""
    if costs.saved <= 0:
        return f"So Toolcrib saves nothing here yet; with one search in a conversation it pays from {paying}."
    return (
        f"{costs.saved_percent} less up front. A search answer adds about {costs.search:,}, so it pays from {paying}."
    )
