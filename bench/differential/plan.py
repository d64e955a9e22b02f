"""What is called: a settled sequence for each seed, of calls whose answers depend on nothing but the calls before.

Clocks, identifiers that a server makes up and whatever reaches beyond this machine are left out, so that nothing has
to be overlooked when answers are compared.
"""

import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_WORDS = ("bread", "Grüße 🜁", "naïve café", "tab\tand\nline", 'quotes "and" \\slashes\\', "日本語", "<b>&amp;</b>", "")
_PEOPLE = ("Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald")
_SHEETS = ("Sales", "Stock", "Notes")

_SHARES = {
    "everything": 6,
    "filesystem": 6,
    "memory": 5,
    "sequential-thinking": 2,
    "kubernetes": 1,
    "time": 1,
    "fetch": 2,
    "motherduck": 4,
    "excel": 3,
    "chroma": 2,
}
"""How often each server is called, in proportion."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One call.

    Attributes:
        server: The server's key.
        tool: The tool, by the server's own name.
        arguments: Its arguments.
    """

    server: str
    tool: str
    arguments: dict[str, Any]


Made = tuple[str, dict[str, Any]]
Maker = Callable[[random.Random], Made]


def planned(seed: int, calls: int, folder: Path, address: str, servers: Collection[str]) -> list[Planned]:
    """The calls of a seed.

    Args:
        seed: Settles them.
        calls: How many.
        folder: Where the servers keep their files.
        address: Where pages are served.
        servers: The keys of those to call.
    """
    rng = random.Random(seed)
    makers: Mapping[str, Maker] = {
        "everything": _everything,
        "filesystem": lambda rng: _filesystem(rng, folder / "files"),
        "memory": _memory,
        "sequential-thinking": _thinking,
        "kubernetes": lambda rng: ("configuration_view", {"minified": rng.random() < 0.5}),
        "time": _time,
        "fetch": lambda rng: _fetch(rng, address),
        "motherduck": _motherduck,
        "excel": lambda rng: _excel(rng, folder / "books"),
        "chroma": _chroma,
    }
    keys = [key for key in makers if key in servers]
    chosen = rng.choices(keys, [_SHARES[key] for key in keys], k=calls)
    return [Planned(server, *makers[server](rng)) for server in chosen]


def _everything(rng: random.Random) -> Made:
    steps = rng.randint(1, 5)
    return rng.choice(
        [
            ("echo", {"message": rng.choice(_WORDS)}),
            ("get-sum", {"a": rng.randint(-(10**9), 10**9), "b": rng.choice([0, 1, 0.5, -2.25])}),
            ("get-tiny-image", {}),
            (
                "get-annotated-message",
                {"messageType": rng.choice(["error", "success", "debug"]), "includeImage": rng.random() < 0.5},
            ),
            ("get-resource-links", {"count": rng.randint(1, 8)}),
            ("get-structured-content", {"location": rng.choice(["New York", "Chicago", "Los Angeles"])}),
            ("trigger-long-running-operation", {"duration": 0.02 * steps, "steps": steps}),
        ]
    )


def _filesystem(rng: random.Random, files: Path) -> Made:
    path = str(files / f"{rng.choice('abcd')}.txt")
    text = "\n".join(rng.choice(_WORDS) for _ in range(rng.randint(1, 30)))
    edits = [{"oldText": "bread", "newText": "butter"}]
    return rng.choice(
        [
            ("write_file", {"path": path, "content": text}),
            ("read_text_file", {"path": path}),
            ("read_text_file", {"path": path, "head": rng.randint(1, 5)}),
            ("read_text_file", {"path": "/etc/hostname"}),
            ("read_multiple_files", {"paths": [path, str(files / "greeting.txt"), str(files / "none.txt")]}),
            ("edit_file", {"path": path, "edits": edits, "dryRun": rng.random() < 0.5}),
            ("create_directory", {"path": str(files / rng.choice("xyz"))}),
            ("list_directory_with_sizes", {"path": str(files), "sortBy": "name"}),
            ("search_files", {"path": str(files), "pattern": rng.choice(["*.txt", "none*"])}),
            ("move_file", {"source": path, "destination": str(files / f"{rng.choice('efg')}.txt")}),
            ("list_allowed_directories", {}),
        ]
    )


