"""Stored results, read by pages. For viewers; a result is its principal's."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolcrib.broker import Excerpt
from toolcrib.console.app import Desk, visitor_of
from toolcrib.console.results import blocks_of
from toolcrib.errors import UsageError

BUDGET = 64_000
"""Bytes of JSON of one page of a result."""


def routes(desk: Desk) -> list[Route]:
    """The page of a result."""

    async def result(request: Request) -> Response:
        asked = request.query_params
        handle = request.path_params["handle"]
        wanted = Excerpt(
            offset=_number(asked.get("offset", "")),
            limit=_number(asked.get("limit", "")) or None,
            select=asked.get("select", ""),
            grep=asked.get("grep", ""),
            budget=BUDGET,
        )
        problem, page = "", None
        try:
            page = await desk.crib.read_result(handle, wanted, caller=visitor_of(request).caller)
        except UsageError as error:
            problem = str(error)
        return desk.page(
            request,
            "result.html",
            "tools",
            400 if problem else 200,
            handle=handle,
            wanted=wanted,
            problem=problem,
            page=page,
            blocks=[] if page is None else blocks_of({"content": list(page.content)}),
        )

    return [desk.get("/results/{handle}", result)]


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
