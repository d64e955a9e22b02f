"""What the doctor says of variables, credentials, commands and addresses, without starting a server."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.doctor import read_configuration

pytestmark = pytest.mark.anyio

HERE = {"command": sys.executable}
SECRET = "s3cr3t-Value-4711"

posix = pytest.mark.skipif(sys.platform == "win32", reason="programs and modes as POSIX has them")


async def test_every_field_with_a_missing_variable_is_named(
    diagnose: Callable[..., Any], found: Callable[..., Any]
) -> None:
    entry = {
        **HERE,
        "args": ["--root", "${ROOT}"],
        "env": {"A_TOKEN": "${env:A_TOKEN}", "B": "${keyring:b}", "FINE": "${FINE:-default}", "SET": "${SET}"},
    }
    findings = found(await diagnose({"one": entry}, environ={"SET": SECRET}), "variables")
    assert {(each.server, each.level) for each in findings} == {("one", "problem")}
    assert [each.message for each in findings] == [
        "one, args[1]: the environment variable ROOT is not set.",
        "one, env.A_TOKEN: the environment variable A_TOKEN is not set.",
        "one, env.B: the keyring holds no 'b'.",
    ]
    assert "keyring set toolcrib b" in findings[2].hint


async def test_a_server_with_a_missing_variable_is_not_started(
    diagnose: Callable[..., Any], stub: Callable[..., Any], starts: Callable[[str], int]
) -> None:
    diagnosis = await diagnose({"one": stub("Normal", env={"X": "${NOT_SET}"})})
    assert diagnosis.count("problem") == 1
    assert starts("stub") == 0


async def test_an_env_file_that_is_missing_is_a_problem(
    diagnose: Callable[..., Any], found: Callable[..., Any], tmp_path: Path
) -> None:
    entry = {**HERE, "envFile": str(tmp_path / "no.env")}
    findings = found(await diagnose({"one": entry}, offline=True), "variables")
    assert [each.level for each in findings] == ["problem"]
    assert "no.env" in findings[0].message


@pytest.mark.parametrize(
    "value", ["<your token>", "YOUR_API_KEY", "your-github-token-here", "xxxx", "sk-xxxxxxxx", "changeme", "...", "***"]
)
async def test_a_placeholder_in_place_of_a_credential_is_a_warning(
    diagnose: Callable[..., Any], found: Callable[..., Any], value: str
) -> None:
    entry = {**HERE, "env": {"GITHUB_TOKEN": value, "LANG": value}}
    findings = found(await diagnose({"one": entry}, offline=True), "credentials")
    assert [(each.level, each.message) for each in findings] == [
        ("warning", "GITHUB_TOKEN: a placeholder, not a value.")
    ]


async def test_a_truth_and_the_name_of_a_variable_are_no_credentials(
    diagnose: Callable[..., Any], found: Callable[..., Any]
) -> None:
    env = {"DISABLE_AUTH": "true", "TOKEN_ENV_VAR": "NOTES_TOKEN"}
    assert found(await diagnose({"one": {**HERE, "env": env}}, offline=True), "credentials") == []


async def test_an_empty_credential_is_a_warning(diagnose: Callable[..., Any], found: Callable[..., Any]) -> None:
    remote = {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN:-}"}}
    servers = {"one": {**HERE, "env": {"API_KEY": ""}}, "far": remote}
    findings = found(await diagnose(servers, offline=True), "credentials")
    assert [(each.server, each.level, each.message) for each in findings] == [
        ("one", "warning", "API_KEY: empty."),
        ("far", "warning", "Authorization: empty."),
    ]


async def test_a_credential_from_the_environment_is_well_and_never_shown(diagnose: Callable[..., Any]) -> None:
    diagnosis = await diagnose(
        {"one": {**HERE, "env": {"API_KEY": "${API_KEY}"}}}, environ={"API_KEY": SECRET}, offline=True
    )
    assert "API_KEY: set." in [each.message for each in diagnosis.findings if each.check == "credentials"]
    assert SECRET not in json.dumps(diagnosis.to_json())


@posix
@pytest.mark.parametrize(("mode", "level"), [(0o600, "note"), (0o644, "warning")])
async def test_a_credential_written_out_is_told_by_who_may_read_it(
    diagnose: Callable[..., Any], found: Callable[..., Any], tmp_path: Path, mode: int, level: str
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"one": {**HERE, "env": {"API_KEY": SECRET}}}}))
    path.chmod(mode)
    config, _ = read_configuration([path])
    diagnosis = await diagnose(config=config, offline=True)
    findings = found(diagnosis, "credentials")
    assert [each.level for each in findings] == [level]
    assert f"API_KEY: written out in {path}" in findings[0].message
    assert SECRET not in json.dumps(diagnosis.to_json())


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"command": "no-such-command-here"}, "no-such-command-here is not on PATH."),
        ({"command": "/no/such/folder/server"}, "/no/such/folder/server is no program."),
        ({"command": "npx -y some-package", "env": {"PATH": "/nowhere"}}, "npx -y some-package is not on PATH."),
        ({"command": "npx", "env": {"PATH": "/nowhere"}}, "npx is not on PATH."),
        ({**HERE, "cwd": "/no/such/folder"}, "Its working directory /no/such/folder is no folder."),
        ({**HERE, "args": ["-u", "/no/such/server.py"]}, "/no/such/server.py, which it is to run, does not exist."),
    ],
)
@posix
async def test_what_can_not_be_started_is_a_problem(
    diagnose: Callable[..., Any], found: Callable[..., Any], entry: dict[str, Any], message: str
) -> None:
    diagnosis = await diagnose({"one": entry})
    assert [(each.level, each.message) for each in found(diagnosis, "command")] == [("problem", message)]
    assert found(diagnosis, "start") == []  # said once, with what to do


@posix
async def test_a_command_with_its_arguments_in_it_is_explained(
    diagnose: Callable[..., Any], found: Callable[..., Any]
) -> None:
    findings = found(await diagnose({"one": {"command": "npx -y some-package"}}, offline=True), "command")
    assert "`args`" in findings[0].hint


@posix
async def test_a_secret_in_a_command_is_not_shown(diagnose: Callable[..., Any]) -> None:
    diagnosis = await diagnose({"one": {"command": f"/opt/x --api-key={SECRET}"}}, offline=True)
    assert diagnosis.count("problem") == 1
    assert SECRET not in json.dumps(diagnosis.to_json())


@pytest.fixture
def programs(tmp_path: Path) -> Callable[..., str]:
    """A PATH of programs that answer with the given text, or fail when that is empty."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def make(**answers: str) -> str:
        for name, answer in answers.items():
            path = folder / name
            path.write_text(f"#!/bin/sh\n{f'echo {answer}' if answer else 'exit 1'}\necho x >> {folder}/{name}.ran\n")
            path.chmod(0o700)
        return str(folder)

    return make


