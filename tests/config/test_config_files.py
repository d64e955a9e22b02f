"""Reading and merging whole files."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from toolcrib.config import Config, config_from_mapping, load_config, user_config_dir, user_state_dir
from toolcrib.config.edit import add_entry


def write(folder: Path, content: Any, name: str = "mcp.json") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def loaded(folder: Path, *contents: Any) -> Config:
    return load_config([write(folder, content, f"{place}.json") for place, content in enumerate(contents)])


# The file of https://modelcontextprotocol.io/docs/develop/connect-local-servers in shape.
CLAUDE_DESKTOP = {"mcpServers": {"files": {"command": "npx", "args": ["-y", "server-filesystem", "/tmp"]}}}


def test_claude_desktops_file_is_read(tmp_path: Path) -> None:
    config = loaded(tmp_path, CLAUDE_DESKTOP)
    server = config.servers["files"]
    assert (server.transport, server.command, server.args) == ("stdio", "npx", ("-y", "server-filesystem", "/tmp"))
    assert server.origin == tmp_path / "0.json"
    assert server.error is None
    assert config.warnings == ()
    assert config.paths == (tmp_path / "0.json",)


def test_vs_codes_file_is_read_with_its_inputs_and_comments(tmp_path: Path) -> None:
    config = loaded(
        tmp_path,
        """
        {
          // asked for once
          "inputs": [
            {"type": "promptString", "id": "key", "description": "API key", "password": true},
            {"type": "pickString", "id": "region", "options": ["eu", {"label": "US", "value": "us"}], "default": "eu"},
          ],
          "servers": {
            /* a path with // in it, and a "quote" */
            "perplexity": {
              "type": "stdio", "command": "npx", "args": ["-y", "https://example.com//x", "/* no comment */"],
              "env": {"KEY": "${input:key}"}, "envFile": "${workspaceFolder}/.env", "cwd": "sub",
            },
            "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/", "headers": {"X-Test": "1"}},
          },
        }
        """,
    )
    stdio, http = config.servers["perplexity"], config.servers["github"]
    assert stdio.args == ("-y", "https://example.com//x", "/* no comment */")
    assert (stdio.env, stdio.env_file, stdio.cwd) == ({"KEY": "${input:key}"}, "${workspaceFolder}/.env", "sub")
    assert (http.transport, http.url) == ("http", "https://api.githubcopilot.com/mcp/")
    assert http.headers == {"X-Test": "1"}
    assert config.inputs["key"].password
    assert config.inputs["key"].description == "API key"
    assert (config.inputs["region"].options, config.inputs["region"].default) == (("eu", "us"), "eu")
    assert config.warnings == ()


def test_a_bare_map_is_read() -> None:
    config = config_from_mapping({"$schema": "x", "a": {"command": "a"}, "b": {"url": "https://b.example/mcp"}})
    assert list(config.servers) == ["a", "b"]
    assert config.warnings == ()


def test_a_bare_map_may_have_servers_called_like_our_own_keys() -> None:
    config = config_from_mapping({"servers": {"command": "a"}, "toolcrib": {"url": "https://b.example"}})
    assert {key: server.error for key, server in config.servers.items()} == {"servers": None, "toolcrib": None}


def test_both_roots_in_one_file_are_read() -> None:
    config = config_from_mapping({"servers": {"b": {"command": "b"}}, "mcpServers": {"a": {"command": "a"}}})
    assert set(config.servers) == {"a", "b"}


def test_an_empty_map_of_servers_is_a_configuration() -> None:
    assert config_from_mapping({"mcpServers": {}}).servers == {}


def test_a_file_may_hold_settings_alone(tmp_path: Path) -> None:
    config = loaded(tmp_path, CLAUDE_DESKTOP, {"toolcrib": {"timeout": 5}})
    assert list(config.servers) == ["files"]
    assert config.settings.timeout == 5


def test_of_two_files_the_later_entry_wins_and_a_warning_names_both(tmp_path: Path) -> None:
    first = {"mcpServers": {"a": {"command": "old", "args": ["x"]}, "b": {"command": "b"}}}
    config = loaded(tmp_path, first, {"servers": {"a": {"command": "new"}}})
    assert (config.servers["a"].command, config.servers["a"].args) == ("new", ())
    assert list(config.servers) == ["a", "b"]
    assert config.warnings == (
        f"{tmp_path / '1.json'}: Server 'a' replaces the one of the same key from {tmp_path / '0.json'}.",
    )


def test_settings_of_two_files_are_merged_by_key(tmp_path: Path) -> None:
    config = loaded(
        tmp_path,
        {"mcpServers": {}, "toolcrib": {"timeout": 10, "max_parallel_starts": 2, "search": {"strategy": "regex"}}},
        {"mcpServers": {}, "toolcrib": {"timeout": 20, "search": {}}},
    )
    assert config.settings.timeout == 20
    assert config.settings.max_parallel_starts == 2
    assert config.settings.search.strategy == "regex"
    assert config.settings.start_timeout == 30  # the documented default


def test_a_key_given_twice_is_named(tmp_path: Path) -> None:
    text = '{"mcpServers": {"a": {"command": "x", "command": "y"}, /**/ "b": {"command": "1"}, "b": {"command": "2"}}}'
    config = loaded(tmp_path, text)
    assert (config.servers["a"].command, config.servers["b"].command) == ("y", "2")
    assert config.warnings == (
        f"{tmp_path / '0.json'}: 'mcpServers.b' is given twice; the last one counts.",
        f"{tmp_path / '0.json'}: 'mcpServers.a.command' is given twice; the last one counts.",
    )


def test_a_key_repeated_inside_a_dropped_entry_is_not_pinned_on_another(tmp_path: Path) -> None:
    text = '{"mcpServers": {"a": {"env": {"K": "1", "K": "2"}}, "a": {"command": "x"}, "b": {"command": "y"}}}'
    assert [warning.partition(": ")[2] for warning in loaded(tmp_path, text).warnings] == [
        "'mcpServers.a' is given twice; the last one counts."
    ]


def test_unknown_keys_are_kept_and_named(tmp_path: Path) -> None:
    config = loaded(
        tmp_path,
        {
            "mcpServers": {"a": {"command": "a", "audit": {"level": "x"}, "toolcrib": {"descripton": "typo"}}},
            "theme": "dark",
            "toolcrib": {"time_out": 3, "search": {"stratgy": "x"}},
        },
    )
    server = config.servers["a"]
    assert server.unknown == {"audit": {"level": "x"}}
    assert server.options.model_extra == {"descripton": "typo"}
    assert config.unknown == {"theme": "dark"}
    assert [warning.removeprefix(f"{tmp_path / '0.json'}: ") for warning in config.warnings] == [
        "Server 'a': 'audit' and 'toolcrib.descripton' are not known here; kept, without effect.",
        "'toolcrib.time_out' and 'toolcrib.search.stratgy' are not known here; kept, without effect.",
        "'theme' is not known here; kept, without effect.",
    ]


def test_a_long_list_of_unknown_keys_is_cut(tmp_path: Path) -> None:
    # ~/.claude.json holds some forty keys of its own beside mcpServers.
    config = loaded(tmp_path, {"mcpServers": {}, **{f"key{number}": 1 for number in range(40)}})
    assert len(config.warnings) == 1
    assert config.warnings[0].endswith("'key7' and 32 more keys are not known here; kept, without effect.")


def test_keys_that_other_clients_act_on_are_kept_silently() -> None:
    entry = {"command": "a", "autoApprove": ["x"], "alwaysAllow": [], "timeout": 60, "tools": ["*"], "icon": "i"}
    config = config_from_mapping({"mcpServers": {"a": entry}})
    assert config.warnings == ()
    assert config.servers["a"].unknown["timeout"] == 60
    # Clients disagree about the unit of a bare timeout, so that it is never read.
    assert config.servers["a"].options.timeout is None


@pytest.mark.parametrize("limit", [{"disabledTools": ["drop"]}, {"tools": ["get"]}, {"excludeTools": ["drop"]}])
def test_a_limit_that_only_another_client_applies_is_pointed_out(limit: dict[str, Any]) -> None:
    config = config_from_mapping({"mcpServers": {"a": {"command": "a", **limit}}})
    assert config.warnings == (
        f"Server 'a': '{next(iter(limit))}' is for another client; here, toolcrib.allow and toolcrib.deny hide tools.",
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_does_no_harm(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"ü": {"command": "x"}}}', encoding=encoding)
    assert list(load_config(path).servers) == ["ü"]


def test_without_paths_the_users_own_folder_is_read_by_name() -> None:
    folder = user_config_dir()
    write(folder, {"mcpServers": {"a": {"command": "2"}, "b": {"command": "2"}}}, "20-late.json")
    write(folder, {"mcpServers": {"a": {"command": "1"}}}, "10-early.json")
    write(folder, "not json", "notes.txt")
    config = load_config()
    assert (config.servers["a"].command, list(config.servers)) == ("2", ["a", "b"])
    assert [path.name for path in config.paths] == ["10-early.json", "20-late.json"]
    assert load_config([]) == config


def test_without_paths_nothing_in_the_working_directory_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, CLAUDE_DESKTOP, ".mcp.json")
    write(tmp_path, CLAUDE_DESKTOP, "mcp.json")
    monkeypatch.chdir(tmp_path)
    config = load_config()
    assert config.servers == {}
    assert config.warnings == (f"There is no configuration in {user_config_dir()}; name a file with --config.",)


def test_a_relative_path_and_a_home_path_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, CLAUDE_DESKTOP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert load_config("mcp.json").paths == (tmp_path / "mcp.json",)
    assert load_config("~/mcp.json").paths == (tmp_path / "mcp.json",)


def test_the_users_directories_follow_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_CONFIG_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "s"))
    assert (user_config_dir(), user_state_dir()) == (tmp_path / "c", tmp_path / "s")


def test_without_the_environment_the_platforms_directories_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_CONFIG_DIR", "")
    monkeypatch.delenv("TOOLCRIB_STATE_DIR")
    assert user_config_dir().name == "toolcrib"
    assert user_state_dir().name == "toolcrib"
    assert user_config_dir() != user_state_dir() or os.name == "nt"


def test_servers_that_are_added_at_the_same_time_are_all_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "state"))
    file = tmp_path / "servers.json"
    with ThreadPoolExecutor(8) as threads:
        for each in [threads.submit(add_entry, file, f"s{n}", {"command": "x"}) for n in range(24)]:
            each.result()
    assert len(json.loads(file.read_text())["mcpServers"]) == 24
