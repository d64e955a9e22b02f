"""One server's entry, as the clients in use write it."""

from pathlib import Path
from typing import Any

import pytest

from toolcrib.config import ServerConfig, ServerOptions, Settings, config_from_mapping


def entry(value: dict[str, Any], origin: Path | None = None) -> ServerConfig:
    server = config_from_mapping({"mcpServers": {"it": value}}, origin=origin).servers["it"]
    assert server.error is None
    return server


@pytest.mark.parametrize("member", ["type", "transport"])
@pytest.mark.parametrize(
    ("alias", "transport"),
    [
        ("http", "http"),
        ("streamable-http", "http"),
        ("streamableHttp", "http"),  # Cline
        ("streamable_http", "http"),
        ("HTTP", "http"),
        ("sse", "sse"),
    ],
)
def test_a_transport_is_known_by_the_names_that_clients_give_it(member: str, alias: str, transport: str) -> None:
    assert entry({"url": "https://x.example/mcp", member: alias}).transport == transport


@pytest.mark.parametrize("alias", ["stdio", "local", None])  # local: GitHub Copilot
def test_a_command_is_a_stdio_server(alias: str | None) -> None:
    assert entry({"command": "x", "type": alias}).transport == "stdio"


@pytest.mark.parametrize(
    ("url", "transport"),
    [
        ("https://x.example/mcp", "http"),
        ("https://x.example/sse", "sse"),
        ("https://x.example/v1/sse/", "sse"),
        ("https://x.example/sse?key=1", "sse"),
        ("https://x.example/mcp?then=/sse", "http"),
        ("https://x.example/assess", "http"),
        ("${HOST}/sse", "sse"),
    ],
)
def test_without_a_type_the_url_tells_the_transport(url: str, transport: str) -> None:
    assert entry({"url": url}).transport == transport


def test_a_type_wins_over_the_url() -> None:
    assert entry({"url": "https://x.example/sse", "type": "http"}).transport == "http"


def test_windsurfs_server_url_is_a_url() -> None:
    assert entry({"serverUrl": "https://x.example/mcp"}).url == "https://x.example/mcp"


def test_numbers_and_booleans_are_taken_for_their_text() -> None:
    # VS Code allows numbers and null in env; null takes a variable away.
    server = entry({"command": "x", "args": ["--port", 8080, True], "env": {"P": 1, "D": False, "GONE": None}})
    assert server.args == ("--port", "8080", "true")
    assert server.env == {"P": "1", "D": "false"}


@pytest.mark.parametrize(
    ("flags", "disabled"),
    [({}, False), ({"disabled": True}, True), ({"disabled": False}, False), ({"enabled": False}, True)],
)
def test_a_server_can_be_switched_off(flags: dict[str, bool], disabled: bool) -> None:
    assert entry({"command": "x", **flags}).disabled is disabled


def test_options_are_read() -> None:
    options = entry(
        {
            "command": "x",
            "toolcrib": {
                "description": "Tickets",
                "tags": ["issues", "bugs"],
                "trust": "trusted",
                "protocol": "legacy",
                "start": "always",
                "idle_stop": None,
                "allow": ["get_*"],
                "deny": ["get_all"],
                "effects": {"get_*": "read", "*": "destructive"},
                "labels": ["private"],
                "timeout": 2.5,
                "start_timeout": 10,
                "prefix": "t",
            },
        }
    ).options
    assert options == ServerOptions(
        description="Tickets",
        tags=("issues", "bugs"),
        trust="trusted",
        protocol="legacy",
        start="always",
        idle_stop=None,
        allow=("get_*",),
        deny=("get_all",),
        effects={"get_*": "read", "*": "destructive"},
        labels=("private",),
        timeout=2.5,
        start_timeout=10,
        prefix="t",
    )
    assert list(options.effects) == ["get_*", "*"]


def test_the_defaults_are_the_documented_ones() -> None:
    options = entry({"command": "x"}).options
    assert (options.trust, options.protocol, options.start) == ("untrusted", "auto", "on_demand")
    assert (options.allow, options.deny, options.idle_stop, options.timeout) == (("*",), (), 600, None)
    settings = Settings()
    assert (settings.timeout, settings.start_timeout, settings.max_parallel_starts) == (60, 30, 4)
    assert (settings.first_listing_wait, settings.search.strategy, settings.servers_description) == (5, "keyword", 300)


