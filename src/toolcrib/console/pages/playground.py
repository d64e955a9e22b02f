"""*Search*: a query, what each strategy ranks and why, and what a model would see. For viewers.

The strategy `delegate` asks a small model, which costs: it is tried only where it is chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolcrib.broker import Caller, text_of
from toolcrib.console.app import Desk, visitor_of
from toolcrib.crib import Strategy
from toolcrib.errors import ToolcribError
from toolcrib.metatools import DETAILS, MetaTools
from toolcrib.search import ExplainedHit, Share, Sought
from toolcrib.tokens import count_tokens, counter_name

LIMITS = (5, 8, 20, 50)
"""How many hits can be asked for."""

_FIRST_LIMIT = 8
_COMPARED = ("keyword", "regex", "hybrid")
"""What is compared with the configured strategy unless something else is chosen."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a score, with what it is made of."""

    name: str
    score: float
    shares: Sequence[Share]


@dataclass(frozen=True, slots=True)
class RankedTool:
    """A hit of one strategy."""

    rank: int
    tool_id: str
    found: ExplainedHit
    parts: Sequence[Part]
    width: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one strategy finds for one need."""

    strategy: str
    ranked_by: str
    hits: Sequence[RankedTool]
    problem: str
    meant: str
    sought: Sequence[Sought]


@dataclass(frozen=True, slots=True)
class Compared:
    """One need, as several strategies rank for it.

    Attributes:
        need: The need.
        rankings: What each strategy finds.
        tools: Each tool that any of them finds, with its rank in each.
    """

    need: str
    rankings: Sequence[Ranking]
    tools: Sequence[tuple[str, Sequence[int | None]]]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a model would see.

    Attributes:
        detail: How much the search says of each tool.
        text: The whole answer.
        tokens: Its tokens.
    """

    detail: str
    text: str
    tokens: int


def routes(desk: Desk) -> list[Route]:
    """The page."""
    meta_tools = MetaTools(desk.crib)

    async def search(request: Request) -> Response:
        caller, asked = visitor_of(request).caller, request.query_params
        query, server = asked.get("q", ""), asked.get("server", "")
        limit = next((each for each in LIMITS if str(each) == asked.get("limit")), _FIRST_LIMIT)
        strategies = desk.crib.search_strategies
        chosen = _chosen(strategies, asked.getlist("with"))
        problems: dict[str, str] = {}
        compared: list[Compared] = []
        seen: list[Seen] = []
        asks = "q" in asked
        if asks:
            seen, problems["search_tools"] = await _seen(meta_tools, query, server, limit, caller)
        if query.strip():
            compared = await _compared(desk, query, server, chosen, limit, caller, problems, "with" in asked)
        detail = asked.get("detail", "signature")
        return desk.page(
            request,
            "playground.html",
            "playground",
            query=query,
            server=server,
            servers=[each.id for each in desk.crib.overview(caller)],
            limit=limit,
            limits=LIMITS,
            strategies=strategies,
            chosen=chosen,
            compared=compared,
            seen=seen,
            detail=detail if detail in DETAILS else "signature",
            problems={name: told for name, told in problems.items() if told},
            asks=asks,
            counter=counter_name(),
        )

    return [desk.get("/search", search)]


def _chosen(strategies: Sequence[Strategy], named: Sequence[str]) -> list[str]:
    """The strategies to compare, in their order, without those that are not at hand."""
    at_hand = [each.name for each in strategies if not each.problem]
    wanted = named or [each.name for each in strategies if each.configured or each.name in _COMPARED]
    return [name for name in at_hand if name in wanted and (named or name != "delegate")]


async def _seen(meta_tools: MetaTools, query: str, server: str, limit: int, caller: Caller) -> tuple[list[Seen], str]:
    """What a model would see at each detail; or what is wrong with the query, which it would see too."""
    found: list[Seen] = []
    for detail in DETAILS:
        arguments = {"query": query, "detail": detail, "limit": limit, **({"server": server} if server else {})}
        try:
            text = text_of(await meta_tools.search(arguments, caller))
        except ToolcribError as error:
            return [], str(error)
        found.append(Seen(detail, text, count_tokens(text)))
    return found, ""


async def _compared(
    desk: Desk,
    query: str,
    server: str,
    chosen: Sequence[str],
    limit: int,
    caller: Caller,
    problems: dict[str, str],
    named: bool,
) -> list[Compared]:
    """Each need as the strategies rank for it; those that can't are left out and told of."""
    by_need: dict[str, list[Ranking]] = {}
    done: set[str] = set()
    for strategy in chosen:
        try:
            explained = await desk.crib.explain_search(
                query, strategy=strategy, limit=limit, server=server or None, caller=caller
            )
        except ToolcribError as error:
            problems[strategy] = str(error)
            continue
        if explained.strategy in done:
            continue  # a regular expression is ranked in one way alone
        done.add(explained.strategy)
        if not named and strategy == "regex" and not any(each.explanation.hits for each in explained.needs):
            continue  # most words are no pattern that anything matches
        for each in explained.needs:
            why = each.explanation
            best = max((hit.hit.score for hit in why.hits), default=1.0)
            words = {term.term: term.words[0] for term in why.sought if term.words}
            hits = [_ranked(desk, rank, hit, best, words) for rank, hit in enumerate(why.hits, 1)]
            ranking = Ranking(explained.strategy, why.strategy, hits, why.problem, why.meant, why.sought)
            by_need.setdefault(each.need, []).append(ranking)
    return [Compared(need, rankings, _side_by_side(rankings)) for need, rankings in by_need.items()]


def _ranked(desk: Desk, rank: int, found: ExplainedHit, best: float, words: Mapping[str, str]) -> RankedTool:
    """A hit, with terms as the query spells them."""
    spelled = (
        replace(each, what=" ".join(words.get(term, term) for term in each.what.split(" "))) for each in found.shares
    )
    shares = sorted(spelled, key=lambda share: share.part)
    parts = [Part(name, sum(share.score for share in group), group) for name, group in _grouped(shares)]
    parts.sort(key=lambda part: -part.score)
    tool_id = desk.crib.registry.tool(found.hit.tool_id).id
    return RankedTool(rank, tool_id, found, parts, max(0.0, min(found.hit.score / best, 1.0)) if best > 0 else 0.0)


def _grouped(shares: Sequence[Share]) -> list[tuple[str, list[Share]]]:
    grouped = [(name, list(group)) for name, group in groupby(shares, key=lambda share: share.part)]
    return [(name, sorted(group, key=lambda share: -share.score)) for name, group in grouped]


def _side_by_side(rankings: Sequence[Ranking]) -> list[tuple[str, list[int | None]]]:
    """Every tool that was found, best first by the best of its ranks, with its rank in each ranking."""
    places = [{hit.tool_id: hit.rank for hit in ranking.hits} for ranking in rankings]
    tools = dict.fromkeys(tool_id for place in places for tool_id in place)
    rows = [(tool_id, [place.get(tool_id) for place in places]) for tool_id in tools]
    return sorted(rows, key=lambda row: min(rank for rank in row[1] if rank is not None))
