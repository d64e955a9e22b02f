"""The bench of the broker runs, and prints one document; a part that is measured little is as good a test."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def ran() -> dict[str, object]:
    little = ("--only", "calls", "--only", "journal", "--calls", "20", "--rounds", "2", "--rows", "3000")
    command = [sys.executable, "-m", "bench.broker", "--json", *little]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    return document


def test_calls_are_measured_side_by_side(ran: dict[str, dict[str, dict[str, dict[str, float]]]]) -> None:
    assert {name: way["n"] for name, way in ran["figures"]["calls"]["ms"].items()} == {
        "direct": 20,
        "read": 20,
        "write": 20,
    }


def test_the_journal_is_listed_by_every_filter(ran: dict[str, dict[str, dict[str, dict[str, float]]]]) -> None:
    listed = ran["figures"]["journal"]["newest_ms"]
    assert {"all", "of a server", "that failed", "of tools by a glob", "of a caller"} <= set(listed)


def test_every_target_says_whether_it_is_met(ran: dict[str, list[dict[str, float]]]) -> None:
    assert ran["bench"] == "broker"
    assert len(ran["targets"]) > 10
    for target in ran["targets"]:
        assert target["met"] is (target["value"] <= target["target"])
