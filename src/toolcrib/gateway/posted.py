"""Posts to the gateway that can't be read, answered in its own words."""

import json
from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.gateway.unread import posted_refusal

_REFUSED = 400
_OF_BODY = (b"content-type", b"content-length")


class Posted:
    """An ASGI application in which the SDK's refusal of a message that can't be read is put into other words.

    The SDK would tell the text and the code of its parser, and of a request with a usable id not whose answer it is.
    Only what was refused is looked at: nothing else costs more than it did.

    Args:
        app: The application.
        paths: Where MCP is served.
    """

    def __init__(self, app: ASGIApp, paths: Collection[str]) -> None:
        self._app = app
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, and look at its refusal."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in self._paths:
            await self._app(scope, receive, send)
            return
        refused: Message | None = None
        parts: list[bytes] = []

        async def kept() -> Message:
            message = await receive()
            parts.append(message.get("body", b""))
            return message

        async def worded(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start" and message["status"] == _REFUSED:
                refused = message
                return
            if refused is None:
                parts.clear()
                await send(message)
                return
            start, refused = refused, None
            answer = posted_refusal(b"".join(parts))
            if answer is None:
                await send(start)
                await send(message)
                return
            body = json.dumps(answer).encode()
            headers = [(name, value) for name, value in start["headers"] if name.lower() not in _OF_BODY]
            headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await send({**start, "headers": headers})
            await send({"type": "http.response.body", "body": body})

        await self._app(scope, kept, worded)
