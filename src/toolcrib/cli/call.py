"""`toolcrib call`: call a tool."""

from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib.cli import completing
from toolcrib.cli.arguments import read_arguments, undeclared
from toolcrib.cli.asking import terminal_approver
from toolcrib.cli.options import ArgumentsObject, AsJson, ConfigFiles, ReadOnly
from toolcrib.cli.progress import call_progress
from toolcrib.cli.results import print_result, result_text, save_result, warn_of_hidden
from toolcrib.cli.session import find_tool, open_crib, read_config, run, stricter
from toolcrib.cli.streams import print_json, print_text, tell, typed, warn
from toolcrib.cli.troubles import FAILED, MISUSED
from toolcrib.config import Config
from toolcrib.errors import UsageError

if TYPE_CHECKING:
    from toolcrib.broker import InvalidArgumentsError, Outcome
    from toolcrib.catalog import JsonObject


def call(
    tool: Annotated[
        str,
        typer.Argument(metavar="ID", help="The tool, by the id that search prints.", autocompletion=completing.tools),
    ],
    items: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE",
            help="Arguments. The value becomes what the tool's schema asks for; KEY:=JSON takes it as JSON; "
            "a repeated key makes a list.",
            show_default=False,
        ),
    ] = None,
    args: ArgumentsObject = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout", metavar="SECONDS", min=0.001, help="How long to wait for the answer.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the image, audio, bytes or text here.", show_default=False
        ),
    ] = None,
    read_only: ReadOnly = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Call a tool and print its result.

    With --json, the result exactly as the server sent it.

    Example: toolcrib call tickets.search_tickets query=invoice limit:=5
    """
    if timeout is not None and isnan(timeout):
        raise UsageError("--timeout must be a number of seconds.")
    words = [typed(item) for item in items or ()]
    given = None if args is None else typed(args)
    chosen = stricter(read_config(config), read_only=read_only)
    return run(partial(_call, chosen, typed(tool), words, given, timeout, output, as_json=as_json))


async def _call(
    config: Config,
    name: str,
    items: list[str],
    args: str | None,
    timeout: float | None,
    output: Path | None,
    *,
    as_json: bool,
) -> int:
    from toolcrib.broker import Caller, InvalidArgumentsError

    async with open_crib(config, approver=terminal_approver()) as crib:
        with call_progress(f"Calling {name}") as on_progress:
            tool = await find_tool(crib, name)
            arguments = read_arguments(tool, items, args)
            for note in undeclared(tool, arguments):
                tell(note)
            if crib.effect(tool) == "destructive":
                tell(f"{tool.id} may destroy something.")
            try:
                outcome = await crib.call(
                    tool.id, arguments, timeout=timeout, on_progress=on_progress, caller=Caller(face="cli")
                )
            except InvalidArgumentsError as error:
                return refused(error, as_json=as_json)
        if outcome.call.tool is not None and crib.changes.is_changed(outcome.call.tool):
            how = f"toolcrib servers changes {tool.server} shows how"
            warn(f"the definition of {tool.id} has changed since it was first used; {how}.")
    for change in outcome.changes:
        tell(f"changed {change}")
    if outcome.unvalidated is not None:
        tell(f"The arguments were not checked: {outcome.unvalidated}")
    if outcome.unsettled is not None:
        from toolcrib.metatools import unsettled_text

        tell(f"{unsettled_text(outcome.unsettled)}\ntoolcrib journal show {outcome.unsettled.id} tells more.")
    warn_of_hidden(outcome.result)
    return _finish(outcome, output, as_json=as_json)


def _finish(outcome: "Outcome", output: Path | None, *, as_json: bool) -> int:
    tool_id = outcome.call.target
    if as_json:
        print_json(outcome.result)
    if outcome.kind == "input_required":
        tell(f"{tool_id} asks for something before it goes on, which the command line can't answer.")
        return FAILED
    if outcome.is_error:
        tell(f"{tool_id} failed:\n{result_text(outcome.result)}")
        return FAILED
    result, account = _without_account(outcome)
    beside = save_result(result, output) if output is not None else None
    if as_json:
        return 0
    if beside is None:
        print_result(result, tool_id)
    else:
        for text in beside:
            print_text(text)
    if account:
        tell(account)
    return 0


def _without_account(outcome: "Outcome") -> "tuple[JsonObject, str]":
    """The result, and what a saved script says of its run, which is no part of its value and ends its content."""
    from toolcrib.broker import content_of

    content = content_of(outcome.result)
    if not outcome.call.target.startswith("scripts.") or not content:
        return outcome.result, ""
    *said, account = content
    return {**outcome.result, "content": said}, str(account.get("text", ""))


def refused(error: "InvalidArgumentsError", *, as_json: bool) -> int:
    """Tell why a call was not made, and give the exit code."""
    from toolcrib.metatools import tool_signature

    signature = tool_signature(error.tool)
    problems = [f"  {each.path or 'arguments'}: {each.message}" for each in error.result.errors]
    lines = [f"The arguments of {error.tool.id} are not valid, so nothing was called.", *problems, signature]
    tell("\n".join([*lines, f"toolcrib show {error.tool.id} explains them."]))
    if as_json:
        print_json({"error": {**error.to_json(), "signature": signature}})
    return MISUSED
