"""`toolcrib show`: the whole definition of a tool."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib.cli.definition import print_definition
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.progress import progress
from toolcrib.cli.session import find_tool, open_crib, read_config, run
from toolcrib.cli.streams import print_json, print_text, typed
from toolcrib.config import Config

if TYPE_CHECKING:
    from toolcrib.broker import Judged
    from toolcrib.catalog import Tool


def show(
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Tools, by the ids that search prints.")],
    schema: Annotated[bool, typer.Option("--schema", help="Also print the schemas as they were sent.")] = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Show what a tool does, what it takes, and how to call it.

    With --json, the definition exactly as the server sent it; for several tools, one object of them by id.
    """
    return run(partial(_show, read_config(config), ids, schema=schema, as_json=as_json))


async def _show(config: Config, ids: list[str], *, schema: bool, as_json: bool) -> int:
    found: list[tuple[Tool, Judged]] = []
    async with open_crib(config) as crib:
        with progress("Looking it up"):
            for name in ids:
                tool = await find_tool(crib, typed(name))
                found.append((tool, crib.judged(tool)))
    if as_json:
        definitions = {tool.id: tool.definition for tool, _ in found}
        print_json(found[0][0].definition if len(found) == 1 else definitions)
        return 0
    for place, (tool, judged) in enumerate(found):
        if place:
            print_text()
        print_definition(tool, judged.effect, judged.why, schema=schema)
    return 0
