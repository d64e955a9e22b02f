"""Serving a vendor's double on loopback: answers in turn, and the requests that came."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from toolcrib.gateway.listening import bound, serve_app


@dataclass
class Refusal(Exception):
    """What an API answers in place of an answer."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Double:
    """A vendor's API on loopback.

    Attributes:
        check: Raises `Refusal` for a request that the API would refuse.
        script: The answers in turn, each the events of a stream, or a refusal; a function makes one of the request.
        bodies: The requests that came, accepted or not.
        url: Where it is served.
        asked: Set by the first request.
    """

    check: Callable[[dict[str, Any], dict[str, str]], None]
    script: list[Any] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    asked: anyio.Event = field(default_factory=anyio.Event)

    async def answer(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.bodies.append(body)
        self.asked.set()
        try:
            self.check(body, {name.lower(): value for name, value in request.headers.items()})
            step = self.script.pop(0)
            if callable(step):
                step = step(body)
            if isinstance(step, Refusal):
                raise step
            if isinstance(step, anyio.Event):
                await step.wait()  # an API that stays silent
                return Response(status_code=503)
        except Refusal as refusal:
            return JSONResponse(refusal.body, refusal.status, refusal.headers)
        return StreamingResponse(_sse(step), media_type="text/event-stream")


def _sse(events: Iterable[Any]) -> Iterator[bytes]:
    for event in events:
        if isinstance(event, bytes):
            yield event
            continue
        name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        text = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
        yield f"{name}data: {text}\n\n".encode()


@asynccontextmanager
async def served(double: Double, path: str) -> AsyncIterator[Double]:
    """Serve a double on a free port."""
    app = Starlette(routes=[Route(path, double.answer, methods=["POST"])])
    ready = anyio.Event()
    with bound("127.0.0.1", 0) as listener:
        double.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve_app, app, listener, ready.set)
            await ready.wait()
            try:
                yield double
            finally:
                tasks.cancel_scope.cancel()
