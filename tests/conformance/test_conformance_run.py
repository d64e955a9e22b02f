"""How a leg of the conformance suite is judged; `make conformance` runs the legs."""

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def run() -> Any:
    """The module of the runner, where the suite is installed."""
    spec = importlib.util.spec_from_file_location("toolcrib_conformance_run", HERE / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not module.SUITE.exists():
        reason = "the conformance suite is not installed; run `make real`"
        if os.environ.get("TOOLCRIB_CI") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return module


def test_every_scenario_counts_and_a_baseline_can_only_shrink(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leg = run.Leg("fixture", "2025-11-25")
    report = run.run_leg(leg)
    # The suite's own list of what 2025-11-25 requires of a server has thirty scenarios.
    assert (report.ok, report.passed, report.required) == (True, 30, 30)
    monkeypatch.setattr(run, "HERE", tmp_path)
    (tmp_path / "fixture").symlink_to(HERE / "fixture")
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / f"{leg.name}.yml").write_text("server:\n  - ping\n")
    report = run.run_leg(leg)
    assert (report.ok, report.passed) == (False, 30)
    assert "Stale baseline entries" in report.said


@pytest.mark.parametrize("baseline", sorted((HERE / "baselines").iterdir()), ids=lambda path: path.stem)
def test_a_baseline_belongs_to_a_leg_and_says_why(run: Any, baseline: Path) -> None:
    assert baseline.stem in {leg.name for leg in run.LEGS}
    assert baseline.read_text().startswith("#")


def test_a_warning_fails_a_scenario_and_so_does_one_that_never_ran(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "server-ping-2026-11-30T18-45-40-290Z"
    folder.mkdir()
    checks = [
        {"id": "ping", "status": "SUCCESS", "description": "answers"},
        {"id": "prompt", "status": "WARNING", "description": "answers soon"},
    ]
    (folder / "checks.json").write_text(json.dumps(checks))
    assert run.problems_of(tmp_path, "server", "ping") == ["prompt: answers soon"]
    assert run.problems_of(tmp_path, "server", "server-ping-other") == ["it did not run"]
