"""The gateway over standard input and output."""

from collections.abc import Sequence
from typing import Any, cast

import anyio
from mcp.server.stdio import stdio_server

from toolcrib.crib import ConfigLike, Crib
from toolcrib.gateway.gateway import Gateway
from toolcrib.gateway.pipes import standard_streams
from toolcrib.gateway.signals import on_stop_signal
from toolcrib.gateway.skills import use_skills
from toolcrib.gateway.tracing import traced
from toolcrib.gateway.unread import Readable
from toolcrib.smallmodel import SmallModel


async def serve_stdio(gateway: Gateway) -> None:
    """Serve one client on standard input and output, until the input ends or the client is gone.

    Raises:
        UsageError: The process has no standard input or output.
    """
    with standard_streams() as (lines, writer):
        try:
            readable = Readable(lines, writer.write)
            async with stdio_server(cast("Any", readable), cast("Any", writer)) as (read, write):
                await gateway.server.run(read, write, gateway.server.create_initialization_options())
        except* OSError:
            pass  # nobody reads any more: the client ended without closing its side first


def run_stdio(config: ConfigLike = None, *, small_model: SmallModel | None = None, skills: Sequence[str] = ()) -> None:
    """Serve a configuration on standard input and output, until the input ends or a signal says stop.

    All server processes are ended before it returns.

    Args:
        config: As for `Crib.open`.
        small_model: As for `Crib.open`.
        skills: Skills that are used from the start; see `Crib.use_skill`.

    Raises:
        ConfigError: The configuration can't be used as a whole.
        UsageError: The process has no standard input or output, or a skill can't be used.
    """
    anyio.run(_run, Crib.open(config, small_model=small_model), skills)  # see `run_http`


async def _run(crib: Crib, skills: Sequence[str]) -> None:
    with anyio.CancelScope() as scope, on_stop_signal(scope.cancel):
        async with crib:
            use_skills(crib, skills)
            with traced(crib):
                await serve_stdio(Gateway(crib))
