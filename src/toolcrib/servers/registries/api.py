"""A registry that speaks the MCP registry API, v0.1.

`GET /v0.1/servers` answers pages that a cursor leads through. The official registry promises no uptime and asks
to be read at most hourly (docs/registry/registry-aggregators), so what was read is kept for an hour, and longer
while the registry can't be read. Its own search looks for a part of a name only, so everything is read, and
searched here.
"""

import hashlib
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import httpx2

from toolcrib.catalog import JsonObject
from toolcrib.files import write_whole
from toolcrib.servers.registries.base import Listing, Registry, newest, shown_place
from toolcrib.servers.registries.document import ServerDescription, read_description

FRESH_SECONDS = 3_600
"""How long an answer counts as new."""

_RETRY_SECONDS = 60
_PAGE = 100
_MOST_PAGES = 1_000
_LARGEST_PAGE = 16 * 1024 * 1024
_LARGEST = 128 * 1024 * 1024
_LARGEST_FILE = 2 * _LARGEST
_FORMAT = 1


class ApiRegistry(Registry):
    """A registry over HTTP.

    Args:
        place: Its URL, with or without the version of the API at the end.
        folder: Where answers are kept.
        patience: Seconds that reading all pages may take.
    """

    def __init__(self, place: str, folder: Path, *, patience: float = 60.0) -> None:
        super().__init__(place)
        base = place.rstrip("/")
        self._url = f"{base if base.endswith(('/v0', '/v0.1')) else f'{base}/v0.1'}/servers"
        self._file = folder / f"{hashlib.sha256(self._url.encode()).hexdigest()[:24]}.json"
        self._patience = patience
        self._lock = anyio.Lock()
        self._known: Listing | None = None
        self._failed_at = float("-inf")

    async def read(self) -> Listing:
        """See `Registry.read`; of several readers at once, one asks the registry."""
        async with self._lock:
            known = self._known or await anyio.to_thread.run_sync(self._load)
            now = time.time()
            if known is not None and known.read_at is not None and 0 <= now - known.read_at < FRESH_SECONDS:
                self._known = known
            elif known is None or now - self._failed_at >= _RETRY_SECONDS:
                self._known = await self._renewed(known)
            return self._known or Listing(self.place)

    async def _renewed(self, known: Listing | None) -> Listing:
        """A new listing; when that fails, the one before, and else the pages that came."""
        pages = _Pages(self._url)
        problem = ""
        try:
            with anyio.fail_after(self._patience):
                await pages.read()
        except TimeoutError:
            problem = f"it did not answer in full within {self._patience:g} s"
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            problem = str(error) or type(error).__name__
        except ValueError as error:
            problem = str(error)
        if problem:
            self._failed_at = time.time()
            told = f"The registry {shown_place(self.place)} can't be read: {problem.rstrip('.')}."
            if known is not None and known.servers:
                return Listing(self.place, known.servers, known.read_at, f"{told} What it held before is used.")
            return Listing(self.place, self._understood(pages.items), None, told)
        fresh = Listing(self.place, self._understood(pages.items), time.time())
        with suppress(OSError):  # what can't be kept is read again
            await anyio.to_thread.run_sync(self._keep, fresh)
        return fresh

    def _understood(self, items: list[Any]) -> tuple[ServerDescription, ...]:
        return newest(each for item in items if (each := read_description(item, shown_place(self.place))) is not None)

    def _load(self) -> Listing | None:
        try:
            if self._file.stat().st_size > _LARGEST_FILE:
                return None
            kept: Any = json.loads(self._file.read_bytes())
            if kept["format"] != _FORMAT or kept["url"] != self._url:
                return None
            return Listing(self.place, self._understood(list(kept["servers"])), float(kept["read_at"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def _keep(self, listing: Listing) -> None:
        kept = {
            "format": _FORMAT,
            "url": self._url,
            "read_at": listing.read_at,
            "servers": [each.raw for each in listing.servers],
        }
        write_whole(self._file, [json.dumps(kept, separators=(",", ":")).encode()])


class _Pages:
    """The pages of one listing.

    Attributes:
        items: The entries that came so far.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._bytes = 0
        self.items: list[Any] = []

    async def read(self) -> None:
        """Read to the last page.

        Raises:
            httpx2.HTTPError: The registry can't be reached or refuses.
            ValueError: It answers with something else than pages that end.
        """
        seen: set[str] = set()
        cursor = ""
        async with httpx2.AsyncClient(timeout=20, follow_redirects=True) as client:
            for _ in range(_MOST_PAGES):
                page = await self._page(client, cursor)
                servers = page.get("servers")
                if not isinstance(servers, list):
                    raise ValueError("it answered with something that is no list of servers")
                self.items += cast("list[Any]", servers)
                cursor = _next_cursor(page)
                if not cursor:
                    return
                if cursor in seen:
                    raise ValueError("its pages go round in a circle")
                seen.add(cursor)
        raise ValueError(f"it has more than {_MOST_PAGES} pages")

    async def _page(self, client: httpx2.AsyncClient, cursor: str) -> JsonObject:
        query = {"limit": str(_PAGE), "version": "latest", **({"cursor": cursor} if cursor else {})}
        body = bytearray()
        async with client.stream("GET", self._url, params=query, headers={"accept": "application/json"}) as response:
            if response.status_code != 200:
                raise ValueError(f"it answered with HTTP status {response.status_code}")
            async for chunk in response.aiter_bytes():
                body += chunk
                self._bytes += len(chunk)
                if len(body) > _LARGEST_PAGE or self._bytes > _LARGEST:
                    raise ValueError(f"it is larger than {_LARGEST_PAGE >> 20} MiB a page or {_LARGEST >> 20} MiB")
        try:
            page = json.loads(bytes(body))
        except (ValueError, RecursionError):
            raise ValueError("it answered with something that is no JSON") from None
        if not isinstance(page, dict):
            raise ValueError("it answered with something that is no list of servers")
        return cast("JsonObject", page)


def _next_cursor(page: JsonObject) -> str:
    """The cursor of the next page; `next_cursor` is how the API before v0.1 called it."""
    metadata = page.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    members = cast("JsonObject", metadata)
    cursor = members.get("nextCursor", members.get("next_cursor"))
    return cursor if isinstance(cursor, str) else ""
