"""Labelled sets become what a crib holds."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.retrieval.sets import NEGATIVES, harder, read_set, set_folders


def write(folder: Path, **files: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    for name, rows in files.items():
        text = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(text + "\n", encoding="utf-8")
    return folder


TOOLS = [
    {"server": "My Files", "name": "read file", "description": "Reads.", "origin": "x", "inputSchema": {"a": 1}},
    {"server": "My Files", "name": "read-file", "description": "Reads too."},
    {"server": "weather", "name": "forecast", "description": "", "category": "Climate"},
]
QUERIES = [
    {"id": "1", "query": "read", "relevant": ["My Files/read file"], "steps": "1. open\n\n2. read\n"},
    {"id": "2", "query": "rain", "relevant": ["x/y"], "groups": [["weather/forecast", "x/y"]], "kind": "hard"},
    {"id": "3", "query": "fly", "relevant": []},
]


def test_tools_and_servers_are_named_and_described_as_a_crib_does_it(tmp_path: Path) -> None:
    about = [{"server": "weather", "title": "Weather", "description": "Rain and sun"}]
    given = read_set(write(tmp_path / "small", tools=TOOLS, queries=QUERIES, servers=about))

    (files, file_tools), (weather, weather_tools) = given.servers
    assert (files.id, files.title) == ("my_files", "My Files")
    # Two names that would be one identifier get a hash each.
    assert all(tool.id.startswith("my_files.read_file_") for tool in file_tools)
    assert len({tool.id for tool in file_tools}) == 2
    assert file_tools[0].definition == {"name": "read file", "description": "Reads.", "inputSchema": {"a": 1}}
    assert (weather.title, weather.description) == ("Weather", "Rain and sun")
    assert weather_tools[0].id == "weather.forecast"
    assert weather_tools[0].meta == {"io.modelcontextprotocol/groups": ["Climate"]}
    assert given.keys == {"my_files": "My Files", "weather": "weather"}
    assert given.tools == 3


def test_requests_need_groups_and_one_that_needs_nothing_is_impossible(tmp_path: Path) -> None:
    folder = write(tmp_path / "small", tools=TOOLS, queries=QUERIES, negatives=[{"id": "n", "query": "swim"}])
    given = read_set(folder)
    tool_id = given.servers[0][1][0].id

    reading, rain = given.requests
    assert reading.needed == (frozenset({tool_id}),)
    assert reading.steps == "1. open\n2. read"
    assert (rain.kind, rain.steps) == ("hard", "")
    assert "weather.forecast" in rain.needed[0]
    assert list(given.impossible) == ["fly", "swim"]
    assert list(given.harder) == []


def test_a_limit_takes_requests_from_all_over_the_file(tmp_path: Path) -> None:
    queries = [{"id": str(at), "query": str(at), "relevant": ["weather/forecast"]} for at in range(10)]
    folder = write(tmp_path / "small", tools=TOOLS, queries=queries)

    assert [request.text for request in read_set(folder, 3).requests] == ["0", "3", "6"]
    assert len(read_set(folder, 30).requests) == 10


def test_a_folder_of_sets_and_a_single_set_are_both_taken(tmp_path: Path) -> None:
    one = write(tmp_path / "one", tools=TOOLS, queries=QUERIES)
    two = write(tmp_path / "two", tools=TOOLS, queries=QUERIES)
    write(tmp_path / "no-queries", tools=TOOLS)

    assert set_folders(tmp_path) == [one, two]
    assert set_folders(one) == [one]
    assert set_folders(tmp_path, ["two"]) == [two]
    with pytest.raises(SystemExit, match="no set three"):
        set_folders(tmp_path, ["three"])
    with pytest.raises(SystemExit, match="no labelled sets"):
        set_folders(tmp_path / "no-queries")


def test_there_are_a_hundred_harder_negatives_of_our_own() -> None:
    rows = [json.loads(line) for line in NEGATIVES.read_text(encoding="utf-8").splitlines()]

    assert len(rows) == len({row["query"] for row in rows}) == len({row["id"] for row in rows}) == 100
    assert all(row["near"] and all(row["near"].values()) for row in rows)
    servers = dict.fromkeys(name for row in rows for name in row["near"].get("azure-mcp", ()))
    assert len(harder("azure-mcp", servers)) == sum("azure-mcp" in row["near"] for row in rows)
    assert harder("another set", servers) == []


@pytest.mark.shared
def test_the_vendors_of_the_harder_negatives_are_in_the_sets(data_dir: Path) -> None:
    rows = [json.loads(line) for line in NEGATIVES.read_text(encoding="utf-8").splitlines()]
    for name in dict.fromkeys(name for row in rows for name in row["near"]):
        with (data_dir / "retrieval" / name / "tools.jsonl").open(encoding="utf-8") as file:
            servers = {json.loads(line)["server"] for line in file}
        for row in rows:
            assert set(row["near"].get(name, ())) <= servers
