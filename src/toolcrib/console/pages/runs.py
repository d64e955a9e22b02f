"""*Runs*: the scripts that ran, and one run with its code, its output and its calls on a time line.

Viewers see the runs of their own principal; approvers and admins see all.
"""

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolcrib.broker import Filter
from toolcrib.console.access import Visitor
from toolcrib.console.app import Desk, visitor_of
from toolcrib.console.timeline import TimelineCall, timeline
from toolcrib.crib import Crib
from toolcrib.errors import UsageError
from toolcrib.scripts import RUN_STATES, Run, RunPage

RUNS_ON_A_PAGE = 50
CALLS_ON_A_PAGE = 500
LINES_ON_A_PAGE = 2_000

_FILTERS = ("principal", "status", "script")
_TEXTS = ("code", "output", "value")
_MOST_RELATED = 20
_LINE_END = re.compile(r"\r\n|\r|\n")


def routes(desk: Desk) -> list[Route]:
    """The list, the page of a run, and its long texts as files."""

    async def runs(request: Request) -> Response:
        visitor = visitor_of(request)
        given = request.query_params
        asked = {name: value for name in _FILTERS if (value := given.get(name, "").strip())}
        wanted = asked if visitor.may("approver") else {**asked, "principal": visitor.name}
        found, problem = RunPage([]), None
        try:
            found = await desk.crib.runs.page(**wanted, before=given.get("before", ""), limit=RUNS_ON_A_PAGE)
        except UsageError as error:
            problem = error
        return desk.page(
            request,
            "runs.html",
            "runs",
            400 if problem else 200,
            asked={name: asked.get(name, "") for name in _FILTERS},
            states=RUN_STATES,
            is_filtered=bool(asked),
            problem=problem,
            found=found,
            is_first="before" not in given,
            newest=f"?{urlencode(asked)}" if asked else "",
            older=urlencode({**asked, "before": found.following}),
            sees_all=visitor.may("approver"),
        )

    async def run(request: Request) -> Response:
        found = await _run(desk.crib, request)
        entries = await desk.crib.journal.entries(Filter(run=found.id), limit=CALLS_ON_A_PAGE)
        line = timeline(found, entries[::-1])
        lines = _LINE_END.split(found.code.rstrip("\r\n"))
        return desk.page(
            request,
            "run.html",
            "runs",
            run=found,
            lines=lines[:LINES_ON_A_PAGE],
            more_lines=max(0, len(lines) - LINES_ON_A_PAGE),
            value=_pretty(found.value),
            line=line,
            calls=line.calls[:CALLS_ON_A_PAGE],
            counts=_counts(line.calls),
            is_bounded=len(line.calls) > CALLS_ON_A_PAGE or len(entries) == CALLS_ON_A_PAGE,
            parts_of_it=(await desk.crib.runs.page(parent=found.id, limit=_MOST_RELATED)).runs,
            repeated_by=(await desk.crib.runs.page(retry_of=found.id, limit=_MOST_RELATED)).runs,
            sees_all=visitor_of(request).may("approver"),
        )

    async def text(request: Request) -> Response:
        name = request.path_params["text"]
        found = await _run(desk.crib, request)
        if name not in _TEXTS:
            raise HTTPException(404, "A run has no such text.")
        ending = {"python": "py", "typescript": "ts", "javascript": "js"}[found.language] if name == "code" else "txt"
        headers = {"Content-Disposition": f'attachment; filename="{found.id}-{name}.{ending}"'}
        return Response(getattr(found, name) or "", media_type="text/plain; charset=utf-8", headers=headers)

    return [desk.get("/runs", runs), desk.get("/runs/{run}", run), desk.get("/runs/{run}/{text}", text)]


async def _run(crib: Crib, request: Request) -> Run:
    visitor: Visitor = visitor_of(request)
    principal = "" if visitor.may("approver") else visitor.name
    try:
        return await crib.runs.find(request.path_params["run"], principal=principal)
    except UsageError:
        raise HTTPException(404, "There is no such run on record, or not any more.") from None


def _pretty(value: str | None) -> str | None:
    """A final value, indented where it is whole."""
    if value is None:
        return None
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return read if isinstance(read, str) else json.dumps(read, ensure_ascii=False, indent=2)


def _counts(calls: Sequence[TimelineCall]) -> dict[str, Any]:
    """The calls that may have changed something, counted by how they stand."""
    counts: dict[str, int] = {}
    for call in calls:
        if call.effect != "read":
            counts[call.state] = counts.get(call.state, 0) + 1
    return counts
