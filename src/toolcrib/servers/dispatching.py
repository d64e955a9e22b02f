"""The SDK's dispatcher, kept from doing work for messages that nobody asked for."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.lowlevel
from mcp.shared._otel import inject_trace_context, otel_span
from mcp.shared.dispatcher import CallOptions, OnNotify, OnRequest, coerce_request_id, run_notify_intercept
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher, progress_token_from_params
from mcp.shared.transport_context import TransportContext
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR, ErrorData, JSONRPCNotification, JSONRPCRequest, RequestId
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from opentelemetry.trace import INVALID_SPAN, ProxyTracerProvider, Span, SpanKind, StatusCode, get_tracer_provider

from toolcrib.catalog import readable_report
from toolcrib.servers.logs import Logs
from toolcrib.servers.pages import DONE, Pages
from toolcrib.servers.progress import Progress

if TYPE_CHECKING:
    from toolcrib.servers.posting import Posted, Posts

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


_PLAIN_OPTIONS = frozenset({"headers", "on_progress", "cancel_on_abandon"})
"""Options of a request that is one POST and nothing more."""


@dataclass(slots=True)
class _Waiting:
    """A posted request among those that wait for an outcome; see `Posted`."""

    send: "Posted"
    on_progress: Progress | None


def deaf(method: str, params: Mapping[str, Any]) -> None:
    """Listen to nothing."""


class WatchedDispatcher(JSONRPCDispatcher[TransportContext]):
    """The SDK's dispatcher, which also tells when its connection has ended.

    It starts two tasks for each notification and reads each into a model: a server that reports progress without
    pause would keep the event loop, and with it every other call, busy for as long as it likes. Here a
    notification costs its parsing, and progress is handed on by `Progress` at its own rate.

    Args:
        read: From the transport.
        write: To the transport.
        on_heard: See `HEARD`.
        posts: Does the POSTs of a connection over Streamable HTTP; None for others.
    """

    def __init__(self, read: Any, write: Any, on_heard: OnHeard, posts: "Posts | None" = None) -> None:
        super().__init__(read, write)
        self.ended = anyio.Event()
        self.logs = Logs()
        self.pages = Pages()
        self._on_heard = on_heard
        self._posts = posts
        self._handlers: tuple[OnRequest, OnNotify] | None = None

    async def run(self, on_request: OnRequest, on_notify: OnNotify, *others: Any, **options: Any) -> None:
        """Receive messages until the connection ends; see the base class."""
        self._handlers = (on_request, on_notify)
        await super().run(on_request, on_notify, *others, **options)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **options: Any
    ) -> dict[str, Any]:
        """Send a request and give its result; see the base class.

        Raises:
            MCPError: An error is the answer, or the connection is closed.
        """
        headers = (opts or {}).get("headers") or {}
        if (
            self._posts is None
            or self._closed
            or options
            or not (opts or {}).keys() <= _PLAIN_OPTIONS
            or headers.get(MCP_PROTOCOL_VERSION_HEADER) not in MODERN_PROTOCOL_VERSIONS
        ):
            return await super().send_raw_request(method, params, opts, **options)
        return await self._post(self._posts, method, dict(params or {}), headers, opts)

    async def _post(
        self, posts: "Posts", method: str, params: dict[str, Any], headers: Mapping[str, str], opts: CallOptions | None
    ) -> dict[str, Any]:
        from toolcrib.servers.posting import Posted

        number = self._allocate_id()
        while number in self._pending:
            number = self._allocate_id()
        meta = dict(params.get("_meta") or {})
        progress = (opts or {}).get("on_progress")
        if progress is not None:
            meta["progressToken"] = number
        posted = Posted(number, cast("Progress | None", progress), self._take)
        name = params.get("name")
        # What the base class tells whoever traces, it tells here too.
        with _span(method, name, number) if _is_traced() else nullcontext(INVALID_SPAN) as span:
            inject_trace_context(meta)
            params.pop("_meta", None)
            if meta:
                params["_meta"] = meta
            fields: dict[str, Any] = {"params": params} if params else {}
            request = JSONRPCRequest.model_construct(jsonrpc="2.0", id=number, method=method, **fields)
            outcome = await self._exchanged(posts, request, headers, posted)
            if isinstance(outcome, ErrorData):
                code = str(outcome.code)
                span.set_attributes({"error.type": code, "rpc.response.status_code": code})
                span.set_status(StatusCode.ERROR, outcome.message)
        if isinstance(outcome, ErrorData):
            raise MCPError(code=outcome.code, message=outcome.message, data=outcome.data)
        return outcome

    async def _exchanged(
        self, posts: "Posts", request: JSONRPCRequest, headers: Mapping[str, str], posted: "Posted"
    ) -> dict[str, Any] | ErrorData:
        """What became of a request; a POST that fails ends the connection."""
        await anyio.lowlevel.checkpoint_if_cancelled()
        self._pending[request.id] = cast("Any", _Waiting(posted, posted.on_progress))
        try:
            with posted.scope:
                try:
                    await posts.send(request, headers, posted)
                except Exception as error:
                    posts.fail(error)
                    await self.ended.wait()
        finally:
            self._pending.pop(request.id, None)
        if posted.outcome is not None:
            return posted.outcome
        if self.ended.is_set():
            return ErrorData(code=CONNECTION_CLOSED, message="Connection closed")
        return ErrorData(code=PARSE_ERROR, message="Failed to parse the answer: it is to another request")

    async def catch_up(self) -> None:
        """Hand on what was reported of all requests that are under way, before what the server asks now."""
        for pending in list(self._pending.values()):
            if isinstance(progress := pending.on_progress, Progress):
                await progress.reports.catch_up()

    async def _take(self, item: Any) -> None:
        """Take what came with an answer as if it had come by the stream of the connection."""
        assert self._handlers is not None
        await self._dispatch(item, *self._handlers, None)

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
        elif msg.method == "notifications/message":
            sender = others[-1]
            taker = self.logs.taker(msg.params or {}, sender)
            if taker is not None:
                self._spawn(taker.reports.hand_on, sender_ctx=sender)
        elif msg.method == DONE:
            tell = self.pages.done(msg.params or {})
            if tell is not None:
                self._spawn(tell, sender_ctx=others[-1])
        else:
            run_notify_intercept(self._on_notify_intercept, msg.method, msg.params)
            if msg.method in HEARD:  # of a subscription too: the SDK tells of those without what they say
                self._on_heard(msg.method, msg.params or {})

    def _take_progress(self, params: Mapping[str, Any], sender_context: Any) -> None:
        token, report = progress_token_from_params({"_meta": params}), readable_report(dict(params))
        if token is None or report is None:
            return
        pending = self._pending.get(coerce_request_id(token))
        progress = None if pending is None else pending.on_progress
        if isinstance(progress, Progress) and progress.take(report):
            self._spawn(progress.reports.hand_on, sender_ctx=sender_context)


def _is_traced() -> bool:
    """Whether spans go anywhere; those that do not only hand on the context in which they begin."""
    return not isinstance(get_tracer_provider(), ProxyTracerProvider)


def _span(method: str, name: object, number: RequestId) -> AbstractContextManager[Span]:
    return otel_span(
        f"MCP send {method}{f' {name}' if isinstance(name, str) else ''}",
        kind=SpanKind.CLIENT,
        attributes={"mcp.method.name": method, "jsonrpc.request.id": str(number)},
    )
