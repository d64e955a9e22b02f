"""A gateway over HTTP as it is run: how it ends, what a supervisor sees, metrics and traces."""

import logging
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from mcp import Client
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import Receive, Scope, Send

from toolcrib import Crib
from toolcrib.config import digest_of, new_token
from toolcrib.gateway import Gateway, serve_http
from toolcrib.gateway.listening import bound, serve_app
from toolcrib.gateway.tracing import Traces

pytestmark = pytest.mark.anyio

LIMIT = 20.0
ALICE = new_token()


@pytest.fixture
async def web() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient() as client:
        yield client


class Stopping:
    """A server over HTTP that is told to stop in the middle of a call.

    The tool `slow.wait` begins, and ends when `going` is set.
    """

    def __init__(self, drain: float) -> None:
        self.settings = {"http": {"drain_seconds": drain}}
        self.begun, self.going, self.stopped = anyio.Event(), anyio.Event(), anyio.Event()
        self.scope = anyio.CancelScope()
        self.url = ""

    async def wait(self) -> str:
        """Wait."""
        self.begun.set()
        await self.going.wait()
        return "done"

    async def serve(self, folder: Path, ready: anyio.Event) -> None:
        def on_ready(url: str) -> None:
            self.url = url
            ready.set()

        async with Crib.open({"mcpServers": {}, "toolcrib": self.settings}, state_dir=folder) as crib:
            crib.add_functions(self.wait, server="slow")
            with self.scope:
                await serve_http(Gateway(crib), port=0, on_ready=on_ready)
            self.stopped.set()


async def test_calls_under_way_end_and_new_ones_are_refused(
    talking: Any, tmp_path: Path, web: httpx2.AsyncClient
) -> None:
    server, ready = Stopping(10.0), anyio.Event()
    told: list[Any] = []

    async def call() -> None:
        told.append(await talking.call(web, server.url, "slow.wait"))

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, tmp_path, ready)
            await ready.wait()
            place = server.url.replace("/mcp", "")
            probes = [(await web.get(place + path)).status_code for path in ("/healthz", "/readyz")]
            tasks.start_soon(call)
            await server.begun.wait()
            server.scope.cancel()
            while (await web.get(f"{place}/readyz")).status_code == 200:
                await anyio.lowlevel.checkpoint()
            inner = {"name": "slow.wait", "arguments": {}}
            late = await talking.ask(web, server.url, "tools/call", name="call_tool", arguments=inner)
            listed = await talking.ask(web, server.url)  # with this a client checks the answer that it waits for
            probes += [(await web.get(place + path)).status_code for path in ("/healthz", "/readyz")]
            assert not server.stopped.is_set()
            server.going.set()
            await server.stopped.wait()

    assert probes == [200, 200, 200, 503]
    assert (late.status_code, late.headers["retry-after"]) == (503, "5")
    assert listed.status_code == 200
    assert talking.text_of(told[0]) == "done"


async def test_a_call_that_takes_too_long_is_given_up(talking: Any, tmp_path: Path, web: httpx2.AsyncClient) -> None:
    server, ready = Stopping(0.1), anyio.Event()
    answers: list[httpx2.Response] = []

    async def call() -> None:
        inner = {"name": "slow.wait", "arguments": {}}
        answers.append(await talking.ask(web, server.url, "tools/call", name="call_tool", arguments=inner))

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, tmp_path, ready)
            await ready.wait()
            tasks.start_soon(call)
            await server.begun.wait()
            server.scope.cancel()
            await server.stopped.wait()

    assert [each.status_code for each in answers] == [503]


@pytest.mark.parametrize("path", ["", "/all"])
async def test_subscriptions_are_answered_before_it_ends(tmp_path: Path, path: str) -> None:
    """By which the client knows that it may come back, and that nothing broke."""
    server, ready, over = Stopping(10.0), anyio.Event(), anyio.Event()

    async def listen() -> None:
        async with Client(server.url + path) as client, client.listen(tools_list_changed=True) as subscription:
            server.scope.cancel()
            assert [event async for event in subscription] == []  # `SubscriptionLost` where it was only cut off
        over.set()

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, tmp_path, ready)
            await ready.wait()
            tasks.start_soon(listen)
            await over.wait()
            await server.stopped.wait()


