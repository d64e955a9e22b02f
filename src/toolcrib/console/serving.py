"""The console alone, on this machine."""

from collections.abc import Callable

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from toolcrib.console.mount import CONSOLE_PATH, Console
from toolcrib.crib import ConfigLike, Crib
from toolcrib.gateway import DEFAULT_HOST
from toolcrib.gateway.door import Door, DoorState, Rules
from toolcrib.gateway.listening import bound, serve_app
from toolcrib.gateway.signals import on_stop_signal
from toolcrib.smallmodel import SmallModel

_MOST_HEADER_BYTES = 32 * 1024
_GRACE_SECONDS = 1.0


def run_console(
    config: ConfigLike,
    port: int,
    *,
    on_ready: Callable[[str, str], None],
    small_model: SmallModel | None = None,
) -> None:
    """Serve the console of a configuration to this machine until a signal says stop.

    Args:
        config: As for `Crib.open`.
        port: The port; 0 takes any free one.
        on_ready: Told the console's URL, and the key of its first one-time link.
        small_model: As for `Crib.open`.

    Raises:
        ConfigError: The configuration can't be used as a whole.
        UsageError: The port can't be had.
    """
    crib = Crib.open(config, small_model=small_model)

    async def run() -> None:
        with anyio.CancelScope() as scope, on_stop_signal(scope.cancel):
            async with crib:
                await serve_console(crib, port, on_ready=on_ready)

    anyio.run(run)


async def serve_console(crib: Crib, port: int, *, on_ready: Callable[[str, str], None]) -> None:
    """Serve the console of an open crib to this machine until cancelled; see `run_console`."""
    console = Console(crib)
    state = DoorState()
    with bound(DEFAULT_HOST, port) as listener:
        url = f"http://{DEFAULT_HOST}:{listener.getsockname()[1]}{CONSOLE_PATH}"
        await serve_app(
            _app(console, state),
            listener,
            lambda: on_ready(url, console.doorkeeper.new_key()),
            state,
            _GRACE_SECONDS,
        )


def _app(console: Console, state: DoorState) -> Starlette:
    """The console at its path, to which the root leads, behind the gateway's door."""

    async def lead(request: Request) -> Response:
        return RedirectResponse(f"{CONSOLE_PATH}/")

    app = Starlette(routes=[Mount(CONSOLE_PATH, console), Route("/", lead)])
    hosts = [spelling for name in (DEFAULT_HOST, "localhost") for spelling in (name, f"{name}:*")]
    app.add_middleware(Door, rules=Rules(hosts, (), _MOST_HEADER_BYTES, _Nobody(), apart=(CONSOLE_PATH,)), state=state)
    return app


class _Nobody:
    """Tells of no tokens: whoever comes here is asked by the console."""

    def asks(self) -> bool:
        return False

    async def holder(self, token: str) -> None:
        return None

    def challenge(self, scope: object) -> dict[str, str]:
        return {}