async def _runtimes(
    diagnose: Callable[..., Any], path: str, *commands: str, offline: bool = False
) -> list[tuple[str | None, str, str]]:
    servers = {f"by_{command}": {"command": command, "env": {"PATH": path}} for command in commands}
    diagnosis = await diagnose(servers, offline=offline)
    return [(each.server, each.level, each.message) for each in diagnosis.findings if each.check == "runtime"]


@posix
async def test_the_version_behind_a_command_is_told(diagnose: Callable[..., Any], programs: Callable[..., str]) -> None:
    path = programs(npx="10.2.0", node="v20.11.1", uvx="x", uv="uv 0.5.9")
    assert await _runtimes(diagnose, path, "npx", "uvx") == [
        ("by_npx", "ok", f"node is 20.11.1 ({path}/node); by_npx needs it."),
        ("by_uvx", "ok", f"uv is 0.5.9 ({path}/uv); by_uvx needs it."),
    ]


@posix
async def test_npx_without_node_is_a_problem(diagnose: Callable[..., Any], programs: Callable[..., str]) -> None:
    path = programs(npx="10.2.0")
    assert await _runtimes(diagnose, path, "npx") == [("by_npx", "problem", "node is not on PATH; by_npx needs it.")]


@posix
async def test_a_node_older_than_the_sdk_runs_on_is_a_warning(
    diagnose: Callable[..., Any], programs: Callable[..., str]
) -> None:
    path = programs(npx="8", node="v16.20.2")
    assert await _runtimes(diagnose, path, "npx", "node") == [
        (None, "warning", "node is 16.20.2, older than 18; by_npx, by_node need it.")
    ]


@posix
async def test_a_docker_whose_daemon_is_silent_is_a_problem(
    diagnose: Callable[..., Any], programs: Callable[..., str]
) -> None:
    path = programs(docker="")
    assert await _runtimes(diagnose, path, "docker") == [
        ("by_docker", "problem", f"{path}/docker: the Docker daemon does not answer; by_docker needs it.")
    ]


@posix
async def test_offline_runs_no_program(diagnose: Callable[..., Any], programs: Callable[..., str]) -> None:
    path = programs(npx="10", node="v20.1.0")
    assert await _runtimes(diagnose, path, "npx", offline=True) == []
    assert not [name for name in os.listdir(path) if name.endswith(".ran")]


async def test_addresses_without_encryption_and_of_the_old_transport_are_told_without_their_path(
    diagnose: Callable[..., Any], found: Callable[..., Any]
) -> None:
    servers = {
        "bare": {"url": "http://example.com/keys/4711-in-the-path"},
        "leaky": {"url": "http://example.com/mcp", "headers": {"X-Api-Key": "${KEY}"}},
        "near": {"url": "http://127.0.0.1:8000/mcp", "headers": {"X-Api-Key": "${KEY}"}},
        "local": {"url": "http://localhost/mcp"},
        "old": {"url": "https://example.com/sse"},
        "good": {"url": "https://example.com/mcp"},
    }
    diagnosis = await diagnose(servers, environ={"KEY": SECRET}, offline=True)
    assert [(each.server, each.level) for each in found(diagnosis, "url")] == [
        ("bare", "note"),
        ("leaky", "warning"),
        ("old", "note"),
    ]
    assert "4711" not in json.dumps(diagnosis.to_json())