def test_another_clients_description_serves_until_toolcribs_own_is_given() -> None:
    assert entry({"command": "x", "description": "theirs"}).options.description == "theirs"
    own = entry({"command": "x", "description": "theirs", "toolcrib": {"description": "ours"}})
    assert own.options.description == "ours"


BASE: dict[str, Any] = {"command": "npx", "args": ["a", "b"], "env": {"A": "1", "B": "2"}, "cwd": "/x"}


@pytest.mark.parametrize(
    "change",
    [
        {"command": "uvx"},
        {"args": ["b", "a"]},
        {"args": ["a b"]},
        {"env": {"A": "1", "B": "3"}},
        {"cwd": "/y"},
        {"envFile": "/x/.env"},
        {"toolcrib": {"protocol": "legacy"}},
    ],
)
def test_the_hash_changes_with_what_identifies_a_server(change: dict[str, Any]) -> None:
    assert entry(BASE | change).config_hash != entry(BASE).config_hash


@pytest.mark.parametrize(
    "change",
    [
        {"type": "stdio"},
        {"env": {"B": "2", "A": "1"}},
        {"disabled": True},
        {"timeout": 3},
        {"toolcrib": {"description": "d", "tags": ["t"], "timeout": 3, "deny": ["x"], "trust": "trusted"}},
    ],
)
def test_the_hash_is_the_same_whatever_else_is_said_about_a_server(change: dict[str, Any]) -> None:
    assert entry(BASE | change).config_hash == entry(BASE).config_hash


def test_the_hash_of_a_remote_server_covers_url_headers_and_transport() -> None:
    hashes = {
        entry(value).config_hash
        for value in (
            {"url": "https://x.example/mcp"},
            {"url": "https://y.example/mcp"},
            {"url": "https://x.example/mcp", "type": "sse"},
            {"url": "https://x.example/mcp", "headers": {"a": "1"}},
            {"url": "https://x.example/mcp", "headers": {"a": "2"}},
        )
    }
    assert len(hashes) == 5


def test_the_hash_stays_the_same_over_releases() -> None:
    # sha256 of ["stdio","npx",["a","b"],{"A":"1","B":"2"},"/x",null,null,{},"auto",null], by sha256sum.
    assert entry(BASE).config_hash == "a1fa5b583762cadfa834e67064811c58"


def test_a_relative_folder_makes_the_same_entry_in_two_places_two_servers(tmp_path: Path) -> None:
    here, there = tmp_path / "a" / "mcp.json", tmp_path / "b" / "mcp.json"
    relative = {"command": "node", "args": ["server.js"], "cwd": "."}
    assert entry(relative, here).config_hash != entry(relative, there).config_hash
    workspace = {"command": "node", "args": ["${workspaceFolder}/server.js"]}
    assert entry(workspace, here).config_hash != entry(workspace, there).config_hash
    absolute = {"command": "node", "cwd": "/srv"}
    assert entry(absolute, here).config_hash == entry(absolute, there).config_hash


def test_a_server_shows_no_secret(tmp_path: Path) -> None:
    server = entry(
        {
            "command": "npx",
            "args": ["--token", "s3cr3t-arg"],
            "env": {"API_KEY": "s3cr3t-env"},
            "oauth": {"secret": "s3cr3t-oauth"},
            "toolcrib": {"note": "s3cr3t-note"},
        }
    )
    assert repr(server) == "ServerConfig(key='it', transport='stdio', command='npx', args=<2>, env=<API_KEY>)"
    assert "s3cr3t" not in repr(server.options)
    remote = entry({"url": "https://me:s3cr3t@x.example/s3cr3t?k=s3cr3t", "headers": {"Authorization": "s3cr3t"}})
    assert repr(remote) == (
        "ServerConfig(key='it', transport='http', url='https://x.example', headers=<Authorization>)"
    )
