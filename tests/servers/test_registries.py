"""Registries: the MCP registry API over real HTTP, documents on disk in every form, and what entries come of them.

The shapes are those of the registry's own documents: generic-registry-api (v0.1), the `/v0` API before it, and
server.json of 2025-07-09 (snake_case) and 2025-12-11 (camelCase).
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest

from toolcrib.servers.registries import open_registries
from toolcrib.servers.registries.api import ApiRegistry
from toolcrib.servers.registries.document import OFFICIAL_META

pytestmark = pytest.mark.anyio

ENTRIES: dict[str, Any] = json.loads((Path(__file__).parent / "registry_entries.json").read_text())
WEATHER, OLD = ENTRIES["weather"], ENTRIES["old"]
"""One as documents are now, and one as of July 2025."""


def listed(server: dict[str, Any], status: str = "active", **more: Any) -> dict[str, Any]:
    return {"server": server, "_meta": {OFFICIAL_META: {"status": status, "isLatest": True, **more}}}


Answer = Callable[[BaseHTTPRequestHandler, dict[str, str]], None]


class Fake:
    """A registry over HTTP on the loopback address.

    Attributes:
        asked: The queries that came, in order.
    """

    def __init__(self, answer: Answer) -> None:
        self.asked: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answer = answer
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                fake.asked.append(query)
                fake.paths.append(parts.path)
                fake.answer(self, query)

            def log_message(self, *args: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


def send(handler: BaseHTTPRequestHandler, value: Any, status: int = 200) -> None:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def serving(answer: Answer) -> Iterator[Fake]:
    fake = Fake(answer)
    thread = threading.Thread(target=lambda: fake.server.serve_forever(poll_interval=0.01))
    thread.start()
    try:
        yield fake
    finally:
        fake.server.shutdown()
        fake.server.server_close()
        thread.join()


def pages(*entries: list[Any]) -> Answer:
    def answer(handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        number = int(query.get("cursor", "0"))
        following = {"nextCursor": str(number + 1)} if number + 1 < len(entries) else {}
        send(handler, {"servers": entries[number], "metadata": {"count": len(entries[number]), **following}})

    return answer


def names(listing: Any) -> list[str]:
    return [each.name for each in listing.servers]


async def test_all_pages_are_read_deleted_servers_dropped_and_deprecated_ones_marked(tmp_path: Path) -> None:
    gone = listed({**WEATHER, "name": "com.example/gone"}, "deleted")
    tired = listed({**WEATHER, "name": "com.example/tired"}, "deprecated")
    with serving(pages([listed(WEATHER), gone], [tired])) as fake:
        listing = await ApiRegistry(fake.url, tmp_path).read()
    assert names(listing) == ["com.example/weather", "com.example/tired"]
    assert [each.status for each in listing.servers] == ["active", "deprecated"]
    assert listing.problem == ""
    assert fake.paths == ["/v0.1/servers", "/v0.1/servers"]
    assert fake.asked == [{"limit": "100", "version": "latest"}, {"limit": "100", "version": "latest", "cursor": "1"}]


async def test_the_older_api_is_understood_under_its_own_prefix(tmp_path: Path) -> None:
    def answer(handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        following = {} if "cursor" in query else {"next_cursor": "b"}
        server = OLD if "cursor" in query else {**WEATHER, "status": "deprecated"}
        send(handler, {"servers": [server], "metadata": following})

    with serving(answer) as fake:
        listing = await ApiRegistry(f"{fake.url}/v0/", tmp_path).read()
    assert fake.paths[0] == "/v0/servers"
    assert [(each.name, each.version, each.status) for each in listing.servers] == [
        ("com.example/weather", "1.2.0", "deprecated"),
        ("io.github.someone/old-notes", "0.3.1", "active"),
    ]


async def test_of_several_versions_the_latest_counts(tmp_path: Path) -> None:
    versions = [
        listed({**WEATHER, "version": "2.0.0"}, publishedAt="2026-02-01T00:00:00Z"),
        listed({**WEATHER, "version": "1.0.0"}, isLatest=False, publishedAt="2026-03-01T00:00:00Z"),
    ]
    with serving(pages(versions)) as fake:
        listing = await ApiRegistry(fake.url, tmp_path).read()
    assert [each.version for each in listing.servers] == ["2.0.0"]


async def test_an_answer_is_kept_for_an_hour_on_disk(tmp_path: Path) -> None:
    with serving(pages([listed(WEATHER)])) as fake:
        assert names(await ApiRegistry(fake.url, tmp_path).read()) == ["com.example/weather"]
        assert names(await ApiRegistry(fake.url, tmp_path).read()) == ["com.example/weather"]
        assert len(fake.asked) == 1
        [file] = tmp_path.iterdir()
        stored = json.loads(file.read_text())
        file.write_text(json.dumps({**stored, "read_at": stored["read_at"] - 3_601}))
        await ApiRegistry(fake.url, tmp_path).read()
        assert len(fake.asked) == 2


async def test_what_it_held_before_is_used_while_it_fails_and_it_is_not_asked_at_once_again(tmp_path: Path) -> None:
    with serving(pages([listed(WEATHER)])) as fake:
        await ApiRegistry(fake.url, tmp_path).read()
        [file] = tmp_path.iterdir()
        file.write_text(json.dumps({**json.loads(file.read_text()), "read_at": 0}))
        fake.answer = lambda handler, query: send(handler, {"error": "down"}, 500)
        registry = ApiRegistry(fake.url, tmp_path)
        listing = await registry.read()
        assert names(listing) == ["com.example/weather"]
        assert "HTTP status 500" in listing.problem
        assert "before is used" in listing.problem
        await registry.read()
        assert len(fake.asked) == 2


def second_page_fails(handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
    if "cursor" in query:
        send(handler, b"oops", 502)
    else:
        send(handler, {"servers": [listed(WEATHER)], "metadata": {"nextCursor": "x"}})


def circle(handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
    send(handler, {"servers": [listed(WEATHER)], "metadata": {"nextCursor": "same"}})


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (second_page_fails, "HTTP status 502"),
        (circle, "round in a circle"),
        (lambda handler, query: send(handler, b"<html>"), "no JSON"),
        (lambda handler, query: send(handler, [1]), "no list of servers"),
        (lambda handler, query: send(handler, {"servers": None}), "no list of servers"),
        (lambda handler, query: send(handler, b"[" * 100_000), "no JSON"),
        (lambda handler, query: send(handler, b" " * (17 * 1024 * 1024)), "larger than 16 MiB"),
    ],
    ids=["500", "circle", "html", "list", "null", "deep", "huge"],
)
async def test_a_registry_that_fails_says_why_and_raises_nothing(answer: Answer, problem: str, tmp_path: Path) -> None:
    with serving(answer) as fake:
        listing = await ApiRegistry(fake.url, tmp_path).read()
    assert problem in listing.problem
    assert not list(tmp_path.iterdir())
    if answer is second_page_fails:
        assert names(listing) == ["com.example/weather"]


async def test_a_registry_that_never_answers_is_given_up(tmp_path: Path) -> None:
    ended = threading.Event()

    def answer(handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        ended.wait(60)

    with serving(answer) as fake, anyio.fail_after(20):
        try:
            listing = await ApiRegistry(fake.url, tmp_path, patience=0.1).read()
        finally:
            ended.set()
    assert "within 0.1 s" in listing.problem


async def test_a_registry_that_is_not_there_shows_no_password(tmp_path: Path) -> None:
    listing = await ApiRegistry("http://user:sesame@127.0.0.1:9/r?key=sesame", tmp_path).read()
    assert "127.0.0.1:9" in listing.problem
    assert "sesame" not in listing.problem


async def test_entries_that_are_none_cost_only_themselves(tmp_path: Path) -> None:
    odd = [None, 7, [], {}, {"server": None}, {"server": {"name": ""}}, {"server": {"name": "a b"}}, {"name": 5}]
    with serving(pages([*odd, listed(WEATHER)])) as fake:
        listing = await ApiRegistry(fake.url, tmp_path).read()
    assert names(listing) == ["com.example/weather"]


async def test_a_folder_holds_documents_in_every_form(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(WEATHER))
    (tmp_path / "b.json").write_text(json.dumps([OLD]))
    (tmp_path / "c").mkdir()
    answer = {"servers": [listed({**WEATHER, "name": "com.example/c"}), listed(WEATHER, "deleted")]}
    (tmp_path / "c" / "server.json").write_text(json.dumps(answer))
    (tmp_path / "d.json").write_text("{")
    (tmp_path / "readme.txt").write_text("no document")
    [registry] = open_registries([str(tmp_path)], tmp_path)
    listing = await registry.read()
    assert names(listing) == ["com.example/weather", "io.github.someone/old-notes", "com.example/c"]
    assert "d.json" in listing.problem


async def test_a_path_that_is_not_there_is_that_registrys_problem(tmp_path: Path) -> None:
    [registry] = open_registries([str(tmp_path / "nothing.json")], tmp_path)
    listing = await registry.read()
    assert listing.servers == ()
    assert "nothing.json" in listing.problem
