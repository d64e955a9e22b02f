"""*Overview*: what was saved and done over time, what weighs most, and what waits.

A viewer sees the figures of its own calls and conversations, and of servers and tools that it may know of; an approver
and an admin see everybody's.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolcrib.broker import LOCAL, Period
from toolcrib.console.app import Desk, visitor_of
from toolcrib.console.charts import Chart, Layer, bars_over_time, short
from toolcrib.console.rendering import in_words, number
from toolcrib.console.spans import SPANS, Span, span_of
from toolcrib.errors import StoreError
from toolcrib.tokens import counter_name

_HEAVIEST = 8


@dataclass(frozen=True, slots=True)
class Weighed:
    """A tool or a server and what its definitions cost.

    Attributes:
        name: Its id.
        tokens: Their tokens.
        share: The share of all definitions.
        tools: How many tools these are.
    """

    name: str
    tokens: int
    share: float
    tools: int = 1


def routes(desk: Desk) -> list[Route]:
    """The page, for viewers."""

    async def overview(request: Request) -> Response:
        visitor = visitor_of(request)
        sees_all = visitor.may("approver")
        crib = desk.crib
        span = span_of(request.query_params.get("span", ""))
        edges = span.edges(time.time())
        problem = ""
        try:
            whose = "" if sees_all else visitor.name
            periods = await crib.journal.periods(edges, principal=whose)
            [total] = await crib.journal.periods([edges[0], edges[-1]], principal=whose)
        except StoreError as error:
            periods, total, problem = (
                [Period(*each) for each in pairwise(edges)],
                Period(edges[0], edges[-1]),
                str(error),
            )
        caller = LOCAL if visitor.may("admin") else visitor.caller
        weights = await crib.weights(caller=caller)
        servers = crib.servers_for(caller)
        return desk.page(
            request,
            "overview.html",
            "overview",
            span=span,
            spans=SPANS,
            sees_all=sees_all,
            problem=problem,
            total=total,
            recorded=crib.config.settings.journal.enabled,
            periods=[(span.written(each.start), each) for each in periods if each.calls or each.conversations],
            charts_of=_charts(span, edges, periods, total),
            counter=counter_name(),
            weight=sum(weights.values()),
            tools=_heaviest_tools(weights),
            heavy_servers=_heaviest_servers(weights),
            tool_count=len(weights),
            servers=servers,
            server_ids={each.id for each in servers},
            trouble=[each for each in servers if each.in_trouble],
            unlisted=[each for each in servers if each.tools is None and each.state == "dormant"],
            **await _waiting(desk, sees_all=sees_all),
        )

    return [desk.get("/", overview)]


async def _waiting(desk: Desk, *, sees_all: bool) -> dict[str, Any]:
    """What waits for somebody who may decide it; for others there is nothing to do."""
    found: dict[str, Any] = {"approvals": (), "changes": (), "waiting_problem": ""}
    if not sees_all:
        return found
    problems: list[str] = []
    try:
        found["approvals"] = await desk.crib.approvals.list()
    except StoreError as error:
        problems.append(str(error))
    try:
        found["changes"] = [each for each in await desk.crib.changes.list() if each.tool is not None]
    except StoreError as error:
        problems.append(str(error))
    found["waiting_problem"] = " ".join(dict.fromkeys(problems))
    return found


def _charts(span: Span, edges: Sequence[float], periods: Sequence[Period], total: Period) -> dict[str, Chart]:
    spans = [f"{span.written(start)} to {span.written(end)}" for start, end in pairwise(edges)]
    places = span.places(edges)
    last = f"in the last {span.name}"
    latency = (
        f"Latency {last}: half of the calls took up to {in_words(total.median_ms / 1000)}, 95 of 100 up to "
        f"{in_words(total.p95_ms / 1000)}."
        if total.median_ms is not None and total.p95_ms is not None
        else f"Latency {last}: no call came back."
    )
    return {
        "tokens": bars_over_time(
            "tokens",
            f"Tokens {last}: {number(total.spent)} spent on discovery, {number(total.saved)} saved.",
            [
                Layer("spent on discovery", "solid", [each.spent for each in periods]),
                Layer("saved", "hatched", [max(0, each.saved) for each in periods]),
            ],
            spans,
            places,
            short,
        ),
        "calls": bars_over_time(
            "calls",
            f"Calls {last}: {number(total.calls)}, of which {number(total.failed)} failed and "
            f"{number(total.denied)} were refused.",
            [
                Layer("failed", "hatched", [each.failed for each in periods]),
                Layer("refused", "dotted", [each.denied for each in periods]),
                Layer("others", "solid", [each.calls - each.failed - each.denied for each in periods]),
            ],
            spans,
            places,
            short,
        ),
        "latency": bars_over_time(
            "latency",
            latency,
            [
                Layer("half of the calls", "solid", [each.median_ms or 0.0 for each in periods]),
                Layer(
                    "up to 95 of 100", "hatched", [(each.p95_ms or 0.0) - (each.median_ms or 0.0) for each in periods]
                ),
            ],
            spans,
            places,
            lambda value: in_words(value / 1000),
        ),
    }


def _heaviest_tools(weights: dict[str, int]) -> list[Weighed]:
    total = sum(weights.values()) or 1
    return [Weighed(name, tokens, tokens / total) for name, tokens in Counter(weights).most_common(_HEAVIEST)]


def _heaviest_servers(weights: dict[str, int]) -> list[Weighed]:
    total = sum(weights.values()) or 1
    tokens, tools = Counter[str](), Counter[str]()
    for name, each in weights.items():
        server = name.partition(".")[0]
        tokens[server] += each
        tools[server] += 1
    return [Weighed(name, each, each / total, tools[name]) for name, each in tokens.most_common(_HEAVIEST)]
