"""Labelled sets on disk as what the product is fed with: servers, tools, and requests with the tools that they need.

A set is a folder with `tools.jsonl` (`server`, `name` and the rest of a definition, one tool a line) and
`queries.jsonl` (`id`, `query`, `relevant`, and `groups?`, `kind?`, `steps?`); `servers.jsonl` (titles and
descriptions) and `negatives.jsonl` (requests that nothing in the set can do) are there where they are.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from toolcrib.catalog import Tool
from toolcrib.schema import server_ids, tool_ids
from toolcrib.search import ServerDocs

NEGATIVES = Path(__file__).resolve().parent.parent / "data" / "negatives.jsonl"
"""Requests to a vendor that is there, for something that none of its tools does."""

GROUPS_KEY = "io.modelcontextprotocol/groups"
_DEFINITION = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta")


@dataclass(frozen=True, slots=True)
class Request:
    """What someone asks for.

    Attributes:
        text: The request.
        kind: The part of the set that it belongs to; empty where the set has none.
        needed: The ids of the tools that it needs, each with those that would do as well.
        steps: The same request step by step, one a line; empty where the set has none.
    """

    text: str
    kind: str
    needed: tuple[frozenset[str], ...]
    steps: str = ""


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """One labelled set.

    Attributes:
        name: The folder's name.
        servers: Each server with its tools, named and described as a crib would have them.
        keys: What the set calls each server, by its id.
        requests: What can be done.
        impossible: What nothing in the set can do.
        harder: The same, for a vendor that the set has.
    """

    name: str
    servers: Sequence[tuple[ServerDocs, Sequence[Tool]]]
    keys: Mapping[str, str]
    requests: Sequence[Request]
    impossible: Sequence[str]
    harder: Sequence[str]

    @property
    def tools(self) -> int:
        return sum(len(tools) for _, tools in self.servers)


def set_folders(data: Path, wanted: Sequence[str] = ()) -> list[Path]:
    """The sets in a folder, or the folder itself where it is one.

    Raises:
        SystemExit: There are none, or one that was asked for is not there.
    """
    folders = [folder for folder in (data, *sorted(data.glob("*"))) if (folder / "tools.jsonl").is_file()]
    found = {folder.resolve().name: folder for folder in folders if (folder / "queries.jsonl").is_file()}
    missing = [name for name in wanted if name not in found]
    if missing or not found:
        raise SystemExit(f"no labelled sets in {data}" if not found else f"no set {', '.join(missing)} in {data}")
    return [found[name] for name in wanted or found]


def read_set(folder: Path, most: int = 0) -> RetrievalSet:
    """Read a set.

    Args:
        folder: Where it is.
        most: The most requests, taken evenly over the file; 0 takes all.
    """
    name = folder.resolve().name
    by_server: dict[str, list[dict[str, Any]]] = {}
    for row in _lines(folder / "tools.jsonl"):
        by_server.setdefault(row["server"], []).append(row)
    ids = server_ids(by_server)
    about = {row["server"]: row for row in _lines(folder / "servers.jsonl")}
    servers: list[tuple[ServerDocs, Sequence[Tool]]] = []
    by_label: dict[str, str] = {}
    for raw, rows in by_server.items():
        tools = _tools(ids[raw], rows)
        servers.append((_docs(ids[raw], raw, about.get(raw, {})), tools))
        by_label.update((f"{raw}/{tool.name}", tool.id) for tool in tools)
    asked = list(_lines(folder / "queries.jsonl"))
    requests = [_request(row, by_label) for row in asked if row.get("relevant")]
    impossible = [row["query"] for row in asked if not row.get("relevant")]
    impossible += [row["query"] for row in _lines(folder / "negatives.jsonl")]
    keys = {ids[raw]: raw for raw in by_server}
    return RetrievalSet(name, servers, keys, _spread(requests, most), impossible, harder(name, by_server))


def harder(name: str, servers: Mapping[str, Any]) -> list[str]:
    """The harder impossible requests whose vendor a set has."""
    return [row["query"] for row in _lines(NEGATIVES) if servers.keys() & set(row["near"].get(name, ()))]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.is_file():
        with path.open(encoding="utf-8") as file:
            yield from (json.loads(line) for line in file if line.strip())


def _spread(requests: Sequence[Request], most: int) -> Sequence[Request]:
    if not most or len(requests) <= most:
        return requests
    return [requests[at * len(requests) // most] for at in range(most)]


def _tools(server: str, rows: Sequence[dict[str, Any]]) -> list[Tool]:
    ids = tool_ids(server, [row["name"] for row in rows])
    return [Tool(ids[row["name"]], server, row["name"], _definition(row)) for row in rows]


def _definition(row: Mapping[str, Any]) -> dict[str, Any]:
    """The definition in a row; a category becomes the group that a server would send."""
    definition = {key: row[key] for key in _DEFINITION if key in row}
    if isinstance(row.get("category"), str):
        definition["_meta"] = {**definition.get("_meta", {}), GROUPS_KEY: [row["category"]]}
    return definition


def _docs(server_id: str, raw: str, about: Mapping[str, Any]) -> ServerDocs:
    """What a crib knows of a server; one without a title has its name as one, as servers report it."""
    return ServerDocs(server_id, title=about.get("title") or raw, description=about.get("description") or "")


def _request(row: Mapping[str, Any], by_label: Mapping[str, str]) -> Request:
    groups: list[list[str]] = row.get("groups") or [[label] for label in row["relevant"]]
    needed = tuple(frozenset(by_label.get(label, f"? {label}") for label in group) for group in groups)
    return Request(row["query"], row.get("kind") or "", needed, _steps(row.get("steps")))


def _steps(steps: Any) -> str:
    lines = cast("list[object]", steps) if isinstance(steps, list) else str(steps or "").splitlines()
    return "\n".join(text for line in lines if (text := str(line).strip()))
