"""`toolcrib serve`: the gateway."""

import gc
import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urljoin

import typer

from toolcrib.cli.logs import log_warnings
from toolcrib.cli.options import AsJson, AskAll, ConfigFiles, ReadOnly, SkillPaths
from toolcrib.cli.session import read_config, small_model, stricter
from toolcrib.cli.streams import print_json, tell, typed
from toolcrib.config import Config
from toolcrib.errors import UsageError, shown

if TYPE_CHECKING:
    from toolcrib.console import Console
    from toolcrib.crib import Crib
    from toolcrib.gateway import HttpOptions
    from toolcrib.gateway.authenticator import Authenticator

_PROFILES = ("discover", "all", "auto")
_ADDRESS = "Give it as HOST:PORT, such as 127.0.0.1:8931; the host may be left out."


def serve(
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="HOST:PORT", help="Serve over HTTP here, not on standard input.", show_default=False
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="HOST:PORT",
            help="A name under which other machines reach the server; may be repeated.",
            show_default=False,
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin",
            metavar="URL",
            help="The origin of a web page that may use the server; may be repeated.",
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="discover shows the few tools that lead to all others, all shows every tool directly, and auto the "
            "one or the other by their size; else the configuration says.",
            show_default=False,
        ),
    ] = None,
    allow_unauthenticated: Annotated[
        bool,
        typer.Option("--allow-unauthenticated", help="Serve other machines without asking anybody for a token."),
    ] = False,
    read_only: ReadOnly = False,
    ask_all: AskAll = False,
    skill: SkillPaths = None,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Be one MCP server in place of all configured ones, on standard input and output.

    A client is given this command in place of its own servers. With --http --json, the document is the URL.

    Example: toolcrib serve --http 127.0.0.1:8931
    """
    log_warnings()
    if profile not in {None, *_PROFILES}:
        raise UsageError(f"There is no profile {shown(str(profile), 60)}.", hint=f"Use {', '.join(_PROFILES)}.")
    narrow = partial(_as_asked, profile=profile, read_only=read_only, ask_all=ask_all)
    skills = [typed(path) for path in skill or ()]
    if http is None:
        misplaced = bool(allow_host or allow_origin or allow_unauthenticated)
        _serve_stdio(config, narrow, skills, as_json=as_json, misplaced=misplaced)
    else:
        options: HttpOptions = {
            "allowed_hosts": allow_host or (),
            "allowed_origins": allow_origin or (),
            "allow_unauthenticated": allow_unauthenticated,
        }
        _serve_http(http, options, config, narrow, skills, as_json=as_json)
    return 0


def _as_asked(config: Config, *, profile: str | None, read_only: bool, ask_all: bool) -> Config:
    config = stricter(config, read_only=read_only, ask_all=ask_all)
    if profile is None:
        return config
    return replace(config, settings=config.settings.model_copy(update={"profile": profile}))


def _serve_stdio(
    files: Sequence[Path] | None,
    narrow: Callable[[Config], Config],
    skills: Sequence[str],
    *,
    as_json: bool,
    misplaced: bool,
) -> None:
    if as_json:
        raise UsageError(
            "Standard output belongs to the protocol here.", hint="Leave --json out, or serve with --http."
        )
    if misplaced:
        raise UsageError("--allow-host, --allow-origin and --allow-unauthenticated are for --http.", hint=_ADDRESS)
    with _uncollected():
        config = narrow(read_config(files))
        from toolcrib.gateway import run_stdio
    if sys.stdin is not None and sys.stdin.isatty():
        tell(_waiting(config, files or ()))
    run_stdio(config, small_model=small_model(config), skills=skills)


def _serve_http(
    address: str,
    options: "HttpOptions",
    files: Sequence[Path] | None,
    narrow: Callable[[Config], Config],
    skills: Sequence[str],
    *,
    as_json: bool,
) -> None:
    host, port = _parse_address(address)
    with _uncollected():
        config = narrow(read_config(files))
        from toolcrib.console import CONSOLE_PATH, Console
        from toolcrib.gateway import is_loopback, run_http

    consoles: list[Console] = []

    def console(crib: "Crib", authenticator: "Authenticator") -> Console:
        consoles.append(Console(crib, authenticator, links=is_loopback(host)))
        return consoles[0]

    def on_ready(url: str) -> None:
        if as_json:
            print_json({"url": url})
            sys.stdout.flush()
        told = f"Serving {_servers(config)} at {url}; Ctrl-C ends it."
        tell("\n".join([told, *(_door(each, url) for each in consoles)]))

    if config.settings.http.console:
        options["beside"] = {CONSOLE_PATH: console}
    run_http(config, host, port, on_ready=on_ready, small_model=small_model(config), skills=skills, **options)


def _door(console: "Console", url: str) -> str:
    """Where the console is, for whoever started the server."""
    from toolcrib.console import CONSOLE_PATH, entry_link

    at = f"{urljoin(url, CONSOLE_PATH)}"
    if not console.doorkeeper.links:
        return f"The console is at {at}; principals that have a role there sign in with their token."
    return f"The console opens once with {entry_link(at, console.doorkeeper.new_key())}"


@contextmanager
def _uncollected() -> Generator[None]:
    """Load what stays until the process ends without looking for garbage in it, now or later.

    The protocol's models alone are some hundred thousand objects; walking them again and again takes a sixth of
    the time until the first answer.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _parse_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535 or not _is_host(host):
        raise UsageError(f"{shown(text, 60)} is no address to serve at.", hint=_ADDRESS)
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


def _is_host(text: str) -> bool:
    """Whether a host is written as in a URL: an IPv6 address in brackets, anything else without."""
    return text.startswith("[") == text.endswith("]") == (":" in text)


def _waiting(config: Config, files: Sequence[Path]) -> str:
    """What to tell a person who started the server by hand."""
    from toolcrib.cli.begin import client_entry

    policy = config.settings.policy
    given = {"--read-only": policy.read_only, "--ask-all": policy.ask_all}
    switches = [name for name, is_set in given.items() if is_set]
    if config.settings.profile != "discover":
        switches += ["--profile", config.settings.profile]
    entry = json.dumps(client_entry(files, switches), ensure_ascii=False)
    return (
        f"Serving {_servers(config)}. This terminal now waits for an MCP client to speak; Ctrl-C ends it.\n"
        f"A client starts it by itself, from this entry of its configuration:\n{entry}"
    )


def _servers(config: Config) -> str:
    count = sum(not server.disabled for server in config.servers.values())
    return "1 server" if count == 1 else f"{count} servers"
