"""One strategy over one set, in a process of its own, so that what it takes is what this one has.

`python -m bench.retrieval.worker FOLDER STRATEGY MOST KEPT` prints one JSON document.
"""

import asyncio
import json
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from bench.processes import resident_mb
from bench.retrieval.metrics import DEEPEST, area, percent, ranks, recall, rows
from bench.retrieval.sets import Request, RetrievalSet, read_set
from bench.retrieval.typos import mistyped
from toolcrib.errors import ConfigError
from toolcrib.search import Hit, Needs, Searcher, make_searcher, merge_needs, nothing_fits, parse_query

RANKED = 24
"""Hits that the product ranks for a page of eight."""

TYPED = ("etom",)
"""The sets that are asked a second time with typing errors."""

_TIMED = 300
_GOES = 3
_ANSWERS = 40
_SEED = 20261130
_STEP_HITS = (1, 3, 5)
_PAGE = 8


@runtime_checkable
class Settling(Protocol):
    """A searcher that goes on building in the background."""

    @property
    def problem(self) -> str: ...

    async def settled(self) -> bool: ...


async def measure(folder: Path, strategy: str, most: int, kept: Path | None) -> dict[str, Any]:
    """Everything that is measured of one strategy over one set.

    Args:
        folder: The set.
        strategy: The strategy.
        most: The most requests; 0 takes all.
        kept: A folder that keeps vectors between runs; None computes them anew.

    Raises:
        RuntimeError: The strategy searched without what it stands on.
    """
    given = read_set(folder, most)
    searcher = make_searcher(strategy)
    before = resident_mb(os.getpid())
    index = await fill(searcher, given, None if kept is None else kept / given.name)
    cost = {**index, **await _query_times(searcher, given.requests)}
    memory = resident_mb(os.getpid())
    found = [await searcher.search(request.text, DEEPEST) for request in given.requests]
    ids = [_ids(hits) for hits in found]
    result: dict[str, Any] = {
        "set": given.name,
        "strategy": strategy,
        "servers": len(given.servers),
        "tools": given.tools,
        "rows": rows(given.requests, ids),
        "cost": {**cost, "memory_mb": memory, "memory_of_index_mb": round(memory - before, 1)},
        "abstention": await _abstention(searcher, given, found),
        "tokens": _tokens(given, found),
    }
    if given.name in TYPED:
        result["typos"] = await _typos(searcher, given.requests, result["rows"][0]["R@5"])
    if any(request.steps for request in given.requests):
        result["steps"] = await _steps(searcher, [request for request in given.requests if request.steps])
    if isinstance(searcher, Settling) and searcher.problem:
        raise RuntimeError(f"Some of its searches did without: {searcher.problem}")
    return result


async def fill(searcher: Searcher, given: RetrievalSet, kept: Path | None = None) -> dict[str, float]:
    """Take in a set, search once, which builds what is built late, and wait for the rest; how long that took.

    Args:
        searcher: An empty searcher.
        given: The set.
        kept: A file beside which vectors are kept between runs.

    Raises:
        RuntimeError: Something could not be built.
    """
    if kept is not None:
        searcher.load(kept)
    begun = time.perf_counter()
    for server, tools in given.servers:
        searcher.add(server, tools)
    added = time.perf_counter()
    await searcher.search("the first search", RANKED)
    searched = time.perf_counter()
    cost = {"index_s": round(searched - begun, 3), "first_search_s": round(searched - added, 3)}
    if isinstance(searcher, Settling):
        if not await searcher.settled():
            raise RuntimeError(searcher.problem or "Not every tool has a vector.")
        cost["vectors_s"] = round(time.perf_counter() - searched, 3)
        await searcher.search("the first search with vectors", RANKED)
        if kept is not None:
            _keep_vectors(searcher, kept)
    return cost


def _keep_vectors(searcher: Searcher, file: Path) -> None:
    """Keep what lies beside the index, but not the index, so that building it is measured each time."""
    searcher.save(file)
    file.unlink(missing_ok=True)


