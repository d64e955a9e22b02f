"""What the doctor says of the sandboxes in which scripts run: real ones, started and tried out."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.config import Config, config_from_mapping
from toolcrib.doctor import Diagnosis, Finding
from toolcrib.sandbox import bubblewrap

pytestmark = pytest.mark.anyio


def about_scripts(diagnosis: Diagnosis) -> list[Finding]:
    return [each for each in diagnosis.findings if each.check == "sandbox"]


def configured(scripts: dict[str, Any]) -> Config:
    return config_from_mapping({"mcpServers": {}, "toolcrib": {"scripts": scripts}})


@pytest.mark.skipif(not bubblewrap.usable()[0], reason=bubblewrap.usable()[1] or "bubblewrap works here")
async def test_it_tells_the_wall_that_was_tried_out(diagnose: Callable[..., Any]) -> None:
    [found] = about_scripts(await diagnose(config=Config()))
    assert (found.level, found.server) == ("ok", None)
    assert "under bubblewrap; the wall was tried out" in found.message


async def test_the_interpreter_alone_is_noted(
    diagnose: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    [found] = about_scripts(await diagnose(config=Config()))
    assert found.level == "note"
    assert "interpreter alone" in found.message
    assert "bubblewrap" in found.hint


async def test_a_language_that_can_not_be_run_is_a_problem(
    diagnose: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # Deno's memory is bounded by a shell's limits
    found = about_scripts(await diagnose(config=configured({"typescript": True})))
    assert [each.level for each in found][1:] == ["problem"]
    assert "TypeScript" in found[1].message


@pytest.mark.parametrize(
    ("settings", "options"),
    [({"enabled": False}, {}), ({}, {"offline": True})],
    ids=["switched off", "offline"],
)
async def test_none_is_started_where_none_is_used_or_nothing_may_start(
    diagnose: Callable[..., Any], settings: dict[str, Any], options: dict[str, Any]
) -> None:
    assert about_scripts(await diagnose(config=configured(settings), **options)) == []
