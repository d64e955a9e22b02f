"""Keyword search as catalogs grow: building, opening, searching and changing an index, and the memory it takes.

The first tools are those of a labelled set, mcp-union by default (15,721 real tools); more are made up to look like
them (`bench/synthetic.py`). Each size is built in one process and opened in another, so that neither has the memory
of what came before. Requests are those of the set.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.processes import resident_mb
from bench.report import Target, arguments, emit
from bench.retrieval.sets import RetrievalSet, read_set
from bench.synthetic import Synthetic
from toolcrib.catalog import Tool
from toolcrib.search.base import ServerDocs
from toolcrib.search.keyword import KeywordSearcher

SIZES = (2_400, 10_000, 15_721, 100_000, 1_000_000)
SEED = 20_261_130
NEW_TOOLS = 50
REQUESTS = 200
LIMIT = 10


def build(folder: Path, size: int, path: Path) -> dict[str, float]:
    """Fill an index of a size and save it."""
    real = read_set(folder)
    searcher = KeywordSearcher()
    reading = 0.0
    for docs, tools in _servers(real, size):
        begin = time.perf_counter()
        searcher.add(docs, tools)
        reading += time.perf_counter() - begin
    begin = time.perf_counter()
    asyncio.run(searcher.search("first", 1))
    listed = time.perf_counter()
    searcher.save(path)
    return {
        "read_s": round(reading, 2),
        "list_s": round(listed - begin, 2),
        "save_s": round(time.perf_counter() - listed, 2),
        "file_mb": round(path.stat().st_size / 1e6, 1),
    }


def open_and_search(path: Path, texts: Sequence[str], new: Sequence[Tool]) -> dict[str, float]:
    """Open a saved index, search it, and add a server to it."""
    before = resident_mb(os.getpid())
    begin = time.perf_counter()
    searcher = KeywordSearcher()
    assert searcher.load(path)
    opened = time.perf_counter()
    first = asyncio.run(_timed(searcher, ["send a message to a channel"]))[0]
    asyncio.run(_timed(searcher, texts[:20]))
    took = sorted(asyncio.run(_timed(searcher, texts)))
    held = resident_mb(os.getpid())
    return {
        "open_ms": round((opened - begin) * 1e3, 1),
        "first_search_ms": round(first, 1),
        "p50_ms": round(statistics.median(took), 2),
        "p99_ms": round(took[min(len(took) - 1, int(len(took) * 0.99))], 2),
        "add_50_ms": round(statistics.median(asyncio.run(_additions(searcher, new))), 1),
        "memory_mb": round(held, 1),
        "of_it_before_mb": round(before, 1),
    }


async def _timed(searcher: KeywordSearcher, texts: Sequence[str]) -> list[float]:
    """How long each search takes, in ms; the better of two, as anything else may have had the processor."""
    took: list[float] = []
    for text in texts:
        each: list[float] = []
        for _ in range(2):
            begin = time.perf_counter()
            await searcher.search(text, LIMIT)
            each.append((time.perf_counter() - begin) * 1e3)
        took.append(min(each))
    return took


async def _additions(searcher: KeywordSearcher, new: Sequence[Tool]) -> list[float]:
    """How long it takes until tools of a new server can be found, in ms."""
    took: list[float] = []
    for n in range(7):
        server = f"new_{n}"
        tools = [Tool(f"{server}.{tool.id}", server, tool.name, tool.definition) for tool in new]
        begin = time.perf_counter()
        searcher.add(ServerDocs(server), tools)
        await searcher.search("new", 1)
        took.append((time.perf_counter() - begin) * 1e3)
        searcher.remove(server)
    return took


def _servers(real: RetrievalSet, size: int) -> Iterator[tuple[ServerDocs, Sequence[Tool]]]:
    """The servers of a set until there are enough tools, and made-up ones when these are not enough."""
    left = size
    for docs, tools in real.servers:
        if left <= 0:
            return
        yield docs, tools[:left]
        left -= len(tools[:left])
    if left > 0:
        yield from Synthetic(real.servers, SEED).servers(left)


def measure(folder: Path, sizes: list[int]) -> tuple[dict[str, Any], list[Target]]:
    figures: dict[str, Any] = {}
    targets: list[Target] = []
    real = read_set(folder, REQUESTS)
    texts = [request.text for request in real.requests]
    new = list(chain.from_iterable(tools for _, tools in real.servers))[-NEW_TOOLS:]
    with tempfile.TemporaryDirectory() as place:
        for size in sizes:
            path = Path(place) / f"{size}.index"
            built = _apart(build, folder, size, path)
            found = _apart(open_and_search, path, texts, new)
            path.unlink()
            figures[f"{size:,} tools"] = {**built, **found}
            targets += _targets(size, found)
            sys.stderr.write(f"{size:,} tools: {figures[f'{size:,} tools']}\n")
    return figures, targets


def _targets(size: int, found: dict[str, float]) -> list[Target]:
    """The targets that hold at a size: those of the next larger size that has one."""
    targets: list[Target] = []
    limit = next((limit for most, limit in ((2_400, 1.0), (15_721, 2.0), (1_000_000, 30.0)) if size <= most), None)
    if limit:
        targets.append(Target(f"search among {size:,} tools, p50", found["p50_ms"], "ms", limit))
    if size <= 10_000:
        targets.append(Target(f"open an index of {size:,} tools", found["open_ms"], "ms", 500))
    if size <= 15_721:
        targets.append(Target(f"add {NEW_TOOLS} tools to {size:,}", found["add_50_ms"], "ms", 20))
    if size <= 1_000_000:
        targets.append(Target(f"memory with {size:,} tools", found["memory_mb"], "MB", 1_500))
    return targets


def _apart(step: Any, *given: Any) -> dict[str, float]:
    """What a step measures in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(step, *given).result()


def main() -> None:
    parser = arguments(__doc__ or "")
    default = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "retrieval"
    parser.add_argument("--data", type=Path, default=default, help="a folder of labelled sets, or one set")
    parser.add_argument("--set", default="mcp-union", help="which of the sets")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of tools, with commas between")
    options = parser.parse_args()
    folder = options.data if (options.data / "tools.jsonl").is_file() else options.data / options.set
    if not (folder / "tools.jsonl").is_file():
        raise SystemExit(f"no labelled set in {folder}")
    figures, targets = measure(folder, [int(size) for size in options.sizes.split(",")])
    emit("scale", figures, targets, as_json=options.json)


if __name__ == "__main__":
    main()
