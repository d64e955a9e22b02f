"""The options that commands share."""

from pathlib import Path
from typing import Annotated

import typer

from toolcrib.cli import completing

ConfigFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="A configuration as MCP clients have it; may be repeated, later ones win. "
        "Without it, every file of your Toolcrib folder is read.",
        show_default=False,
    ),
]

ReadOnly = Annotated[
    bool,
    typer.Option("--read-only", help="Let only tools be used that are known to read, whatever the rules say."),
]

AskAll = Annotated[bool, typer.Option("--ask-all", help="Ask before every call of a tool that the rules would allow.")]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]

SkillPaths = Annotated[
    list[str] | None,
    typer.Option(
        "--skill",
        metavar="PATH",
        help="Use a skill: its folder or its SKILL.md; the servers that it names are turned on. May be repeated.",
        show_default=False,
    ),
]

ScriptFile = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="The script; - reads it from standard input.", show_default=False),
]

ScriptCode = Annotated[
    str | None, typer.Option("--code", "-C", metavar="CODE", help="The script itself.", show_default=False)
]

ScriptLanguage = Annotated[
    str | None,
    typer.Option(
        "--language",
        "-l",
        metavar="NAME",
        help="python, typescript or javascript; else by the file's name.",
        autocompletion=completing.words("python", "typescript", "javascript"),
    ),
]

ArgumentsObject = Annotated[
    str | None,
    typer.Option("--args", metavar="JSON|@FILE|-", help="All arguments as one JSON object.", show_default=False),
]

Refresh = Annotated[bool, typer.Option("--refresh", help="Start them and list their tools anew.")]
