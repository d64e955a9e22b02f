"""The bench of sizes, and the made-up tools that it measures with."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.synthetic import Synthetic

from toolcrib.catalog import Tool
from toolcrib.search import ServerDocs

ROOT = Path(__file__).resolve().parents[2]

NOUNS = ["invoice", "repository", "weather", "ticket", "calendar", "message", "chart", "flight", "recipe", "server"]


def real_rows() -> list[dict[str, Any]]:
    return [
        {
            "server": f"s{n // 5}",
            "name": f"list_{NOUNS[n % 10]}_{NOUNS[n // 10 % 10]}",
            "description": f"List every {NOUNS[n % 10]} of a {NOUNS[n * 7 % 10]}. Sorted by word{n}.",
            "inputSchema": {"properties": {"page": {"description": f"Which {NOUNS[n % 10]} to begin with"}}},
        }
        for n in range(60)
    ]


def servers() -> list[tuple[ServerDocs, list[Tool]]]:
    by_server: dict[str, list[Tool]] = {}
    for row in real_rows():
        tool = Tool(f"{row['server']}.{row['name']}", row["server"], row["name"], row)
        by_server.setdefault(row["server"], []).append(tool)
    return [(ServerDocs(name), tools) for name, tools in by_server.items()]


def test_the_same_seed_makes_the_same_tools_and_as_many_as_asked_for() -> None:
    made = [list(Synthetic(servers(), 7).servers(23)) for _ in range(2)]
    assert made[0] == made[1]
    tools = [tool for _, listed in made[0] for tool in listed]
    assert len({tool.id for tool in tools}) == 23
    assert list(Synthetic(servers(), 8).servers(23)) != made[0]


def test_made_up_tools_have_the_words_of_real_ones_and_bring_some_of_their_own() -> None:
    made = [tool for _, listed in Synthetic(servers(), 7).servers(200) for tool in listed]
    words = {word for tool in made for word in tool.description.replace(".", " ").split()}
    real = {word for row in real_rows() for word in row["description"].lower().replace(".", " ").split()}
    assert {"list", "every", "of"} <= words
    assert words - real


def test_the_bench_measures_real_and_made_up_sizes_in_processes_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "tools.jsonl").write_text("\n".join(map(json.dumps, real_rows())), encoding="utf-8")
    query = {"id": "1", "query": "list invoices", "relevant": ["s0/list_invoice_invoice"]}
    (tmp_path / "queries.jsonl").write_text(json.dumps(query), encoding="utf-8")
    command = [sys.executable, "-m", "bench.scale", "--json", "--sizes", "40,120", "--data", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert document["bench"] == "scale"
    assert list(document["figures"]) == ["40 tools", "120 tools"]
    for figures in document["figures"].values():
        assert {"read_s", "list_s", "open_ms", "p50_ms", "p99_ms", "add_50_ms", "memory_mb"} <= set(figures)
    assert {target["unit"] for target in document["targets"]} == {"ms", "MB"}


def test_a_folder_without_a_set_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.scale", "--data", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode != 0
    assert str(tmp_path) in ran.stderr
