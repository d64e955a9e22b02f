"""`toolcrib completion`: what makes a shell complete the words of a command."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from toolcrib.cli.completing import VARIABLE
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.streams import print_json, print_text, tell


class Shell(StrEnum):
    """The shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


_PLACES = {
    Shell.BASH: "toolcrib completion bash > ~/.local/share/bash-completion/completions/toolcrib",
    Shell.ZSH: "toolcrib completion zsh > ~/.zfunc/_toolcrib   (with fpath+=~/.zfunc before compinit in ~/.zshrc)",
    Shell.FISH: "toolcrib completion fish > ~/.config/fish/completions/toolcrib.fish",
    Shell.POWERSHELL: "toolcrib completion powershell >> $PROFILE",
}
"""Where each shell looks for such scripts: the documentation of bash-completion, zsh (compsys), fish and PowerShell."""


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")],
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Print the script that makes your shell complete commands, options, and the ids of servers and tools.

    On a terminal it also says where the shell looks for it. No configuration is read.

    Example: toolcrib completion zsh
    """
    from typer.completion import get_completion_script  # pyright: ignore[reportPrivateImportUsage]

    script = get_completion_script(prog_name="toolcrib", complete_var=VARIABLE, shell=shell.value)
    if as_json:
        print_json({"shell": shell.value, "script": script, "install": _PLACES[shell]})
        return 0
    print_text(script)
    if sys.stdout.isatty():
        tell(f"This puts it where {shell.value} looks for it:\n{_PLACES[shell]}")
    return 0
