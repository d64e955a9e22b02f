"""`demo`: the story, told by the servers that ship with Toolcrib and by the reader's own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


def test_the_story_is_told_with_figures_that_hold(program: Cli, tmp_path: Path) -> None:
    ran = program("demo", "--json", env={"TMPDIR": str(tmp_path), "TOOLCRIB_CONFIG_DIR": str(tmp_path / "mine")})
    assert ran.code == 0, ran.err
    story = ran.json["chapters"]
    told = ["surface", "search", "details", "call", "mended", "corrected", "whole", "script", "half_way"]
    assert list(story) == told
    surface = story["surface"]
    assert surface["definitions"]["tokens"] == sum(surface["servers"].values())
    assert surface["toolcrib"]["tokens"] < surface["definitions"]["tokens"] / 10
    assert story["search"]["found"][0] == story["details"]["tool"] == story["call"]["tool"]
    assert [story[key]["is_error"] for key in ("call", "mended", "corrected")] == [False, False, False]
    assert len(story["mended"]["changes"]) == 2
    assert story["corrected"]["refused"]
    assert any("severity" in problem for problem in story["corrected"]["problems"])
    assert story["whole"]["intact"]
    assert story["whole"]["bytes"] > 1_000
    assert not story["script"]["is_error"]
    assert (story["half_way"]["is_error"], story["half_way"]["notes"]) == (False, 1)
    entry = ran.json["connect"]["entry"]["mcpServers"]["toolcrib"]
    assert entry["args"][-2:] == ["--config", str(tmp_path / "mine" / "mcp.json")]
    assert [path.name for path in tmp_path.iterdir()] == []


def test_the_story_reads_well_in_a_pipe_and_leaves_nothing_but_what_is_kept(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    ran = cli("demo", "--keep")
    assert ran.code == 0
    for number, title in enumerate(("What the model sees", "It searches", "It reads", "It calls", "It errs"), 1):
        assert f"{number}. {title}" in ran.out
    assert "claude mcp add toolcrib -- " in ran.out
    assert "In place of its servers" not in ran.out
    assert "toolcrib import and toolcrib install CLIENT are for your own servers." in ran.out
    kept = next(tmp_path.glob("toolcrib-demo-*/mcp.json"))
    assert str(kept) in ran.err
    shown = ran.out[ran.out.index("\n{\n") :]
    entry = json.loads(shown[: shown.index("\n}\n") + 3])["mcpServers"]["toolcrib"]
    assert entry["args"][-3:] == ["serve", "--config", str(kept)]
    assert cli("servers", "-c", kept, "--json").json["servers"][0]["id"] == "tickets"


def test_on_the_reader_s_own_servers_nothing_is_called_but_what_only_reads(
    cli: Cli, config: Callable[..., Path], workshop_entry: Any, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    path = config(workshop={**workshop_entry, "args": [*workshop_entry["args"], str(log)]})
    ran = cli("demo", "--config", path, "--json")
    assert ran.code == 0
    assert list(ran.json["chapters"]) == ["surface", "search", "details", "call"]
    received = [json.loads(line).get("message", {}) for line in log.read_text().splitlines()]
    called = [each["params"]["name"] for each in received if each.get("method") == "tools/call"]
    assert called == ["nothing"]  # the one tool that is annotated as reading and takes nothing


def test_on_servers_without_such_a_tool_nothing_is_called(
    cli: Cli, config: Callable[..., Path], misbehaving: Callable[..., Any]
) -> None:
    ran = cli("demo", "--config", config(strange=misbehaving("Strange"), gone={"command": "no-such-program"}))
    assert ran.code == 0
    assert "call_tool(" not in ran.out
    assert "gone was not shown" in ran.err
