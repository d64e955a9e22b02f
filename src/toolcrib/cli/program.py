"""The program: finds the command, runs it, and turns whatever goes wrong into a sentence and an exit code."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import takewhile
from keyword import iskeyword
from typing import Annotated, Any

import typer

from toolcrib import __version__
from toolcrib.cli.streams import abandon_output, prepare_streams, print_text
from toolcrib.cli.troubles import report
from toolcrib.errors import UsageError, shown

COMMANDS = {
    "demo": "Show what Toolcrib does, on servers that ship with it.",
    "import": "Take over the servers that your clients have.",
    "install": "Put Toolcrib into a client, in place of its servers.",
    "uninstall": "Give a client its own servers back.",
    "serve": "Be one MCP server in place of all configured ones.",
    "servers": "List the configured servers, add others, switch them on and off.",
    "search": "Find tools by what they do.",
    "show": "Show the whole definition of a tool.",
    "call": "Call a tool.",
    "run": "Run a script over the tools.",
    "scripts": "Save scripts under names, as tools; list, show, run and remove them.",
    "chat": "Talk with a model that has the tools.",
    "console": "Open the page that shows what the tools do, and what waits for you.",
    "tokens": "Count what the tools cost a model, with and without Toolcrib.",
    "approve": "List the calls that wait for an approval; approve or deny them.",
    "journal": "Show the calls that were made, and what became of them.",
    "policy": "Say which rules decide about calls, and why.",
    "principals": "List, add and remove those who may use the gateway over HTTP.",
    "doctor": "Look for what is wrong with the configuration and its servers.",
    "completion": "Print what makes your shell complete commands and ids.",
}
"""The commands in the order of the help. Each is the function, or the group, of its name in the module of its name;
where Python has the name for itself, with a `_` behind it."""

ELSEWHERE = {
    "add": "toolcrib servers add NAME adds a server of a registry; toolcrib import those of your clients.",
    "approvals": "toolcrib approve lists what waits.",
    "config": "toolcrib alone says where your configuration is; toolcrib doctor what is wrong with it.",
    "grants": "toolcrib approve grants lists what was granted.",
    "help": "toolcrib --help lists all commands.",
    "init": "toolcrib import takes over the servers that your clients have.",
    "list": "toolcrib servers lists the servers; toolcrib search finds tools.",
    "login": "toolcrib servers login NAME logs in to a server.",
    "remove": "toolcrib servers remove NAME removes a server; toolcrib uninstall Toolcrib from a client.",
    "runs": "toolcrib console shows the runs of scripts; toolcrib journal --run ID the calls of one.",
    "skills": "toolcrib search finds skills too; toolcrib show skill:NAME shows one.",
    "status": "toolcrib servers tells how the servers are; toolcrib alone where you stand.",
    "tools": "toolcrib search finds tools by what they do; toolcrib tokens counts what they cost.",
    "ui": "toolcrib console is the page that shows what the tools do.",
    "version": "toolcrib --version prints it.",
}
"""Words that are no commands though what they stand for is there, and where it is."""

INTERRUPTED = 130
"""What a shell reports of a program that SIGINT has ended."""

DEBUG = "--debug"
_HELP_NAMES = {"help_option_names": ["-h", "--help"]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words after the program's name; None takes those of the process.

    Returns:
        The exit code: 0; 1 when what was asked for failed; 2 when it was asked for wrongly; 130 after Ctrl-C.
    """
    prepare_streams()
    if arguments is None and (asked := os.environ.get("_TOOLCRIB_COMPLETE")):
        from toolcrib.cli.completing import complete

        return complete(asked, lambda words: typer.main.get_command(_application(words)))
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = DEBUG in _options(given)
    words = [word for word in given if not (debug and word == DEBUG)]
    try:
        try:
            code = _run(words, debug=debug) if words else _standing()
        except Exception as error:
            if isinstance(error, BrokenPipeError):
                raise
            code = report(error, as_json="--json" in _options(words), debug=debug)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has seen enough, as `head` does.
        abandon_output()
        return 0
    except (KeyboardInterrupt, BaseExceptionGroup):  # a group that is no Exception holds an interrupt
        return INTERRUPTED
    return code


def _standing() -> int:
    from toolcrib.cli.standing import standing

    return standing()


def command(name: str) -> Any:
    """The function, or the group, of one of the `COMMANDS`; its module is loaded."""
    own = f"{name}_" if iskeyword(name) else name
    return getattr(import_module(f"toolcrib.cli.{own}"), own)


def _run(words: list[str], *, debug: bool) -> int:
    if debug:
        from toolcrib.cli.logs import log_everything

        log_everything()
    if (wanted := _wanted(words)) in ELSEWHERE:
        raise UsageError(f"No such command {shown(wanted)}.", hint=ELSEWHERE[wanted])
    whole = typer.main.get_command(_application(words))
    _without_types(whole)
    try:
        with whole.make_context("toolcrib", words) as context:
            return whole.invoke(context) or 0
    except typer.Exit as done:
        return done.exit_code


def _without_types(command: Any) -> None:
    """Keep Python's names of types out of the help of arguments, where they stand behind names that say it: typer has
    no way to leave out the second part of `CLIENT <list[str]>`."""
    for each in getattr(command, "commands", {}).values():
        _without_types(each)
    for each in command.params:
        if each.param_type_name == "argument":
            each.display_type_rich = _no_type


def _no_type(ctx: object) -> None:
    return None


def _wanted(words: Sequence[str]) -> str:
    return next((word for word in words if not word.startswith("-")), "")


def _application(words: Sequence[str]) -> typer.Typer:
    """The application with the wanted command whole, and the others by name and help alone: their modules are
    never loaded."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.callback(context_settings=_HELP_NAMES)(_toolcrib)
    wanted = _wanted(words)
    for name, about in COMMANDS.items():
        function: Any = _unloaded
        if name == wanted:
            function = command(name)
        if isinstance(function, typer.Typer):
            app.add_typer(function, name=name, short_help=about, context_settings=_HELP_NAMES)
        else:
            app.command(name, short_help=about, context_settings=_HELP_NAMES)(function)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        print_text(f"toolcrib {__version__}")
        raise typer.Exit


def _toolcrib(
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option(DEBUG, help="Show logs, and where an internal error happened.")] = False,
) -> None:
    """One small door to every tool of every MCP server."""


def _unloaded() -> None:
    """Stands for a command that this run does not want."""


def _options(words: Iterable[str]) -> Iterator[str]:
    """The words before a `--`: after it, nothing is an option."""
    return takewhile(lambda word: word != "--", words)
