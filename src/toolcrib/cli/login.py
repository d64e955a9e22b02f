"""`toolcrib servers login` and `logout`: what a person does so that a server lets Toolcrib in."""

import asyncio
import os
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Annotated, TypeVar

import anyio
import typer

from toolcrib.cli import completing
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.progress import list_anew
from toolcrib.cli.session import open_crib, read_config, run
from toolcrib.cli.streams import print_json, print_text, tell, warn
from toolcrib.cli.tables import print_styled
from toolcrib.cli.troubles import FAILED
from toolcrib.config import Config
from toolcrib.schema import UnknownServerError, server_ids

_MOST_BYTES = 65_536

_Result = TypeVar("_Result")

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The server, by its id or its key.", show_default=False, autocompletion=completing.servers
    ),
]


def login(
    name: Name,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and read the one that the browser ends at.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", metavar="N", min=1, max=65_535, help="The port that the browser returns to.", show_default=False
        ),
    ] = None,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Log in to an HTTP server, and list its tools.

    The browser opens the page of the server's authorization server, and returns to a port of this machine. Where it
    can't, as on a machine without one, the address that it ends at is pasted here. What is granted is kept in the
    system's keyring, or where there is none in a file that only you can read.

    Example: toolcrib servers login tracker
    """
    return run(partial(_login, read_config(config), name, browser=not no_browser, port=port, as_json=as_json))


def logout(name: Name, config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """Forget the login to an HTTP server.

    Example: toolcrib servers logout tracker
    """
    return run(partial(_logout, read_config(config), name, as_json=as_json))


async def _login(config: Config, name: str, *, browser: bool, port: int | None, as_json: bool) -> int:
    from toolcrib.servers.auth.login import Person

    server = _remote(config, name)
    opens = browser and _has_browser()
    typed = not opens or _is_typed()
    person = Person(partial(_show, server, opens=opens), _Lines().next if typed else None, warn)
    async with open_crib(config, lists=True) as crib:
        done = await crib.log_in(server, person, port=port)
        status = (await list_anew(crib, [server]))[0]
    if as_json:
        print_json({"issuer": done.issuer, "scope": done.scope, "kept_in": done.place, "server": status.to_json()})
    else:
        kept = "the system's keyring" if done.place == "keyring" else "a file that only you can read"
        print_text(f"Logged in to {server} at {done.issuer}; kept in {kept}.")
        if status.in_trouble:
            print_styled((status.reason, "red"))
        elif status.state != "disabled":
            print_text(f"It lists {status.tools} tools.")
    return FAILED if status.in_trouble else 0


async def _logout(config: Config, name: str, *, as_json: bool) -> int:
    server = _remote(config, name)
    async with open_crib(config) as crib:
        existed = await crib.log_out(server)
    if as_json:
        print_json({"server": server, "existed": existed})
    else:
        print_text(f"The login to {server} is forgotten." if existed else f"There was no login to {server}.")
    return 0


def _remote(config: Config, name: str) -> str:
    """The id of a configured server.

    Raises:
        UsageError: There is none of that name.
    """
    ids = server_ids(config.servers)
    for key, server_id in ids.items():
        if name in {key, server_id}:
            return server_id
    remote = [ids[key] for key, entry in config.servers.items() if entry.url is not None]
    raise UnknownServerError(name, remote, listed="HTTP servers")


def _has_browser() -> bool:
    """Whether this machine can show a page: on Linux those of a terminal don't count, for logins need scripts."""
    if os.environ.get("BROWSER") or sys.platform in {"win32", "darwin"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _is_typed() -> bool:
    return os.isatty(0)


async def _show(server: str, url: str, *, opens: bool) -> None:
    if opens and await _beside(partial(webbrowser.open, url)):
        tell(f"Log in to {server} in the browser. If none has opened, open:\n{url}")
    else:
        tell(f"To log in to {server}, open this address in a browser:\n{url}")
    if not opens or _is_typed():
        tell("If the browser can't return to this machine, paste the address that it ends at:")


class _Lines:
    """The lines of standard input, one after the other as they come; after the last one nothing, for ever.

    They are read with the system's own call: a thread that waits inside one of Python's files at the end of the
    program would break it.
    """

    def __init__(self) -> None:
        self._rest = b""

    async def next(self) -> str:
        """The next line."""

        def read() -> None:
            with suppress(OSError):
                while b"\n" not in self._rest and len(self._rest) < _MOST_BYTES and (chunk := os.read(0, 4096)):
                    self._rest += chunk

        await _beside(read)
        if not self._rest:
            await anyio.sleep_forever()
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")


async def _beside(function: Callable[[], _Result]) -> _Result:
    """What a function returns in a thread of its own, which the end of the program does not wait for."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_Result] = loop.create_future()

    def finish(result: _Result) -> None:
        if not done.done():
            done.set_result(result)

    def work() -> None:
        result = function()
        with suppress(RuntimeError):  # the program has ended meanwhile
            loop.call_soon_threadsafe(finish, result)

    threading.Thread(target=work, daemon=True).start()
    return await done
