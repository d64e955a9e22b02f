"""`toolcrib run`: run a script over the tools."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib.cli import session
from toolcrib.cli.arguments import standard_input, why_unread
from toolcrib.cli.asking import terminal_approver
from toolcrib.cli.options import AsJson, ConfigFiles, ReadOnly, ScriptCode, ScriptFile, ScriptLanguage, SkillPaths
from toolcrib.cli.progress import call_progress
from toolcrib.cli.streams import print_json, print_text, tell
from toolcrib.cli.troubles import FAILED
from toolcrib.config import Config
from toolcrib.errors import UsageError, shown

if TYPE_CHECKING:
    from toolcrib.crib import Crib
    from toolcrib.sandbox import Finding, Language
    from toolcrib.scripts import RunOutcome

_LANGUAGES: "dict[str, Language]" = {".py": "python", ".ts": "typescript", ".js": "javascript"}
_NAMED: "dict[str, Language]" = {"python": "python", "typescript": "typescript", "javascript": "javascript"}


def run(
    file: ScriptFile = None,
    code: ScriptCode = None,
    language: ScriptLanguage = None,
    retry_of: Annotated[
        str | None,
        typer.Option(
            "--retry-of", metavar="RUN", help="A failed run whose effects are not to be repeated.", show_default=False
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only look for what is wrong; call nothing.")] = False,
    read_only: ReadOnly = False,
    skill: SkillPaths = None,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Run a script over the tools, behind a wall; print what it prints, and its final value.

    A tool is an async function under its id: await tickets.list_projects(). What was done is told at the end.

    Example: toolcrib run report.py --read-only
    """
    script, named = read_script(file, code)
    chosen = session.stricter(session.read_config(config), read_only=read_only)
    wanted = language_of(language, named)
    given = "--code …" if file is None else str(file)
    asked = partial(_run, chosen, script, wanted, retry_of or "", given, skill or (), check=check, as_json=as_json)
    return session.run(asked)


async def _run(
    config: Config,
    script: str,
    language: "Language",
    retry_of: str,
    given: str,
    skills: Sequence[str],
    *,
    check: bool,
    as_json: bool,
) -> int:
    from toolcrib.broker import Caller

    async with session.open_crib(config, approver=terminal_approver()) as crib:
        await session.use_skills(crib, skills)
        if check:
            code = _checked(await crib.check_code(script, language=language), as_json=as_json)
        else:
            with call_progress("Running the script") as on_progress:
                outcome = await crib.run_code(
                    script, language=language, retry_of=retry_of, caller=Caller(face="cli"), on_progress=on_progress
                )
            code = _finish(outcome, given, as_json=as_json)
        if code and config.settings.policy.read_only:
            _tell_hidden(crib, script)
    return code


def _tell_hidden(crib: "Crib", script: str) -> None:
    """Say which tools that a script names are not there only since nothing but reading is let through."""
    visible = crib.visible()
    for server in crib.registry.servers:
        for key in crib.registry.keys(server):
            name = re.escape(key.partition(".")[2])
            named = re.search(rf"\b{re.escape(server)}(?:\s*\.\s*|_){name}\b", script)
            if named and key not in visible and crib.effect(crib.registry.tool(key)) != "read":
                tell(f"{key} is not there with --read-only; toolcrib policy explain {key} tells what is known of it.")


def _checked(findings: "list[Finding]", *, as_json: bool) -> int:
    from toolcrib.scripts import finding_line

    if as_json:
        print_json([{name: getattr(each, name) for name in each.__dataclass_fields__} for each in findings])
    for finding in () if as_json else findings:
        print_text(finding_line(finding).removeprefix("- "))
    return FAILED if any(finding.is_error for finding in findings) else 0


def _finish(outcome: "RunOutcome", given: str, *, as_json: bool) -> int:
    from toolcrib.scripts import run_result

    if as_json:
        print_json(outcome.to_json())
        return 0 if outcome.ok else FAILED
    *said, account = run_result(outcome, lambda run: f"toolcrib run --retry-of {run} {given}")["content"]
    for block in said:
        print_text(block.get("text") or f"[{block.get('type')}: {block.get('mimeType', '')}]")
    tell(account["text"])
    return 0 if outcome.ok else FAILED


def read_script(file: Path | None, code: str | None) -> tuple[str, str]:
    """The script, and how the name of its file ends.

    Raises:
        UsageError: There is none, or two, or it can't be read.
    """
    if (file is None) == (code is None):
        raise UsageError("Give one script: a file, or --code.", hint="toolcrib run - reads it from standard input.")
    if code is not None:
        return code, ""
    assert file is not None
    if str(file) == "-":
        return standard_input(), ""
    try:
        return file.read_text(encoding="utf-8"), file.suffix
    except (OSError, UnicodeError) as error:
        raise UsageError(f"The script {shown(str(file))} can't be read: {why_unread(error)}.") from None


def language_of(given: str | None, suffix: str) -> "Language":
    """The language that was named, else the one of a file's ending, else Python.

    Raises:
        UsageError: There is no such language.
    """
    known = _NAMED.get((given or "").lower())
    if given is not None and known is None:
        raise UsageError(f"There is no language {shown(given)}.", hint=f"Use {', '.join(_NAMED)}.")
    return known or _LANGUAGES.get(suffix, "python")
