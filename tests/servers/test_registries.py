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

from toolcrib.config import Variables, config_from_mapping
from toolcrib.errors import UsageError
from toolcrib.servers.registries import ServerDescription, open_registries, propose
from toolcrib.servers.registries.api import ApiRegistry
from toolcrib.servers.registries.document import OFFICIAL_META, read_description

pytestmark = pytest.mark.anyio

WEATHER: dict[str, Any] = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    "name": "com.example/weather",
    "title": "Weather",
    "description": "Forecasts and warnings for any place.",
    "version": "1.2.0",
    "repository": {"url": "https://code.example/weather", "source": "github"},
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@example/weather-mcp",
            "version": "1.2.0",
            "runtimeHint": "npx",
            "transport": {"type": "stdio"},
            "packageArguments": [
                {"type": "positional", "valueHint": "place", "isRequired": True, "description": "The home town"},
                {"type": "named", "name": "--units", "value": "metric"},
                {"type": "named", "name": "--verbose", "format": "boolean", "default": "true"},
                {"type": "named", "name": "--proxy", "description": "Optional"},
            ],
            "environmentVariables": [
                {"name": "API_KEY", "isRequired": True, "isSecret": True, "description": "From your account"},
                {"name": "LOG_LEVEL", "default": "info"},
                {"name": "MODE", "value": "${env:HOME} {tier}", "variables": {"tier": {"default": "free"}}},
            ],
        }
    ],
    "remotes": [
        {
            "type": "streamable-http",
            "url": "https://{tenant}.weather.example/mcp",
            "variables": {"tenant": {"isRequired": True, "description": "Your tenant"}},
            "headers": [{"name": "X-API-Key", "isRequired": True, "isSecret": True}],
        }
    ],
}

OLD: dict[str, Any] = {
    "name": "io.github.someone/old-notes",
    "description": "Notes, described as of July 2025.",
    "version_detail": {"version": "0.3.1"},
    "packages": [
        {
            "registry_name": "pypi",
            "name": "old-notes",
            "version": "0.3.1",
            "runtime_hint": "uvx",
            "package_arguments": [{"type": "named", "name": "--dir", "value_hint": "folder", "is_required": True}],
            "environment_variables": [{"name": "NOTES_TOKEN", "is_required": True, "is_secret": True}],
        }
    ],
}


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
        ended.wait(10)

    with serving(answer) as fake, anyio.fail_after(5):
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


def described(value: dict[str, Any]) -> ServerDescription:
    found = read_description(value, "here")
    assert found is not None
    return found


def test_an_npm_package_becomes_npx_with_the_version_pinned() -> None:
    proposal = propose(described(WEATHER), "weather", "npm")
    assert proposal.entry == {
        "name": "com.example/weather",
        "version": "1.2.0",
        "command": "npx",
        "args": ["-y", "@example/weather-mcp@1.2.0", "${input:weather-place}", "--units", "metric", "--verbose"],
        "env": {"API_KEY": "${input:weather-API_KEY}", "MODE": "$${env:HOME} ${input:weather-tier}"},
    }
    assert proposal.command_line.startswith("npx -y @example/weather-mcp@1.2.0 ")
    assert [(each.name, each.variable, each.secret) for each in proposal.missing] == [
        ("place", "TOOLCRIB_INPUT_WEATHER_PLACE", False),
        ("API_KEY", "TOOLCRIB_INPUT_WEATHER_API_KEY", True),
    ]


def test_an_entry_with_its_inputs_resolves_to_what_the_document_says() -> None:
    proposal = propose(described(WEATHER), "weather", "npm")
    config = config_from_mapping({"mcpServers": {"weather": proposal.entry}, "inputs": list(proposal.inputs)})
    assert config.warnings == ()
    environ = {"TOOLCRIB_INPUT_WEATHER_PLACE": "Kyiv", "TOOLCRIB_INPUT_WEATHER_API_KEY": "k", "HOME": "/home/ada"}
    resolved = config.servers["weather"].resolve(Variables(environ=environ, inputs=config.inputs))
    assert resolved.args[2] == "Kyiv"
    # A `${` of the document is no variable: it can't reach into the user's environment.
    assert resolved.env == {"API_KEY": "k", "MODE": "${env:HOME} free"}


def test_a_remote_becomes_a_url_with_headers() -> None:
    proposal = propose(described(WEATHER), "weather", "remote")
    assert proposal.entry["url"] == "https://${input:weather-tenant}.weather.example/mcp"
    assert proposal.entry["headers"] == {"X-API-Key": "${input:weather-X-API-Key}"}
    assert proposal.entry["type"] == "http"
    assert [each.name for each in proposal.missing] == ["url tenant", "X-API-Key"]
    assert proposal.inputs[1]["password"] is True


