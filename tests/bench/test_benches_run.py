"""The benches run, and print the document that DESIGN and the README promise."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def few_catalogs(catalogs: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three recorded catalogs: a bench that measures little is as good a test."""
    folder = tmp_path_factory.mktemp("catalogs")
    for name in ("filesystem", "github-reference", "time"):
        (folder / f"{name}.json").write_text(json.dumps(catalogs[name]), encoding="utf-8")
    return folder


def run_bench(name: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", f"bench.{name}", "--json", *options]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)  # one document and nothing else
    assert document["bench"] == name
    assert document["targets"]
    for target in document["targets"]:
        assert set(target) == {"name", "value", "unit", "target", "better", "met"}
        within = target["value"] <= target["target"]
        higher = target["value"] >= target["target"]
        assert target["met"] is (within if target["better"] == "lower" else higher)
    return document


def test_the_tokens_bench_counts_definitions_surface_and_answers(few_catalogs: Path) -> None:
    figures = run_bench("tokens", "--data", str(few_catalogs))["figures"]

    assert figures["servers"] == 3
    assert 0 < figures["surface"] < figures["all_definitions"]
    assert set(figures["search_answers"]) == {"name", "brief", "signature", "full"}


def test_the_gateway_bench_measures_calls_and_starts_and_says_that_peers_were_left_out(few_catalogs: Path) -> None:
    little = ("--no-peers", "--calls", "4", "--rounds", "2", "--servers", "4", "--starts", "1")
    figures = run_bench("gateway", "--data", str(few_catalogs), *little)["figures"]

    assert figures["peer"] == "left out (--no-peers)"
    for transport in ("http", "stdio"):
        assert figures[transport]["direct_ms"]["n"] == figures[transport]["toolcrib_ms"]["n"] == 4
        assert figures[transport]["toolcrib_over_direct"] > 0
        assert "fastmcp_ms" not in figures[transport]
    start = figures["start"]
    # Four servers of three catalogs: the first catalog comes twice.
    assert start["servers"] == 4
    assert start["children"] == 0
    assert start["first_list_ms"]["n"] == start["bare_first_list_ms"]["n"] == 1
    assert start["memory_mb"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="counts processes in /proc")
def test_the_lifecycle_bench_counts_what_runs_and_what_is_left(few_catalogs: Path) -> None:
    start = ("--servers", "4", "--starts", "1")
    little = ("--running", "6", "--cap", "2", "--calls", "200", "--soak-servers", "4", "--flaky", "1")
    document = run_bench(
        "lifecycle", "--data", str(few_catalogs), *start, *little, "--storm", "20", "--probe-wait", "0.5"
    )
    figures = document["figures"]

    # What does not depend on how quick the machine is.
    assert figures["cap"]["samples"] > 0
    assert 0 < figures["cap"]["most_processes"] <= 2
    assert (figures["cap"]["unanswered"], figures["cap"]["left_after_close"]) == (0, 0)
    # Toolcrib, its watchdog, two servers, and the process that one of them starts.
    assert (figures["kill"]["processes"], figures["kill"]["left"]) == (5, 0)
    assert sum(figures["soak"]["ends"].values()) == 200
    assert (figures["soak"]["unclear"], figures["soak"]["late"]) == ([], 0)
    assert set(figures["soak"]["leaked"].values()) == {0}
    assert (figures["storm"]["starts"], figures["storm"]["unanswered"]) == (1, 0)
    assert figures["probe"]["probes"] == 1


def test_the_scripts_bench_measures_times_growth_and_what_twenty_tasks_save() -> None:
    figures = run_bench("scripts", "--no-peers", "--runs", "2", "--many", "5", "--exits", "1")["figures"]

    assert len(figures["tokens"]) == 20
    assert 50 < figures["saved_percent"] < 100
    assert 50 < figures["saved_percent_of_all_requests"] < 100
    assert figures["growth"]["memory"] > 0
    assert figures["exits"] == {"runs": 1, "ended with 0": 1}
    assert figures["plain scripts"]["python"] == 25
    assert figures["peer"] == "left out (--no-peers)"


def test_the_surfaces_bench_counts_first_requests_and_a_task(few_catalogs: Path) -> None:
    figures = run_bench("surfaces", "--data", str(few_catalogs))["figures"]

    first = figures["first request, tokens of the tools"]
    assert set(first["all"]) == {"anthropic", "openai", "openai-chat", "gemini"}
    for kind in first["all"]:
        one_line, full = first["deferred, one line each"][kind], first["deferred, full descriptions"][kind]
        assert one_line <= full < first["all"][kind]
    assert figures["one task, tokens of all requests"]["search"] > 0
    assert len(figures["each"]) == 3


def test_the_load_bench_loses_and_crosses_no_answers() -> None:
    little = ("--no-peers", "--clients", "8", "--seconds", "1.2", "--calls", "4", "--rounds", "2")
    figures = run_bench("load", *little)["figures"]

    assert figures["peer"] == "left out (--no-peers)"
    for way in ("bare", "toolcrib"):
        assert figures[way]["answers"] > 0
        assert (figures[way]["errors"], figures[way]["crossed"]) == ({}, 0)
    assert len(figures["memory_mb"]) == 7
