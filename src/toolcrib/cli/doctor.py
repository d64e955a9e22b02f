"""`toolcrib doctor`: what is wrong with the configuration and its servers."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib.cli import completing
from toolcrib.cli.begin import how_to_begin
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.progress import list_anew
from toolcrib.cli.session import resting, run, small_model
from toolcrib.cli.streams import print_json, print_text
from toolcrib.cli.tables import print_styled
from toolcrib.cli.troubles import FAILED
from toolcrib.config import Config, user_config_dir, user_state_dir
from toolcrib.errors import ConfigError

if TYPE_CHECKING:
    from toolcrib.doctor import Diagnosis, Finding

_STYLES = {"problem": "bold red", "warning": "yellow", "note": "dim", "ok": "green"}
_FIRST_LINES, _LAST_LINES = 3, 4
_INDENT = 2


def doctor(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Only this server.", show_default=False, autocompletion=completing.servers),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Start nothing: look at what the servers listed last.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings count: exit with 1 for them too.")] = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Look for what is wrong: configuration, commands, credentials, servers, definitions.

    Every server is started and listed, nothing is called. Exits with 0 when there is no problem, else with 1.

    Example: toolcrib doctor tickets --offline
    """
    from toolcrib.doctor import read_configuration

    known, found = read_configuration(config or ())
    if not known.paths and not found:
        folder = user_config_dir()
        raise ConfigError(f"No servers are configured: {folder} holds no *.json.", hint=how_to_begin(folder))
    return run(partial(_doctor, known, found, name, offline=offline, strict=strict, as_json=as_json))


async def _doctor(
    config: Config, found: "Sequence[Finding]", name: str | None, *, offline: bool, strict: bool, as_json: bool
) -> int:
    from toolcrib.crib import Crib
    from toolcrib.doctor import examine

    open_crib = partial(Crib.open, resting(config, lists=True), small_model=small_model(config))
    diagnosis = await examine(config, open_crib, user_state_dir(), list_anew, name=name, offline=offline, found=found)
    if as_json:
        print_json(diagnosis.to_json())
    else:
        _print(diagnosis)
    return 0 if diagnosis.is_clean(strict=strict) else FAILED


def _print(diagnosis: "Diagnosis") -> None:
    """What matters, the worst first, a group for each server; what is well is one line."""
    from toolcrib.doctor import LEVELS

    groups: list[str | None] = [None, *diagnosis.servers]
    for group in sorted(groups, key=lambda each: LEVELS.index(diagnosis.worst(each))):
        findings = [each for each in diagnosis.findings if each.server == group and each.level != "ok"]
        if findings:
            print_styled((group or "In general", "bold"))
            for finding in sorted(findings, key=lambda each: LEVELS.index(each.level)):
                _print_finding(finding)
            print_text()
    off = diagnosis.passed_over
    well = [server for server in diagnosis.servers if diagnosis.worst(server) == "ok" and server not in off]
    if well:
        print_styled(("Well: ", _STYLES["ok"]), ", ".join(well))
    if off:
        print_styled(("Disabled, not looked into: ", _STYLES["note"]), ", ".join(off))
    print_styled((diagnosis.verdict, "bold"))


def _print_finding(finding: "Finding") -> None:
    print_styled((finding.level, _STYLES[finding.level]), f"  {finding.message}", indent=_INDENT)
    if finding.check == "start":
        for line in _ends(finding.details):
            print_styled((line, "dim"), indent=2 * _INDENT)
    if finding.hint:
        print_styled(finding.hint, indent=2 * _INDENT)


def _ends(lines: "Sequence[str]") -> "Sequence[str]":
    """The first and last lines: Node puts the cause of a failure first, Python last."""
    if len(lines) <= _FIRST_LINES + _LAST_LINES:
        return lines
    return [*lines[:_FIRST_LINES], "…", *lines[-_LAST_LINES:]]