async def test_clients_that_read_nothing_hold_up_no_end_and_are_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    begun, ready, ended = anyio.Event(), anyio.Event(), anyio.Event()
    scope = anyio.CancelScope()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for kind in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{kind}.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(20):
            await send({"type": "http.response.body", "body": bytes(32_000_000), "more_body": True})
            begun.set()  # more than the system takes, so that the next one waits

    async def serve(listener: socket.socket) -> None:
        with scope:
            await serve_app(endless, listener, ready.set)
        ended.set()

    with anyio.fail_after(LIMIT), bound("127.0.0.1", 0) as listener:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve, listener)
            await ready.wait()
            async with await anyio.connect_tcp(*listener.getsockname()) as client:
                await client.send(b"GET / HTTP/1.1\r\nhost: here\r\n\r\n")
                await begun.wait()
                scope.cancel()
                await ended.wait()

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def ping() -> str:
    """Answer."""
    return "pong"


def fail() -> str:
    """Fail."""
    raise ValueError("no")


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Crib]:
    """A crib with functions, and a token of alice's if `http` has one."""

    def make(**http: Any) -> Crib:
        crib = Crib.open({"mcpServers": {}, "toolcrib": {"http": http}}, state_dir=tmp_path)
        crib.add_functions(ping, fail, server="notes")
        return crib

    return make


