"""`toolcrib show`: the whole definition of a tool."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from toolcrib.catalog import SKILL_HEAD
from toolcrib.cli import completing
from toolcrib.cli.definition import print_definition
from toolcrib.cli.options import AsJson, ConfigFiles, SkillPaths
from toolcrib.cli.progress import progress
from toolcrib.cli.session import find_tool, open_crib, read_config, run, use_skills
from toolcrib.cli.skills import print_skill, skill_told
from toolcrib.cli.streams import print_json, print_text, typed
from toolcrib.config import Config


def show(
    ids: Annotated[
        list[str],
        typer.Argument(
            metavar="ID", help="Tools and skills, by the ids that search prints.", autocompletion=completing.tools
        ),
    ],
    schema: Annotated[bool, typer.Option("--schema", help="Also print the schemas as they were sent.")] = False,
    skill: SkillPaths = None,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Show what a tool does, what it takes, and how to call it; or what a skill says.

    With --json, the definition exactly as the server sent it; for several tools, one object of them by id.

    Example: toolcrib show tickets.create_ticket --schema
    """
    return run(partial(_show, read_config(config), ids, skill or (), schema=schema, as_json=as_json))


async def _show(config: Config, ids: list[str], skills: Sequence[str], *, schema: bool, as_json: bool) -> int:
    shown: list[tuple[str, Any, Callable[[], None]]] = []
    async with open_crib(config) as crib:
        await use_skills(crib, skills)
        with progress("Looking it up"):
            for name in map(typed, ids):
                if name.startswith(SKILL_HEAD):
                    told = await skill_told(crib, name)
                    shown.append((told.id, told.document, partial(print_skill, told)))
                else:
                    tool = await find_tool(crib, name)
                    judged = crib.judged(tool)
                    show_it = partial(print_definition, tool, judged.effect, judged.why, schema=schema)
                    shown.append((tool.id, tool.definition, show_it))
    if as_json:
        print_json(shown[0][1] if len(shown) == 1 else {each: document for each, document, _ in shown})
        return 0
    for place, (_, _, show_it) in enumerate(shown):
        if place:
            print_text()
        show_it()
    return 0
