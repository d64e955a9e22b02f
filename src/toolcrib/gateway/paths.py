"""The profiles as paths of one HTTP application: each is a server of its own over the same crib."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.types import Lifespan

if TYPE_CHECKING:
    from toolcrib.config import Profile
    from toolcrib.gateway.gateway import Gateway

PATHS: "tuple[Profile, ...]" = ("all", "discover")
"""What is served below the path of the gateway itself, under its own name."""


def with_profiles(gateway: "Gateway", path: str, made: "Callable[[Gateway, str], Starlette]") -> Starlette:
    """An application that serves a gateway at a path, and each profile at a path below.

    Args:
        gateway: The gateway.
        path: Where it is served.
        made: Makes the application of one gateway at one path.
    """
    app = made(gateway, path)
    parts = [app, *(made(gateway.beside(profile), f"{path.rstrip('/')}/{profile}") for profile in PATHS)]
    known = {getattr(route, "path", None) for route in app.routes}
    for part in parts[1:]:
        app.router.routes += [route for route in part.routes if getattr(route, "path", None) not in known]
    app.router.lifespan_context = _together([part.router.lifespan_context for part in parts])
    return app


def _together(lifespans: "list[Lifespan[Any]]") -> "Lifespan[Any]":
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for each in lifespans:
                await stack.enter_async_context(each(app))
            yield

    return lifespan
