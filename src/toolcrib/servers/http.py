"""The HTTP transports: Streamable HTTP, and the older HTTP with server-sent events."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.request import getproxies

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from toolcrib.catalog.definitions import to_line
from toolcrib.config import ResolvedServer
from toolcrib.servers.auth import Standing
from toolcrib.servers.plain import PlainTransport
from toolcrib.servers.posting import Posts

MAX_EVENT = 128 * 1024 * 1024
"""Bytes of one message. The SDK's own bound is 1 MiB; real servers answer 6 MB."""

_CONNECT_SECONDS = 10.0
_READ_SECONDS = 300.0
"""A server may hold a stream open for as long as a request takes; the request's own limit is the broker's."""


@dataclass(slots=True)
class HttpNotes:
    """What HTTP itself said, which the SDK's transports keep to themselves.

    Attributes:
        status: Status code of the last response to a message; an event stream of its own is none.
        post_failure: The exception that a POST of the older transport ended with.
        post_failed: Set with it.
    """

    status: int | None = None
    post_failure: Exception | None = None
    post_failed: anyio.Event = field(default_factory=anyio.Event)


class _NotingClient(httpx2.AsyncClient):
    """A client that notes how its requests end, and can send every JSON text."""

    def __init__(self, notes: HttpNotes, standing: Standing, **options: Any) -> None:
        super().__init__(**options)
        self._notes = notes
        self._standing = standing
        self._parsed: dict[str, httpx2.URL] = {}

    def build_request(
        self, method: str, url: httpx2.URL | str, *, json: Any | None = None, **options: Any
    ) -> httpx2.Request:
        """Build a request; the base class fails at lone surrogates, and the whole connection with it."""
        if json is None:
            return super().build_request(method, url, **options)
        line = to_line(json)
        given: Mapping[str, str] = options.pop("headers", None) or {}
        headers = {**given, "content-type": "application/json"}
        if options or self.cookies or not isinstance(url, str):
            return super().build_request(method, url, content=line, headers=headers, **options)
        # The base class parses the address and merges all headers anew with each message, three times over.
        parsed = self._parsed.get(url)
        if parsed is None:
            parsed = self._parsed[url] = httpx2.URL(url)
        own = {name.lower().encode(): value.encode() for name, value in headers.items()}
        merged = [each for each in self.headers.raw if each[0].lower() not in own]
        if not any(name.lower() == b"host" for name, _ in merged):
            merged.insert(0, (b"Host", parsed.netloc))
        merged += [*own.items(), (b"Content-Length", str(len(line)).encode())]
        extensions = {"timeout": self.timeout.as_dict()}
        return httpx2.Request(method, parsed, headers=merged, stream=httpx2.ByteStream(line), extensions=extensions)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; see the base class."""
        try:
            response = await super().send(request, **options)
        except httpx2.HTTPError as error:
            self._note_failure(request, error)
            raise
        if request.method == "POST":
            self._notes.status = response.status_code
        await self._standing.note(response)
        if response.is_error:
            reason = f"HTTP status {response.status_code}"
            self._note_failure(request, httpx2.HTTPStatusError(reason, request=request, response=response))
        return response

    def _note_failure(self, request: httpx2.Request, error: Exception) -> None:
        if request.method == "POST":
            self._notes.post_failure = error
            self._notes.post_failed.set()


@asynccontextmanager
async def http_transport(
    resolved: ResolvedServer, standing: Standing
) -> AsyncGenerator[tuple[Any, Any, HttpNotes, Posts | None]]:
    """Open the streams to an HTTP server; over Streamable HTTP, also what posts without them.

    Args:
        resolved: Where it is.
        standing: Its login, whose token goes into every request.

    Raises:
        ExceptionGroup: Around the exception of the request that failed, on leaving at the latest.
        httpx2.HTTPError: The older transport can't connect; Streamable HTTP tells with the first request.
    """
    assert resolved.url is not None
    notes = HttpNotes()
    headers = dict(resolved.headers)
    auth = standing.auth_for(resolved)
    if resolved.transport == "sse":

        def make_client(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            return _NotingClient(notes, standing, headers=headers, timeout=timeout, auth=auth)

        async with (
            sse_client(
                resolved.url,
                headers,
                timeout=_CONNECT_SECONDS,
                sse_read_timeout=_READ_SECONDS,
                auth=auth,
                httpx_client_factory=make_client,
            ) as (read, write),
            _ending_with_its_posts(notes),
        ):
            yield read, write, notes, None
        return
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS)
    async with (
        _NotingClient(notes, standing, headers=headers, timeout=timeout, auth=auth, mounts=_mounts()) as client,
        streamable_http_client(resolved.url, http_client=client, max_sse_event_size=MAX_EVENT) as (read, write),
        anyio.create_task_group() as tasks,
    ):
        yield read, write, notes, Posts(resolved.url, client, tasks, MAX_EVENT)


def _mounts() -> dict[str, httpx2.AsyncBaseTransport]:
    """The transports of a client besides its own: one for plain HTTP, unless requests may have to go by a proxy."""
    return {} if getproxies() else {"http://": PlainTransport()}


@asynccontextmanager
async def _ending_with_its_posts(notes: HttpNotes) -> AsyncGenerator[None]:
    """Leave the block with the exception of a failed POST.

    The SDK's older transport ends its writer there and says nothing, so that whoever waits for the answer
    would wait for good.
    """

    async def watch() -> None:
        await notes.post_failed.wait()
        assert notes.post_failure is not None
        raise notes.post_failure

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        yield
        tasks.cancel_scope.cancel()
