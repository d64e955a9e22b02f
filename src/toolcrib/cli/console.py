"""`toolcrib console`: the page that shows what the tools do, on this machine."""

import sys
import webbrowser
from typing import Annotated

import typer

from toolcrib.cli.logs import log_warnings
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.session import read_config, resting, small_model
from toolcrib.cli.streams import print_json, tell

DEFAULT_PORT = 8932


def console(
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, metavar="N", help="The port; 0 takes any free one.")
    ] = DEFAULT_PORT,
    browse: Annotated[bool, typer.Option("--open", help="Open the page in your browser.")] = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Serve the page that shows what the tools do, and what waits for you, to this machine alone.

    It shows the calls, scripts and questions of every Toolcrib that uses the same state. `toolcrib serve --http` has
    the same page beside what it serves, at /console.

    Example: toolcrib console --open
    """
    from toolcrib.console import entry_link
    from toolcrib.console.serving import run_console

    log_warnings()
    settled = resting(read_config(config))

    def on_ready(url: str, key: str) -> None:
        entry = entry_link(url, key)
        if as_json:
            print_json({"url": url, "link": entry})
            sys.stdout.flush()
        tell(f"The console opens once with {entry}\nCtrl-C ends it.")
        if browse:
            webbrowser.open(entry)

    run_console(settled, port, on_ready=on_ready, small_model=small_model(settled))
    return 0
