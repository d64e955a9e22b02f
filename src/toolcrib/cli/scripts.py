"""`toolcrib scripts`: save scripts under names, as tools; list, show, run and remove them."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolcrib.cli import completing
from toolcrib.cli.arguments import parse_json, read_arguments, text_of
from toolcrib.cli.asking import terminal_approver
from toolcrib.cli.call import refused
from toolcrib.cli.groups import UnlessTold
from toolcrib.cli.options import ArgumentsObject, AsJson, ConfigFiles, ReadOnly, ScriptCode, ScriptFile, ScriptLanguage
from toolcrib.cli.progress import call_progress
from toolcrib.cli.results import result_text, warn_of_hidden
from toolcrib.cli.run import language_of, read_script
from toolcrib.cli.session import open_crib, read_config, run, stricter
from toolcrib.cli.streams import print_json, print_text, tell, typed
from toolcrib.cli.tables import print_table
from toolcrib.cli.times import as_moment
from toolcrib.cli.troubles import FAILED
from toolcrib.config import Config
from toolcrib.errors import UsageError

if TYPE_CHECKING:
    from toolcrib.broker import Outcome
    from toolcrib.scripts import SavedScript

_ABOUT = """Save scripts under names: each becomes a tool, scripts.NAME, found, called and allowed like any other.

Without a command, it is `list`.

Example: toolcrib scripts save report report.py
"""

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The script's name, with or without scripts. before it.", autocompletion=completing.scripts
    ),
]


class _ListUnlessTold(UnlessTold):
    """Takes `scripts` and its options for `scripts list`."""

    meant = "list"


scripts = typer.Typer(cls=_ListUnlessTold, rich_markup_mode=None, help=_ABOUT)


@scripts.command()
def save(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and _.")],
    file: ScriptFile = None,
    code: ScriptCode = None,
    description: Annotated[
        str, typer.Option("--description", "-d", metavar="TEXT", help="What it does; else its docstring says.")
    ] = "",
    parameters: Annotated[
        str | None,
        typer.Option(
            "--parameters",
            metavar="JSON|@FILE",
            help="The JSON Schema of its arguments; else the signature of its function main says it.",
            show_default=False,
        ),
    ] = None,
    language: ScriptLanguage = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the script of that name.")] = False,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Look for what is wrong first.")] = True,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Save a script, once it is looked through.

    One that takes arguments has a function main, which is called with them.

    Example: toolcrib scripts save report report.py
    """
    script, suffix = read_script(file, code)
    schema: Any = None if parameters is None else parse_json(text_of(parameters), "--parameters")
    if schema is not None and not isinstance(schema, dict):
        raise UsageError("--parameters must be a JSON Schema, which is an object.")
    options: dict[str, Any] = {
        "description": description,
        "language": language_of(language, suffix),
        "parameters": schema,
        "replace": replace,
        "check": check,
    }
    return run(partial(_save, read_config(config), _bare(name), script, options, as_json=as_json))