def figures(text: str) -> dict[tuple[str, ...], float]:
    """Each figure by its name and the values of its labels, which stand in the order of their names."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_metrics_count_requests_by_server_and_ending(
    talking: Any, opened: Any, over_http: Any, web: httpx2.AsyncClient
) -> None:
    with anyio.fail_after(LIMIT):
        async with opened() as crib, over_http(Gateway(crib)) as url:
            for name in ("notes.ping", "notes.ping", "notes.fail", "notes.nobody", "secret-of-a-client"):
                await talking.call(web, url, name)
            await talking.ask(web, url, "tools/call", name="search_tools", arguments={"query": "ping"})
            answer = await web.get(url.replace("/mcp", "/metrics"))

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    seen = figures(answer.text)
    assert seen["toolcrib_requests_total", "result", "notes"] == 2
    assert seen["toolcrib_requests_total", "tool_error", "notes"] == 1
    assert seen["toolcrib_requests_total", "tool_unknown", "none"] == 2
    assert seen["toolcrib_request_seconds_count", "notes"] == 3
    assert seen["toolcrib_requests_under_way",] == 0
    assert seen["toolcrib_search_seconds_count",] == 1
    assert seen["toolcrib_http_responses_total", "200"] == 6
    assert seen["toolcrib_http_requests_open",] == 1  # the one that asks
    assert "secret-of-a-client" not in answer.text


@pytest.mark.parametrize(
    ("setting", "headers", "status"),
    [
        ("local", {}, 200),
        ("local", {"x-forwarded-for": "192.0.2.7"}, 403),
        ("local", {"forwarded": "for=192.0.2.7"}, 403),
        ("local", {"via": "1.1 proxy"}, 403),
        ("local", {"x-real-ip": "192.0.2.7"}, 403),
        ("local", {"host": "tools.example"}, 403),  # a proxy that says nothing but the name that it was asked for
        ("local", {"host": "LOCALHOST:80"}, 200),
        ("local", {"host": "[::1]:80"}, 200),
        ("token", {}, 401),
        ("token", {"authorization": f"Bearer {ALICE}"}, 200),
        ("open", {"x-forwarded-for": "192.0.2.7"}, 200),
        ("off", {"authorization": f"Bearer {ALICE}"}, 404),
        ("open", {"host": "evil.example"}, 421),
    ],
    ids=lambda each: str(each).replace(ALICE, "ALICE"),
)
async def test_metrics_are_for_those_who_are_configured(
    opened: Any, over_http: Any, web: httpx2.AsyncClient, setting: str, headers: dict[str, str], status: int
) -> None:
    tokens = [{"name": "a", "principal": "alice", "sha256": digest_of(ALICE)}]
    options = {"allowed_hosts": ["tools.example"]}
    with anyio.fail_after(LIMIT):
        async with opened(tokens=tokens, metrics=setting) as crib, over_http(Gateway(crib), **options) as url:
            answer = await web.get(url.replace("/mcp", "/metrics"), headers=headers)

    assert answer.status_code == status


async def test_metrics_are_for_nobody_while_the_tokens_can_t_be_read(
    opened: Any, over_http: Any, web: httpx2.AsyncClient
) -> None:
    tokens = [{"name": "a", "principal": "alice", "sha256": digest_of(ALICE)}]
    with anyio.fail_after(LIMIT):
        async with opened(tokens=tokens, metrics="token") as crib, over_http(Gateway(crib)) as url:
            crib.tokens.file.parent.mkdir(parents=True, exist_ok=True)
            crib.tokens.file.write_text("{}")
            answer = await web.get(url.replace("/mcp", "/metrics"), headers={"authorization": f"Bearer {ALICE}"})

    assert answer.status_code == 503


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def traces(spans: InMemorySpanExporter) -> Traces:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return Traces(provider.get_tracer("test"))


TRACE = "0af7651916cd43dd8448eb211c80319c"  # the example of W3C Trace Context, 3.2
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.mark.parametrize("place", ["meta", "headers"])
async def test_a_request_is_a_span_in_the_trace_of_whoever_asks(
    talking: Any, opened: Any, over_http: Any, web: httpx2.AsyncClient, traces: Traces, spans: Any, place: str
) -> None:
    with anyio.fail_after(LIMIT):
        async with opened() as crib, over_http(Gateway(crib)) as url:
            crib.observers.append(traces)
            await talking.call(web, url, "notes.ping", **{place: {"traceparent": PARENT}})
            await talking.call(web, url, "notes.nobody", **{place: {"traceparent": PARENT}})

    done, failed = spans.get_finished_spans()
    assert {format(each.context.trace_id, "032x") for each in (done, failed)} == {TRACE}
    assert done.name == "tools/call notes.ping"
    assert dict(done.attributes) == {
        "toolcrib.server": "notes",
        "toolcrib.tool": "notes.ping",
        "toolcrib.effect": "unknown",
        "toolcrib.outcome": "result",
    }
    assert failed.name == "tools/call"
    assert dict(failed.attributes) == {"toolcrib.outcome": "tool_unknown", "error.type": "tool_unknown"}


async def test_a_server_is_told_the_span_that_its_request_belongs_to(
    talking: Any, tmp_path: Path, over_http: Any, web: httpx2.AsyncClient, traces: Traces, spans: Any
) -> None:
    told: list[str] = []

    async def note(ctx: Any, call_next: Any) -> Any:
        if ctx.method == "tools/call":
            told.append(ctx.params["_meta"]["traceparent"])
        return await call_next(ctx)

    with anyio.fail_after(LIMIT):
        async with Crib.from_clients({}, state_dir=tmp_path / "behind") as behind:
            behind.add_functions(ping)
            upstream = Gateway(behind)
            upstream.server.middleware.append(note)
            async with over_http(upstream) as upstream_url:
                up = {"url": upstream_url, "toolcrib": {"effects": {"*": "read"}}}
                async with Crib.open({"mcpServers": {"up": up}}, state_dir=tmp_path) as crib:
                    crib.observers.append(traces)
                    async with over_http(Gateway(crib)) as url:
                        arguments = {"name": "local.ping"}
                        await talking.call(web, url, "up.call_tool", arguments, meta={"traceparent": PARENT})

    (span,) = spans.get_finished_spans()
    assert told[0].split("-")[1:3] == [TRACE, format(span.context.span_id, "016x")]
