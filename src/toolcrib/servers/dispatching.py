"""The SDK's dispatcher, kept from doing work for messages that nobody asked for."""

from collections.abc import Callable, Mapping
from typing import Any

import anyio
from mcp.shared.dispatcher import coerce_request_id, run_notify_intercept
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher, progress_token_from_params
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCNotification

from toolcrib.servers.progress import Progress

OnHeard = Callable[[str, Mapping[str, Any]], None]
"""Told of a notification, by its method and params."""

HEARD = frozenset(
    {
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/updated",
    }
)
"""What is listened to. The rest is dropped unread: a server may send as much of it as it likes."""


class WatchedDispatcher(JSONRPCDispatcher[TransportContext]):
    """The SDK's dispatcher, which also tells when its connection has ended.

    It starts two tasks for each notification and reads each into a model: a server that reports progress without
    pause would keep the event loop, and with it every other call, busy for as long as it likes. Here a
    notification costs its parsing, and progress is handed on by `Progress` at its own rate.

    Args:
        read: From the transport.
        write: To the transport.
        on_heard: See `HEARD`.
    """

    def __init__(self, read: Any, write: Any, on_heard: OnHeard) -> None:
        super().__init__(read, write)
        self.ended = anyio.Event()
        self._on_heard = on_heard

    def _fan_out_closed(self) -> None:
        # Before the waiters wake, so that each can tell this end from an error that the server sent.
        self.ended.set()
        super()._fan_out_closed()

    def _dispatch_notification(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, msg: JSONRPCNotification, *others: Any
    ) -> None:
        if msg.method == "notifications/progress":
            self._take_progress(msg.params or {}, others[-1])
        elif msg.method == "notifications/cancelled":
            super()._dispatch_notification(msg, *others)
        elif not run_notify_intercept(self._on_notify_intercept, msg.method, msg.params) and msg.method in HEARD:
            self._on_heard(msg.method, msg.params or {})

    def _take_progress(self, params: Mapping[str, Any], sender_context: Any) -> None:
        token, done = progress_token_from_params({"_meta": params}), _number(params.get("progress"))
        if token is None or done is None:
            return
        pending = self._pending.get(coerce_request_id(token))
        progress = None if pending is None else pending.on_progress
        if not isinstance(progress, Progress):
            return
        message = params.get("message")
        text = message if isinstance(message, str) else None
        if progress.take(done, _number(params.get("total")), text):
            self._spawn(progress.hand_on, sender_ctx=sender_context)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
