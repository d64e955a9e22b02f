"""The small model of a configuration on the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.llm import LlmConfiguration, ProviderError, ScriptedProvider, register_provider, use

Cli = Callable[..., Any]

DELEGATE = {"strategy": "delegate", "embedder_patience": 60}
"""However long a busy machine takes to load the embedder, from whose hits is chosen."""


@pytest.fixture
def config(workshop: Path, tmp_path: Path) -> Callable[..., Path]:
    """Writes the workshop's configuration with a model, to be read after it."""

    def write(model: str, **more: Any) -> Path:
        path = tmp_path / "model.json"
        path.write_text(json.dumps({"mcpServers": {}, "toolcrib": {"small_model": model, **more}}))
        return path

    return write


def scripted(name: str, *steps: Any) -> str:
    def make(given: LlmConfiguration) -> ScriptedProvider:
        return ScriptedProvider(steps)

    register_provider(name, make)
    return f"{name}:small"


def test_search_asks_it_and_goes_on_without(cli: Cli, workshop: Path, config: Callable[..., Path]) -> None:
    plain = [each["id"] for each in cli("search", "-c", workshop, "issue", "--json").json["found"]]
    last = plain[-1]
    model = scripted("cli-chooser", use("answer", {"ids": [last]}))
    chosen = cli("search", "-c", workshop, "-c", config(model, search=DELEGATE), "issue", "--json").json
    assert (chosen["found"][0]["id"], chosen["problem"]) == (last, "")
    model = scripted("cli-broken", ProviderError("x", "The vendor is down."))
    ran = cli("search", "-c", workshop, "-c", config(model, search=DELEGATE), "issue")
    assert ran.code == 0
    assert plain[0] in ran.out
    assert ran.err.startswith("toolcrib: The chooser is not used: The vendor is down.\n")


def test_run_extracts_and_check_warns_of_a_loop(cli: Cli, workshop: Path, config: Callable[..., Path]) -> None:
    path = config(scripted("cli-reader", use("answer", {"value": 30})))
    ran = cli("run", "-c", workshop, "-c", path, "--code", "await extract('Ann is 30', int)")
    assert (ran.code, ran.out) == (0, "30\n")
    checked = cli("run", "-c", workshop, "-c", path, "--check", "--code", "for x in 'ab':\n  await extract(x, int)")
    assert checked.code == 0
    assert checked.out.startswith("line 2 (hint): extract asks a model each time")


@pytest.mark.parametrize("command", [("search", "x"), ("run", "--code", "1"), ("doctor", "--offline"), ("serve",)])
def test_a_provider_that_there_is_not_is_told(
    cli: Cli, workshop: Path, config: Callable[..., Path], command: tuple[str, ...]
) -> None:
    ran = cli(*command[:1], "-c", workshop, "-c", config("anthropik:claude"), *command[1:])
    assert ran.code == 2
    assert "There is no provider 'anthropik'." in ran.err


def test_delegate_without_a_model_says_what_to_configure(cli: Cli, workshop: Path, config: Callable[..., Path]) -> None:
    ran = cli("search", "-c", workshop, "-c", config("", search={"strategy": "delegate"}), "x")
    assert ran.code == 2
    assert "toolcrib.small_model" in ran.err
