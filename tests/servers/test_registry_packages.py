"""What becomes of an entry of a registry: which program would run it, with which arguments and inputs."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolcrib.config import Variables, config_from_mapping
from toolcrib.errors import UsageError
from toolcrib.servers.registries import ServerDescription, propose
from toolcrib.servers.registries.document import read_description

ENTRIES: dict[str, Any] = json.loads((Path(__file__).parent / "registry_entries.json").read_text())
WEATHER, OLD = ENTRIES["weather"], ENTRIES["old"]
"""One as documents are now, and one as of July 2025."""


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
