"""`${...}` in an entry, expanded when a server is connected to."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from toolcrib.config import Input, ResolvedServer, Variables, config_from_mapping
from toolcrib.errors import ConfigError


def resolve(entry: Mapping[str, Any], origin: Path | None = None, **variables: Any) -> ResolvedServer:
    variables.setdefault("environ", {})
    server = config_from_mapping({"mcpServers": {"it": entry}}, origin=origin).servers["it"]
    return server.resolve(Variables(**variables))


def expand(text: str, **variables: Any) -> str:
    return resolve({"command": "x", "args": [text]}, **variables).args[0]


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("${A}", "one"),
        ("${env:A}", "one"),
        ("x${A}y${A}z", "xoneyonez"),
        ("${MISSING:-two}", "two"),
        ("${env:MISSING:-two}", "two"),
        ("${A:-two}", "one"),
        ("${EMPTY:-two}", "two"),  # as in a POSIX shell, 2.6.2 Parameter Expansion
        ("${EMPTY}", ""),
        ("${MISSING:-}", ""),
        ("${MISSING:-a:-b c}", "a:-b c"),
        ("$A", "$A"),
        ("$$", "$$"),
        ("a $ b", "a $ b"),
        ("{A}", "{A}"),
        ("$${A}", "${A}"),
        ("$${A} ${A}", "${A} one"),
        ("${RECURSIVE}", "${A} and $${A}"),
        ("${/}${pathSeparator}", os.sep * 2),
        ("${env:ProgramFiles(x86)}", "p"),
    ],
)
def test_placeholders_are_expanded_once(text: str, expanded: str) -> None:
    environ = {"A": "one", "EMPTY": "", "RECURSIVE": "${A} and $${A}", "ProgramFiles(x86)": "p"}
    assert expand(text, environ=environ) == expanded


def test_every_field_is_expanded(tmp_path: Path) -> None:
    (tmp_path / "v.env").write_text("FROM_FILE=${V}\n")
    entry = {
        "command": "${V}",
        "args": ["${V}"],
        "env": {"E": "${V}"},
        "cwd": f"{tmp_path}/${{V}}",
        "envFile": f"{tmp_path}/${{V}}.env",
    }
    server = resolve(entry, environ={"V": "v"})
    assert (server.command, server.args, server.cwd) == ("v", ("v",), tmp_path / "v")
    assert server.env == {"FROM_FILE": "${V}", "E": "v"}  # the file's own text is taken as it is
    remote = resolve({"url": "https://${V}.example", "headers": {"X": "b ${V}"}}, environ={"V": "v"})
    assert (remote.url, remote.headers) == ("https://v.example", {"X": "b v"})


def test_by_default_the_processs_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_TEST_VARIABLE", "here")
    server = config_from_mapping({"mcpServers": {"it": {"command": "${TOOLCRIB_TEST_VARIABLE}"}}}).servers["it"]
    assert server.resolve().command == "here"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("${NO}", "the environment variable NO is not set", "Set NO, or give a default: ${NO:-...}."),
        ("${env:NO}", "the environment variable NO is not set", "Set NO"),
        ("${input:api-key}", "the input 'api-key' has no value", "TOOLCRIB_INPUT_API_KEY"),
        ("${keyring:github}", "the keyring holds no 'github'", "keyring set toolcrib github"),
        ("${command:pick}", "'${command:pick}' is no known variable", "$${"),
        ("${config:x.y}", "'${config:x.y}' is no known variable", "$${"),
        ("${}", "'${}' is no known variable", "$${"),
        ("${1}", "'${1}' is no known variable", "$${"),
        ("${open", "a ${ is not closed", "$${"),
        ("${A:-${B}}", "a ${ is not closed, or holds another one", "$${"),
    ],
)
def test_what_has_no_value_is_that_servers_error(text: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve({"command": "x", "env": {"E": f"secret {text}"}}, keyring=lambda name: None)
    assert caught.value.message.startswith("Server 'it', env.E: ")
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert "secret" not in str(caught.value)


def test_the_error_of_an_unset_variable_does_not_show_a_default() -> None:
    with pytest.raises(ConfigError) as caught:
        expand("${what is this:-s3cr3t}")
    assert "s3cr3t" not in str(caught.value)


def test_an_input_is_asked_for_then_looked_up_then_its_default_is_taken() -> None:
    inputs = {"api-key": Input("api-key", "Which key?", default="default")}
    environ = {"TOOLCRIB_INPUT_API_KEY": "environment"}
    asked: list[Input] = []

    def answer(entry: Input) -> str | None:
        asked.append(entry)
        return "answer"

    text = "${input:api-key}${input:api-key}"
    assert expand(text, inputs=inputs, environ=environ, ask=answer) == "answeranswer"
    assert asked == [inputs["api-key"]]  # once for both places
    assert expand("${input:api-key}", inputs=inputs, environ=environ, ask=lambda entry: None) == "environment"
    assert expand("${input:api-key}", inputs=inputs) == "default"
    assert expand("${input:unlisted:-else}", inputs=inputs) == "else"


def test_a_password_comes_from_the_keyring() -> None:
    assert expand("Bearer ${keyring:github}", keyring={"github": "pw"}.get) == "Bearer pw"


class OneEntry(KeyringBackend):
    priority = 1  # pyright: ignore[reportAssignmentType]

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError

    def get_password(self, service: str, username: str) -> str | None:
        if username == "locked":
            raise KeyringLocked("s3cr3t detail")
        return "pw" if (service, username) == ("toolcrib", "github") else None


def test_the_systems_keyring_is_asked_under_our_name() -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(OneEntry())
    try:
        assert expand("${keyring:github}") == "pw"
        with pytest.raises(ConfigError, match="holds no 'other'"):
            expand("${keyring:other}")
        with pytest.raises(ConfigError, match=r"can't be read \(KeyringLocked\)") as caught:
            expand("${keyring:locked}")
        assert "s3cr3t" not in str(caught.value)
    finally:
        keyring.set_keyring(before)


def test_without_a_keyring_the_reference_is_an_error() -> None:
    # The backend that keyring falls back on where a system has none.
    from keyring.backends.fail import Keyring

    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())
    try:
        with pytest.raises(ConfigError, match=r"can't be read \(NoKeyringError\)"):
            expand("${keyring:github}")
    finally:
        keyring.set_keyring(before)


def test_the_home_folder_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert expand("${userHome}/x") == f"{tmp_path}/x"
    server = resolve({"command": "~/bin/x", "cwd": "~"})
    assert (server.command, server.cwd) == (f"{tmp_path}/bin/x", tmp_path)


def test_a_command_keeps_its_spelling() -> None:
    assert resolve({"command": "./server"}).command == "./server"


@pytest.mark.parametrize(
    ("file", "workspace"),
    [
        ("project/.vscode/mcp.json", "project"),
        ("project/.cursor/mcp.json", "project"),
        ("project/.mcp.json", "project"),
        ("elsewhere/mcp.json", "cwd"),
        ("home/.cursor/mcp.json", "cwd"),  # the user's own, in no project
    ],
)
def test_the_workspace_is_the_project_of_the_file_or_the_working_directory(
    file: str, workspace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    entry = {"command": "x", "args": ["${workspaceFolder}", "${workspaceFolderBasename}"]}
    assert resolve(entry, tmp_path / file).args == (str(tmp_path / workspace), workspace)
    given = resolve(entry, tmp_path / file, workspace_folder=Path("/given"))
    assert given.args == (str(Path("/given")), "given")


@pytest.mark.parametrize(
    ("file", "start"), [("project/.vscode/mcp.json", "project"), ("here/mcp.json", "here"), (None, "")]
)
def test_relative_paths_start_at_the_project_or_the_file(
    file: str | None, start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / start).mkdir(exist_ok=True)
    (tmp_path / start / "v.env").write_text("A=1")
    server = resolve({"command": "x", "cwd": "sub", "envFile": "v.env"}, tmp_path / file if file else None)
    assert server.cwd == tmp_path / start / "sub"
    assert server.env == {"A": "1"}


def test_a_variable_of_the_entry_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "v.env").write_text("A=file\nB=file\n")
    server = resolve({"command": "x", "envFile": str(tmp_path / "v.env"), "env": {"B": "entry"}})
    assert server.env == {"A": "file", "B": "entry"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"url": "${V}"}, "url: not the URL of an HTTP server"),
        ({"url": "https://x.example", "headers": {"X": "${V}"}}, "headers.X: the value has a character"),
        ({"command": "x", "args": ["${N}"]}, "args[0]: a NUL character can't be passed on"),
        ({"command": "x", "env": {"E": "${N}"}}, "env.E: a NUL character can't be passed on"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_without_being_shown(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(entry, environ={"V": "s3cr3t\nInjected: yes", "N": "s3cr3t\x00"})
    assert message in caught.value.message
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("value", ["“quoted”", "a\x7fb", "a\rb"])
def test_a_header_that_http_cannot_carry_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="character that HTTP does not allow"):
        resolve({"url": "https://x.example", "headers": {"X": value}})


def test_a_headers_value_loses_the_newline_of_the_file_it_was_read_from() -> None:
    server = resolve({"url": "https://x.example", "headers": {"X": "Bearer ${V}"}}, environ={"V": "token\n"})
    assert server.headers == {"X": "Bearer token"}


def test_what_was_filled_in_is_told_to_who_redacts() -> None:
    entry = {"command": "x", "args": ["${A}", "${input:pw}", "${keyring:k}", "${userHome}", "${B:-default}"]}
    server = resolve(
        entry,
        environ={"A": "from-a", "TOOLCRIB_INPUT_PW": "from-input"},
        inputs={"pw": Input("pw", password=True)},
        keyring={"k": "from-keyring"}.get,
    )
    assert server.private == (
        ("A", "from-a"),
        ("input:pw secret", "from-input"),
        ("keyring:k secret", "from-keyring"),
    )


def test_a_resolved_server_shows_no_secret() -> None:
    server = resolve({"command": "x", "args": ["${S}"], "env": {"API_KEY": "${S}"}}, environ={"S": "s3cr3t"})
    assert repr(server) == "ResolvedServer(key='it', transport='stdio', command='x', args=<1>, env=<API_KEY>)"
    remote = resolve({"url": "https://x.example/${S}", "headers": {"K": "${S}"}}, environ={"S": "s3cr3t"})
    assert repr(remote) == "ResolvedServer(key='it', transport='http', url='https://x.example', headers=<K>)"


def test_variables_and_inputs_show_no_secret() -> None:
    shown = repr(Variables(environ={"K": "s3cr3t"}, inputs={"k": Input("k", password=True, default="s3cr3t")}))
    assert "s3cr3t" not in shown