@scripts.command("list")
def list_scripts(config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """List the saved scripts.

    Example: toolcrib scripts list
    """
    return run(partial(_list, read_config(config), as_json=as_json))


@scripts.command()
def show(name: Name, config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """Print a script as it was saved.

    Example: toolcrib scripts show report
    """
    return run(partial(_show, read_config(config), _bare(name), as_json=as_json))


@scripts.command("run")
def run_script(
    name: Name,
    items: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Arguments, as of toolcrib call.", show_default=False),
    ] = None,
    args: ArgumentsObject = None,
    retry_of: Annotated[
        str,
        typer.Option("--retry-of", metavar="RUN", help="A failed run of it whose effects are not to be repeated."),
    ] = "",
    read_only: ReadOnly = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Run a script; print what it prints, and its value. What was done is told at the end.

    With --json, the result of its tool.

    Example: toolcrib scripts run report project=WEB
    """
    chosen = stricter(read_config(config), read_only=read_only)
    given = [typed(each) for each in items or ()]
    return run(partial(_run, chosen, _bare(name), given, args, retry_of, as_json=as_json))


@scripts.command()
def remove(name: Name, config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """Delete a script.

    Example: toolcrib scripts remove report
    """
    return run(partial(_remove, read_config(config), _bare(name), as_json=as_json))


async def _save(config: Config, name: str, code: str, options: dict[str, Any], *, as_json: bool) -> int:
    from toolcrib.scripts import finding_line

    async with open_crib(config) as crib:
        script, findings = await crib.scripts.save(name, code, **options)
        effect = crib.effect(await crib.tool(f"scripts.{name}"))
    for finding in findings:
        tell(finding_line(finding).removeprefix("- "))
    if as_json:
        print_json({**_facts(script), "effect": effect})
        return 0
    from toolcrib.schema import signature

    print_text(f"Saved: {signature(f'scripts.{name}', script.parameters, script.signature.returns)}")
    if not script.about:
        tell("It says nowhere what it does, so searches hardly find it: give it a docstring, or --description.")
    return 0


async def _list(config: Config, *, as_json: bool) -> int:
    async with open_crib(config) as crib:
        found, broken = crib.scripts.list(), crib.scripts.broken()
        effects = {each.name: crib.effect(await crib.tool(f"scripts.{each.name}")) for each in found}
    if as_json:
        known = [{**_facts(each), "effect": effects[each.name]} for each in found]
        print_json({"scripts": known, "broken": broken})
        return 0
    from toolcrib.schema import first_sentence

    rows = [
        (each.name, each.language, effects[each.name], as_moment(each.saved_at), first_sentence(each.about))
        for each in found
    ]
    print_table(("script", "language", "effect", "saved", "what it does"), rows, prose=(4,))
    for name, reason in broken.items():
        tell(f"{name} can't be used: {reason}")
    if not found and not broken:
        tell("No scripts are saved. toolcrib scripts save NAME FILE saves one.")
    return 0


async def _show(config: Config, name: str, *, as_json: bool) -> int:
    async with open_crib(config) as crib:
        script = crib.scripts.get(name)
    if as_json:
        print_json({**_facts(script), "code": script.code})
    else:
        print_text(script.code.rstrip("\n"))
    return 0


async def _run(config: Config, name: str, items: list[str], args: str | None, retry_of: str, *, as_json: bool) -> int:
    from toolcrib.broker import Caller, InvalidArgumentsError

    async with open_crib(config, approver=terminal_approver()) as crib:
        crib.scripts.get(name)
        tool = await crib.tool(f"scripts.{name}")
        arguments = read_arguments(tool, items, args)
        with call_progress(f"Running {name}") as on_progress:
            try:
                outcome = await crib.scripts.run(
                    name, arguments, retry_of=retry_of, on_progress=on_progress, caller=Caller(face="cli")
                )
            except InvalidArgumentsError as error:
                return refused(error, as_json=as_json)
    return _finish(outcome, as_json=as_json)


def _finish(outcome: "Outcome", *, as_json: bool) -> int:
    from toolcrib.broker import content_of

    for change in outcome.changes:
        tell(f"changed {change}")
    warn_of_hidden(outcome.result)
    if as_json:
        print_json(outcome.result)
        return FAILED if outcome.is_error else 0
    *said, account = content_of(outcome.result)
    for block in said:
        print_text(result_text({"content": [block]}))
    tell(str(account.get("text", "")))
    return FAILED if outcome.is_error else 0


async def _remove(config: Config, name: str, *, as_json: bool) -> int:
    async with open_crib(config) as crib:
        crib.scripts.remove(name)
    if as_json:
        print_json({"removed": name})
    else:
        print_text(f"Removed {name}.")
    return 0


def _facts(script: "SavedScript") -> dict[str, Any]:
    return {
        "name": script.name,
        "id": f"scripts.{script.name}",
        "language": script.language,
        "description": script.about,
        "parameters": script.parameters,
        "returns": script.signature.returns,
        "saved_at": script.saved_at,
    }


def _bare(name: str) -> str:
    return typed(name).removeprefix("scripts.")
