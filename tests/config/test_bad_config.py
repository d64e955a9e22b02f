"""Everything that can be wrong with a configuration is said in a sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolcrib.config import config_from_mapping, load_config, user_config_dir
from toolcrib.errors import ConfigError


def refusal(content: str | bytes, folder: Path) -> ConfigError:
    path = folder / "mcp.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(path) in caught.value.message
    assert caught.value.hint
    return caught.value


def server_error(entry: Any) -> str:
    server = config_from_mapping({"mcpServers": {"good": {"command": "x"}, "bad": entry}}).servers["bad"]
    assert server.error is not None
    prefix = "Server 'bad': "
    assert server.error.message.startswith(prefix)
    return server.error.message.removeprefix(prefix)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"mcpServers": {', "line 1, column 17"),
        ('{\n  "mcpServers": {\n    "a": nope\n  }\n}', "line 3, column 10"),
        ('{\n  // a comment\n  "a": 1 2\n}', "line 3, column 10"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": "unclosed}', "line 1, column 7"),
        ('{"a": 1} trailing', "line 1, column 10"),
        ("// only a comment", "line 1, column 18"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(tmp_path: Path, text: str, place: str) -> None:
    # Places counted by hand.
    message = refusal(text, tmp_path).message
    assert "is not JSON" in message
    assert place in message


@pytest.mark.parametrize("text", ["", "  \n\t", "\ufeff"])
def test_an_empty_file_is_called_empty(tmp_path: Path, text: str) -> None:
    assert refusal(text, tmp_path).message.endswith("is empty.")


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b'{"a": "\x80"}', bytes(range(256))])
def test_bytes_that_are_no_text_are_refused(tmp_path: Path, data: bytes) -> None:
    refusal(data, tmp_path)


@pytest.mark.parametrize("text", ["NaN", '{"a": Infinity}', "1" * 10_000])
def test_numbers_that_json_does_not_have_are_refused(tmp_path: Path, text: str) -> None:
    refusal(text, tmp_path)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("levels", [66, 5_000, 200_000])
def test_huge_nesting_is_refused(tmp_path: Path, opening: str, levels: int) -> None:
    closing = "]" if opening == "[" else "}"
    text = f'{{"mcpServers": {{}}, "x": {opening * levels}1{closing * levels}}}'
    assert "levels deep" in refusal(text, tmp_path).message


def test_an_object_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {"command": "x"}
    loop["more"] = [loop]
    with pytest.raises(ConfigError, match="levels deep"):
        config_from_mapping({"mcpServers": {"a": loop}})


@pytest.mark.parametrize(
    "text", ["[]", "null", '"text"', "3", "{}", '{"theme": "dark"}', '{"a": {}}', '{"inputs": []}']
)
def test_a_file_that_names_no_servers_is_refused(tmp_path: Path, text: str) -> None:
    assert "names no servers" in refusal(text, tmp_path).message


@pytest.mark.parametrize("root", ["mcpServers", "servers"])
def test_servers_that_are_no_object_are_refused(tmp_path: Path, root: str) -> None:
    assert f"{root} must be an object" in refusal(json.dumps({root: [{"command": "x"}]}), tmp_path).message


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no file"):
        load_config(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="is a folder"):
        load_config(tmp_path)
    with pytest.raises(ConfigError, match="can't be read"):
        load_config("impossible\x00name")


def test_an_endless_file_is_refused() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("there is no /dev/zero here")
    with pytest.raises(ConfigError, match="larger than 16 MiB"):
        load_config("/dev/zero")


def test_a_configuration_folder_that_is_a_file_is_refused() -> None:
    user_config_dir().write_text("")
    with pytest.raises(ConfigError, match="can't be read"):
        load_config()


def test_a_bad_file_in_the_users_folder_is_named() -> None:
    user_config_dir().mkdir()
    (user_config_dir() / "broken.json").write_text("{")
    with pytest.raises(ConfigError, match=r"broken\.json is not JSON"):
        load_config()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (5, "the entry must be an object."),
        (None, "the entry must be an object."),
        ([], "the entry must be an object."),
        ({}, "it has neither a command nor a url."),
        ({"command": ""}, "command is empty."),
        ({"command": ["npx", "-y"]}, "command must be a text."),
        ({"command": "x", "args": "--flag"}, "args must be a list of texts."),
        ({"command": "x", "args": ["a", None]}, "args must be a list of texts."),
        ({"command": "x", "args": [["a"]]}, "args must be a list of texts."),
        ({"command": "x", "env": ["A=1"]}, "env must be an object."),
        ({"command": "x", "env": {"A": {"b": 1}}}, "env.A must be a text."),
        ({"command": "x", "env": {"A=B": "1"}}, "env has the impossible name 'A=B'."),
        ({"command": "x", "env": {"": "1"}}, "env has the impossible name ''."),
        ({"command": "x", "cwd": 3}, "cwd must be a text."),
        ({"command": "x", "envFile": []}, "envFile must be a text."),
        ({"command": "x", "disabled": "yes"}, "disabled must be true or false."),
        ({"command": "x", "url": "https://x.example"}, "it has both a command and a url."),
        ({"command": "x", "type": "http"}, "its type is http, which needs a url."),
        ({"url": "https://x.example", "type": "stdio"}, "its type is stdio, which needs a command."),
        ({"command": "x", "type": "grpc"}, "type 'grpc' is unknown; known are stdio, http and sse."),
        ({"command": "x", "transport": {"type": "stdio"}}, "transport must be a text."),
        ({"command": "x", "type": "stdio", "transport": "sse"}, "type and transport contradict each other."),
        ({"url": "example.com/mcp"}, "url is not the URL of an HTTP server."),
        ({"url": "unix:///run/mcp.sock"}, "url is not the URL of an HTTP server."),
        ({"url": "https://"}, "url is not the URL of an HTTP server."),
        ({"url": "http://[::1"}, "url is not the URL of an HTTP server."),
        ({"url": "http://x:notaport"}, "url is not the URL of an HTTP server."),
        ({"url": "https://x.example", "headers": {"a b": "c"}}, "'a b' is no header name."),
        ({"url": "https://x.example", "headers": {"a": None, "b": []}}, "headers.b must be a text."),
        ({"command": "x", "toolcrib": []}, "toolcrib: must be an object."),
        (
            {"command": "x", "toolcrib": {"trust": "yes"}},
            "toolcrib.trust: input should be 'untrusted' or 'trusted'.",
        ),
        ({"command": "x", "toolcrib": {"timeout": "30"}}, "toolcrib.timeout: input should be a valid number."),
        ({"command": "x", "toolcrib": {"timeout": 0}}, "toolcrib.timeout: input should be greater than 0."),
        ({"command": "x", "toolcrib": {"allow": "get_*"}}, "toolcrib.allow: input should be a valid tuple."),
        (
            {"command": "x", "toolcrib": {"effects": {"get_*": "reads"}}},
            "toolcrib.effects.get_*: input should be 'read', 'write' or 'destructive'.",
        ),
    ],
)
def test_a_bad_entry_is_that_servers_error(entry: Any, message: str) -> None:
    assert server_error(entry) == message


def test_all_that_is_wrong_with_an_entry_is_said_at_once() -> None:
    assert server_error({"command": 1, "args": 2, "env": 3}) == (
        "command must be a text; args must be a list of texts; env must be an object."
    )


def test_an_empty_key_is_that_servers_error() -> None:
    server = config_from_mapping({"mcpServers": {"": {"command": "x"}}}).servers[""]
    assert server.error is not None


def test_a_bad_entry_can_still_be_shown_and_hashed_but_not_resolved() -> None:
    server = config_from_mapping({"mcpServers": {"bad": {"url": 3}}}).servers["bad"]
    assert "bad" in repr(server)
    assert len(server.config_hash) == 32
    with pytest.raises(ConfigError, match="url must be a text"):
        server.resolve()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (3, "toolcrib: must be an object"),
        ({"timeout": "60"}, "toolcrib.timeout: input should be a valid number"),
        ({"timeout": True}, "toolcrib.timeout: input should be a valid number"),
        ({"max_parallel_starts": 0}, "toolcrib.max_parallel_starts: input should be greater than or equal to 1"),
        ({"search": "keyword"}, "toolcrib.search: must be an object"),
    ],
)
def test_bad_settings_are_refused_with_their_path(settings: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_from_mapping({"mcpServers": {}, "toolcrib": settings})
    assert message in caught.value.message


def test_unusable_inputs_are_a_warning() -> None:
    config = config_from_mapping({"servers": {}, "inputs": [3, {"id": ""}, {"id": "ok"}]})
    assert list(config.inputs) == ["ok"]
    assert len(config.warnings) == 2


def test_no_error_quotes_a_value() -> None:
    secret = "s3cr3t-value-9"
    entry = {
        "command": {"x": secret},
        "args": [secret, [secret]],
        "env": {"A": [secret]},
        "toolcrib": {"timeout": secret, "trust": secret},
    }
    config = config_from_mapping({"mcpServers": {"a": entry}})
    assert secret not in f"{config.servers['a'].error}{config!r}{config.warnings}"


@pytest.mark.parametrize(
    ("pattern", "reason"), [("(", "unclosed group"), ("(?=x)", "look-around"), ("x*", "empty text")]
)
def test_a_pattern_for_secrets_that_can_not_be_used_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_from_mapping({"mcpServers": {}, "toolcrib": {"redact": ["fine", pattern]}})
    assert "toolcrib.redact.1: the pattern can't be used: " in caught.value.message
    assert reason in caught.value.message