def _memory(rng: random.Random) -> Made:
    one, other = rng.sample(_PEOPLE, 2)
    entity = {"name": one, "entityType": "person", "observations": [rng.choice(_WORDS)]}
    relation = {"from": one, "to": other, "relationType": rng.choice(["knows", "taught"])}
    return rng.choice(
        [
            ("create_entities", {"entities": [entity]}),
            ("create_relations", {"relations": [relation]}),
            ("add_observations", {"observations": [{"entityName": one, "contents": [rng.choice(_WORDS)]}]}),
            ("delete_entities", {"entityNames": [one]}),
            ("delete_relations", {"relations": [relation]}),
            ("read_graph", {}),
            ("search_nodes", {"query": rng.choice(["ada", "bread", "nothing"])}),
            ("open_nodes", {"names": [one, other]}),
        ]
    )


def _thinking(rng: random.Random) -> Made:
    total = rng.randint(1, 5)
    thought = {
        "thought": rng.choice(_WORDS[:-1]),
        "nextThoughtNeeded": rng.random() < 0.5,
        "thoughtNumber": rng.randint(1, total),
        "totalThoughts": total,
    }
    return "sequentialthinking", thought


def _time(rng: random.Random) -> Made:
    # A conversion tells today's date; only what it refuses is the same at any time.
    zones = {"source_timezone": "Mars/Olympus", "target_timezone": "UTC"}
    if rng.random() < 0.5:
        zones = {"source_timezone": "UTC", "target_timezone": "Nowhere/At_All"}
    return "convert_time", {**zones, "time": rng.choice(["12:00", "23:59"])}


def _fetch(rng: random.Random, address: str) -> Made:
    page = rng.choice(["page.json", "long.txt", "plain.html", "none"])
    asked: dict[str, Any] = {"url": f"{address}/{page}"}
    if rng.random() < 0.5:
        asked |= {"max_length": rng.randint(50, 5000), "start_index": rng.randint(0, 500)}
    return "fetch", {**asked, "raw": rng.random() < 0.5}


def _motherduck(rng: random.Random) -> Made:
    number = rng.randint(1, 99)
    queries = [
        "CREATE TABLE IF NOT EXISTS item (id INTEGER, name VARCHAR, price DECIMAL(10, 2))",
        f"INSERT INTO item VALUES ({number}, '{rng.choice(_PEOPLE)}', {number}.25)",
        f"SELECT id, name, price FROM item WHERE id < {number} ORDER BY id, name, price",
        "SELECT name, count(*) AS n FROM item GROUP BY name ORDER BY name",
        f"SELECT {number} * 7 AS answer, NULL AS nothing, TRUE AS yes, [1, 2] AS list",
        "SELEC",
        "SELECT * FROM no_such_table",
    ]
    if rng.random() < 0.15:
        return "list_columns", {"table": rng.choice(["item", "no_such_table"])}
    return "execute_query", {"sql": rng.choice(queries)}


def _excel(rng: random.Random, books: Path) -> Made:
    # In a folder that nothing lists with sizes: workbooks hold the time of their making, packed.
    path = str(books / f"{rng.choice('pq')}.xlsx")
    sheet = rng.choice(_SHEETS)
    rows = [[rng.randint(0, 99), rng.choice(_PEOPLE)] for _ in range(rng.randint(1, 4))]
    return rng.choice(
        [
            ("create_workbook", {"path": path, "sheets": list(_SHEETS), "overwrite": True}),
            ("write_range", {"path": path, "sheet": sheet, "at": "A1", "rows": rows}),
            ("read_range", {"path": path, "sheet": sheet, "range": "A1:C5"}),
            ("find_cells", {"path": path, "query": rng.choice(_PEOPLE)}),
            ("describe_sheet", {"path": path, "sheet": rng.choice([sheet, "None"])}),
            ("merge_cells", {"path": path, "sheet": sheet, "range": "E1:F2", "action": "merge"}),
        ]
    )


def _chroma(rng: random.Random) -> Made:
    # What it says of a collection that it makes has an address of its memory in it.
    name = f"letters-{rng.choice('abc')}"
    return rng.choice(
        [
            ("chroma_get_collection_count", {"collection_name": name}),
            ("chroma_delete_collection", {"collection_name": name}),
            ("chroma_list_collections", {"limit": rng.randint(1, 9)}),
        ]
    )
