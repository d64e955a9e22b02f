"""Answers that stay open: which requests get one, and how it is ended from outside."""

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send


def is_stream(scope: Scope) -> bool:
    """Whether a request opens a stream that stays open: by GET in the handshake era, else a subscription."""
    return scope["method"] == "GET" or is_subscription(scope)


def is_subscription(scope: Scope) -> bool:
    """Whether a request subscribes (specification 2026-07-28, `subscriptions/listen`): it is answered at the end."""
    return (b"mcp-method", b"subscriptions/listen") in scope["headers"]


async def until_cut(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, cut: anyio.CancelScope, otherwise: ASGIApp
) -> None:
    """Let an application answer until it is cut off.

    Args:
        app: The application.
        scope: The request.
        receive: Its body.
        send: Takes the answer; one that was begun is ended where it stands.
        cut: Cancelled to cut it off; not yet entered.
        otherwise: Answers a request that was cut off before there was an answer, or a page while it is being made.
    """
    begun = unfinished = False

    async def watched(message: Message) -> None:
        nonlocal begun, unfinished
        begun = True
        unfinished = message["type"] == "http.response.start" or message.get("more_body", False)
        await send(message)

    with cut:
        await app(scope, receive, watched)
    if cut.cancelled_caught and not begun:
        await otherwise(scope, receive, send)
    elif cut.cancelled_caught and unfinished:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