async def _query_times(searcher: Searcher, requests: Sequence[Request]) -> dict[str, float]:
    """The times of single queries in ms, each as the product asks it for a page, and the quickest of three goes."""
    spent: list[float] = []
    for request in requests[:: max(1, len(requests) // _TIMED)]:
        goes: list[float] = []
        for _ in range(_GOES):
            begun = time.perf_counter()
            await searcher.search(request.text, RANKED)
            goes.append((time.perf_counter() - begun) * 1000)
        spent.append(min(goes))
    spent.sort()
    return {"query_p50_ms": round(statistics.median(spent), 3), "query_p95_ms": round(spent[len(spent) * 95 // 100], 3)}


async def _abstention(
    searcher: Searcher, given: RetrievalSet, possible: Sequence[Sequence[Hit]]
) -> list[dict[str, Any]]:
    """How well the best score, and the mark "probably nothing here does this", tell impossible requests."""
    result: list[dict[str, Any]] = []
    wrongly = sum(nothing_fits(hits[:RANKED]) for hits in possible) / len(possible)
    for kind, texts in (("impossible", given.impossible), ("harder", given.harder)):
        if not texts:
            continue
        found = [await searcher.search(text, RANKED) for text in texts]
        result.append(
            {
                "requests": kind,
                "queries": len(texts),
                "AUC": round(area([_best(hits) for hits in possible], [_best(hits) for hits in found]), 4),
                "marked": percent(sum(map(nothing_fits, found)) / len(found)),
                "wrongly_marked": percent(wrongly),
            }
        )
    return result or [{"requests": "none", "queries": 0, "wrongly_marked": percent(wrongly)}]


def _tokens(given: RetrievalSet, found: Sequence[Sequence[Hit]]) -> dict[str, float]:
    """The median tokens of an answer with eight hits at each level of detail, as the meta-tool words it."""
    from toolcrib.crib import DEFAULT_LIMIT, FoundTool, SearchAnswer
    from toolcrib.metatools import DETAILS, search_text
    from toolcrib.search import encode_cursor
    from toolcrib.tokens import count_tokens

    tools = {tool.id: tool for _, listed in given.servers for tool in listed}
    sample = range(0, len(found), max(1, len(found) // _ANSWERS))
    sizes: dict[str, list[int]] = {detail: [] for detail in DETAILS}
    for at in sample:
        query, hits = given.requests[at].text, found[at][:RANKED]
        page = [FoundTool(tools[hit.tool_id], hit) for hit in hits[:DEFAULT_LIMIT]]
        answer = SearchAnswer(
            parse_query(query),
            page,
            total=len(hits),
            at_least=len(hits) == RANKED,
            nothing_fits=nothing_fits(hits),
        )
        cursor = encode_cursor(f"\n{query}", len(page)) if len(page) < len(hits) else None
        for detail, counted in sizes.items():
            counted.append(count_tokens(search_text(answer, detail, cursor)))
    return {detail: statistics.median(counted) for detail, counted in sizes.items()}


async def _typos(searcher: Searcher, requests: Sequence[Request], clean: float) -> dict[str, Any]:
    """R@5 of the same requests with one edit in each word that carries meaning."""
    source = random.Random(_SEED)
    typed = [mistyped(request.text, source) for request in requests]
    ids = [_ids(await searcher.search(text, RANKED)) for text in typed]
    share = sum(recall(ranks(request, each), 5) for request, each in zip(requests, ids, strict=True)) / len(requests)
    return {
        "R@5": percent(share),
        "R@5 clean": clean,
        "lost": round(clean - percent(share), 2),
        "example": typed[0],
    }


async def _steps(searcher: Searcher, requests: Sequence[Request]) -> list[dict[str, Any]]:
    """The steps of tasks, one a line, against the whole task as one need, with as many hits each."""
    result: list[dict[str, Any]] = []
    needs = [_needs(request.steps) for request in requests]
    by_step = [[await searcher.search(need, RANKED) for need in each] for each in needs]
    whole = [await searcher.search(request.text, DEEPEST) for request in requests]
    for label, sizes in (
        *((f"{hits} a step", [hits * len(each) for each in needs]) for hits in _STEP_HITS),
        (f"a page of {_PAGE}", [_PAGE] * len(needs)),
    ):
        parts = [_ids(merge_needs(lists, size)) for lists, size in zip(by_step, sizes, strict=True)]
        figures: Mapping[str, list[list[str]]] = {
            "steps": parts,
            "whole": [_ids(hits)[: len(part)] for hits, part in zip(whole, parts, strict=True)],
        }
        row: dict[str, Any] = {"hits": label, "tools": round(statistics.mean(map(len, parts)), 1)}
        for name, lists in figures.items():
            shares = [recall(ranks(request, ids), len(ids)) for request, ids in zip(requests, lists, strict=True)]
            row[f"{name} recall"] = percent(statistics.mean(shares))
            row[f"{name} complete"] = percent(sum(share == 1 for share in shares) / len(shares))
        result.append(row)
    return result


def _needs(steps: str) -> Sequence[str]:
    """Steps as the product reads them."""
    query = parse_query(steps)
    return query.needs if isinstance(query, Needs) else (steps,)


def _ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.tool_id for hit in hits]


def _best(hits: Sequence[Hit]) -> float:
    """How sure the surest hit is, or how high the first one scores where the strategy can't say."""
    known = [hit.confidence for hit in hits if hit.confidence is not None]
    return max(known) if known else hits[0].score if hits else -math.inf


def main() -> None:
    folder, strategy, most, kept = sys.argv[1:]
    try:
        result = asyncio.run(measure(Path(folder), strategy, int(most), Path(kept) if kept else None))
    except ConfigError as error:
        result = {"unavailable": str(error)}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
