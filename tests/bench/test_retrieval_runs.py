"""The retrieval bench runs over any folder of sets, and says what it could not measure."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.retrieval.adapters.exchange import Search, Tools, answer, text_of
from bench.retrieval.adapters.fastmcp_regex import pattern
from bench.retrieval.targets import AVERAGED, targets

ROOT = Path(__file__).resolve().parents[2]

NOUNS = ("invoice", "photo", "calendar", "ticket", "playlist", "repository", "recipe", "parcel")


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """Two small sets; one has the name of a set that targets are known for."""
    tools = [
        {"server": noun, "name": f"{verb}_{noun}", "description": f"{verb.title()} a {noun}."}
        for noun in NOUNS
        for verb in ("create", "delete")
    ]
    queries = [
        {"id": noun, "query": f"delete the {noun}", "relevant": [f"{noun}/delete_{noun}"], "kind": noun[0]}
        for noun in NOUNS
    ]
    steps = "1. create an invoice\n2. delete a photo"
    queries.append({**queries[0], "id": "steps", "query": "create and delete", "steps": steps})
    negatives = [{"id": "n", "query": "boil water", "relevant": []}]
    for name in ("etom", "of-my-own"):
        folder = tmp_path / name
        folder.mkdir()
        for file, rows in (("tools", tools), ("queries", queries), ("negatives", negatives)):
            text = "\n".join(json.dumps(row) for row in rows)
            (folder / f"{file}.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


def run_bench(*options: str) -> str:
    command = [sys.executable, "-m", "bench.retrieval", *options]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_one_document_holds_rows_figures_targets_and_what_was_skipped(sets: Path) -> None:
    document: dict[str, Any] = json.loads(run_bench("--data", str(sets), "--strategy", "keyword,magic", "--json"))

    rows = {(row["set"], row.get("kind")): row for row in document["rows"]}
    assert len(rows) == len(document["rows"]) == 2 * (1 + len({noun[0] for noun in NOUNS}))
    whole = rows["of-my-own", None]
    assert (whole["strategy"], whole["queries"]) == ("keyword", len(NOUNS) + 1)
    # Each noun's own tool is first for its request; the ninth request names no noun.
    assert whole["R@1"] >= 100 * len(NOUNS) / (len(NOUNS) + 1) - 0.01
    assert whole["R@5 interval"][0] <= whole["R@5"] <= whole["R@5 interval"][1]
    assert {"R@1", "R@5", "R@10", "R@50", "nDCG@10", "C@10", "server@5"} <= set(whole)

    etom, own = document["figures"]
    assert etom["tools"] == 2 * len(NOUNS)
    assert etom["typos"]["R@5 clean"] == rows["etom", None]["R@5"]
    assert "typos" not in own
    assert own["abstention"][0]["queries"] == 1
    assert own["cost"]["memory_mb"] > own["cost"]["memory_of_index_mb"]
    assert own["tokens"]["name"] < own["tokens"]["brief"] < own["tokens"]["full"]
    # Two steps and one hit a step make two tools.
    assert own["steps"][0]["tools"] == 2

    assert list(document["skipped"]) == ["magic"]
    assert "magic" in document["skipped"]["magic"]
    names = {each["name"]: each for each in document["targets"]}
    assert names["R@5 keyword, etom"]["target"] == 93
    assert names["R@5 keyword, etom"]["value"] == rows["etom", None]["R@5"]
    assert not any("of-my-own" in name or "mean of ten" in name for name in names)


def test_a_person_gets_tables(sets: Path) -> None:
    printed = run_bench("--data", str(sets), "--strategy", "keyword", "--sets", "of-my-own", "--limit-queries", "4")

    assert "keyword: share of needed tools found, in percent" in printed
    assert re.search(r"^of-my-own +4 ", printed, re.MULTILINE)
    assert "etom" not in printed


def test_targets_of_a_mean_come_with_all_ten_columns() -> None:
    rows = [
        {
            "set": name,
            **({"kind": kind} if kind else {}),
            "strategy": "keyword",
            "queries": 9,
            "R@5": 70.0,
            "nDCG@10": 70.0,
        }
        for name, kind in AVERAGED
    ]
    peer = [{**row, "strategy": "peer", "R@5": 80.0} for row in rows]

    names = {each.name: each for each in targets([], rows)}
    assert (names["R@5 keyword, mean of ten"].value, names["R@5 keyword, mean of ten"].met) == (70, True)
    assert "R@5 keyword, mean of ten" not in {each.name for each in targets([], rows[1:])}
    against = {each.name: each for each in targets([], [*rows, *peer], ["peer"])}
    assert against["R@5 keyword against the best peer (peer), etom"].met is False
    slow = [{**row, "queries": 3} for row in peer]
    assert not any("peer" in each.name for each in targets([], [*rows, *slow], ["peer"]))


def test_an_adapter_answers_with_what_a_peer_finds(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def build(tools: Tools) -> Search:
        print("chatter of a peer")
        names = [tool["name"] for tool in tools]
        return lambda query, limit: [name for name in names if query in name]

    asked = {
        "tools": [{"name": "a_read"}, {"name": "b_read"}],
        "queries": ["read", "b_", "none"],
        "limit": 1,
        "seconds": 9,
    }
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(asked)))
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    answer(build)

    printed = capsys.readouterr()
    assert json.loads(printed.out)["found"] == [["a_read"], ["b_read"], []]
    assert printed.err == "chatter of a peer\n"


def test_adapters_see_parameters_and_ask_for_neighbouring_words() -> None:
    schema = {"properties": {"city": {"description": "Where"}, "odd": True}}
    tool = {"name": "w_forecast", "description": "Weather.", "inputSchema": schema}

    assert text_of(tool) == "w_forecast Weather. city Where odd"
    assert re.search(pattern("What is the weather forecast?"), "weather_forecast")
    assert pattern("rain") == "rain"
    assert len(pattern("many words " * 500)) <= 1000
    re.compile(pattern("a [b"))
