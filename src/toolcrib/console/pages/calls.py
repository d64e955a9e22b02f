"""*Calls*: the journal, filtered and page by page, and one call with all that is on record of it.

Viewers see the calls of their own principal; approvers and admins see all.
"""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolcrib.broker import Entry, Filter, JournalPage
from toolcrib.broker.journal import STATES
from toolcrib.broker.results import Excerpt, Page
from toolcrib.catalog import public_name
from toolcrib.console.access import Visitor
from toolcrib.console.app import Desk, visitor_of
from toolcrib.crib import Crib
from toolcrib.errors import UsageError
from toolcrib.moments import moment_of

EFFECTS = ("read", "write", "destructive", "unknown")
CALLS_ON_A_PAGE = 50

_TEXTS = ("text", "tool", "server", "principal", "conversation", "run", "since", "until")
_CHOICES = {"state": STATES, "effect": EFFECTS}
_RARE = ("principal", "conversation", "run", "since", "until")
_RESULT_BYTES = 20_000


def routes(desk: Desk) -> list[Route]:
    """The list and the page of a call."""

    async def calls(request: Request) -> Response:
        asked = asked_of(request)
        visitor = visitor_of(request)
        found, problem = JournalPage([]), None
        try:
            wanted = filter_of(asked, visitor)
            found = await desk.crib.journal.page(
                wanted, before=request.query_params.get("before", ""), limit=CALLS_ON_A_PAGE
            )
        except UsageError as error:
            problem = error
        return desk.page(
            request,
            "calls.html",
            "calls",
            400 if problem else 200,
            asked={name: asked.get(name, "") for name in (*_TEXTS, *_CHOICES)},
            choices=_CHOICES,
            more_is_open=any(asked.get(name) for name in _RARE),
            is_filtered=bool(asked),
            problem=problem,
            found=found,
            is_first="before" not in request.query_params,
            newest=f"?{urlencode(asked)}" if asked else "",
            older=urlencode({**asked, "before": found.following}),
            servers=[source.id for source in desk.crib.known_sources(caller=visitor.caller)],
            sees_all=visitor.may("approver"),
        )

    async def call(request: Request) -> Response:
        entry = await entry_of(desk.crib, request.path_params["call"], visitor_of(request))
        result = await _kept(desk.crib, entry)
        return desk.page(
            request,
            "call.html",
            "calls",
            call=entry,
            arguments=None if entry.arguments is None else json.loads(entry.arguments),
            is_known=entry.tool in map(public_name, desk.crib.known_keys(caller=visitor_of(request).caller)),
            is_under_way=entry.state in ("started", "waiting"),
            result=result,
            result_days=_result_days(desk.crib),
            sees_all=visitor_of(request).may("approver"),
        )

    return [desk.get("/calls", calls), desk.get("/calls/{call}", call)]


def asked_of(request: Request) -> dict[str, str]:
    """The filters of a list that are filled in, by name."""
    given = request.query_params
    return {name: value for name in (*_TEXTS, *_CHOICES) if (value := given.get(name, "").strip())}


def filter_of(asked: dict[str, str], visitor: Visitor) -> Filter:
    """The filter that a visitor asks for, kept to what they may see.

    Raises:
        UsageError: A moment can't be read.
    """
    named: dict[str, Any] = {name: value for name, value in asked.items() if name not in ("since", "until")}
    if not visitor.may("approver"):
        named["principal"] = visitor.name
    named |= {name: moment_of(asked[name]) for name in ("since", "until") if name in asked}
    return Filter(**named)


async def entry_of(crib: Crib, call_id: str, visitor: Visitor) -> Entry:
    """One call that a visitor may see.

    Raises:
        HTTPException: There is none; another principal's is as unknown as one that never was.
        StoreError: The journal can't be read.
    """
    unknown = HTTPException(404, "The journal has no such call, or not any more.")
    try:
        entry = await crib.journal.entry(call_id)
    except UsageError:
        raise unknown from None
    if entry.id != call_id or not (visitor.may("approver") or entry.principal == visitor.name):
        raise unknown
    return entry


def _result_days(crib: Crib) -> float:
    """Days for which it is kept how results begin; 0 where it is not."""
    kept = crib.config.settings.journal
    return kept.result_days if kept.arguments == "redacted" else 0.0


@dataclass(frozen=True, slots=True)
class KeptResult:
    """What is kept of a result, as a page shows it.

    Attributes:
        text: It, or its beginning; without secrets.
        part: How much of it this is; empty for all.
    """

    text: str
    part: str = ""


async def _kept(crib: Crib, entry: Entry) -> KeptResult | None:
    """The most that is kept of a result: itself, else how it begins."""
    page = await crib.result_of(entry, Excerpt(budget=_RESULT_BYTES))
    if page is not None:
        part = f"The first {len(page.values):,} of {page.total:,} {page.kind}."
        return KeptResult(crib.secrets.text(_text_of(page)), part if len(page.values) < page.total else "")
    beginning = await crib.journal.beginning(entry)
    if not beginning:
        return None
    return KeptResult(beginning, "How it begins, as the journal keeps it." if beginning.endswith("…") else "")


def _text_of(page: Page) -> str:
    if page.kind == "lines":
        return "\n".join(map(str, page.values))
    return json.dumps(page.values, ensure_ascii=False, indent=2, default=str)