def test_an_old_document_becomes_uvx() -> None:
    proposal = propose(described(OLD), "notes")
    assert proposal.entry["command"] == "uvx"
    assert proposal.entry["args"] == ["old-notes==0.3.1", "--dir", "${input:notes-folder}"]
    assert proposal.entry["env"] == {"NOTES_TOKEN": "${input:notes-NOTES_TOKEN}"}


def package(**members: Any) -> ServerDescription:
    return described({"name": "com.example/one", "version": "1.0.0", "packages": [members]})


@pytest.mark.parametrize(
    ("members", "command"),
    [
        ({"registryType": "oci", "identifier": "ghcr.io/a/b:2"}, "docker run --rm -i ghcr.io/a/b:2"),
        ({"registry_type": "docker", "name": "a/b", "version": "2"}, "docker run --rm -i a/b:2"),
        (
            {
                "registryType": "oci",
                "identifier": "a/b",
                "environmentVariables": [{"name": "K", "value": "v"}],
                "runtimeArguments": [{"type": "named", "name": "--cpus", "value": "1"}],
            },
            "docker run --rm -i -e K --cpus 1 a/b",
        ),
        (
            {
                "registryType": "oci",
                "identifier": "a/b",
                "environmentVariables": [{"name": "K", "value": "v"}],
                "runtimeArguments": [{"type": "named", "name": "-e", "value": "K=w"}],
            },
            "docker run --rm -i -e K=w a/b",
        ),
        ({"registryType": "nuget", "identifier": "A.B", "version": "3"}, "dnx A.B@3 --yes --"),
        ({"registryType": "npm", "identifier": "one"}, "npx -y one@1.0.0"),
        (
            {
                "registryType": "pypi",
                "identifier": "one",
                "version": "1.0.0",
                "runtimeArguments": [{"type": "named", "name": "--python", "value": "3.12"}],
            },
            "uvx --python 3.12 one==1.0.0",
        ),
    ],
)
def test_each_kind_of_package_has_its_runner(members: dict[str, Any], command: str) -> None:
    assert propose(package(**members), "one").command_line == command


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"registryType": "npm", "identifier": "--registry=https://evil.example"}, "a name that is none"),
        ({"registryType": "npm", "identifier": "git+https://evil.example/x"}, "a name that is none"),
        ({"registryType": "pypi", "identifier": "a b"}, "a name that is none"),
        ({"registryType": "pypi", "identifier": "a", "version": "1; rm -rf"}, "a version that is none"),
        ({"registryType": "oci", "identifier": "-v /:/host"}, "a name that is none"),
        ({"registryType": "mcpb", "identifier": "https://x.example/a.mcpb"}, "type 'mcpb'"),
        ({"registryType": "sh", "identifier": "curl"}, "type 'sh'"),
        ({"identifier": "x"}, "type None"),
        ({"registryType": "npm", "identifier": "a", "transport": {"type": "sse"}}, "standard input"),
    ],
)
def test_what_is_no_package_is_refused_with_the_reason(members: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=r"com\.example/one can't be had") as caught:
        propose(package(**members), "one")
    assert problem in caught.value.message


def test_the_program_never_comes_from_the_document() -> None:
    proposal = propose(package(registryType="npm", identifier="a", runtimeHint="/bin/sh -c evil"), "a")
    assert proposal.entry["command"] == "npx"
    assert "/bin/sh" in proposal.warnings[0]


def test_arguments_that_widen_what_a_server_may_do_are_pointed_out() -> None:
    runtime = [{"type": "named", "name": "-v", "value": "/:/host"}, {"type": "named", "name": "--privileged"}]
    proposal = propose(package(registryType="oci", identifier="a/b", runtimeArguments=runtime), "a")
    assert "-v" in proposal.warnings[0]
    required = [{"type": "named", "name": "--privileged", "isRequired": True}]
    proposal = propose(package(registryType="oci", identifier="a/b", runtimeArguments=required), "a")
    assert "--privileged" in proposal.warnings[0]
    assert "--privileged" in proposal.command_line


def test_an_unencrypted_remote_is_pointed_out_and_one_without_http_refused() -> None:
    remote = {"name": "a/b", "remotes": [{"type": "sse", "url": "http://x.example/sse"}]}
    assert "not encrypted" in propose(described(remote), "b").warnings[0]
    with pytest.raises(UsageError, match="no URL of an HTTP server"):
        propose(described({"name": "a/b", "remotes": [{"type": "sse", "url": "file:///etc/passwd"}]}), "b")


def test_a_kind_that_is_not_offered_is_an_error_that_names_the_others() -> None:
    with pytest.raises(UsageError, match="as oci") as caught:
        propose(described(WEATHER), "weather", "oci")
    assert "npm, remote" in caught.value.hint
