"""*Approvals*: what waits for an answer, what was decided in the last day, and what was granted.

Approvers and admins see everything and decide; viewers see what their own principal waits for and was granted.
"""

import json
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolcrib.broker import Approval, Grant, Granted
from toolcrib.broker.approvals import typed_test
from toolcrib.console.access import Visitor
from toolcrib.console.app import Desk, back_to, form_of, visitor_of
from toolcrib.errors import UsageError, shown

WAITING_ON_A_PAGE = 50
DECIDED_ON_A_PAGE = 50

_SCOPES = ("call", "tool", "caller")


def routes(desk: Desk) -> list[Route]:
    """The inbox, one question, and the forms that decide and revoke."""

    async def inbox(request: Request) -> Response:
        return await _inbox(desk, request)

    async def question(request: Request) -> Response:
        found = await _found(desk, request)
        return desk.page(
            request,
            "approval.html",
            "approvals",
            approval=found,
            problem=None,
            filled={},
            decides=visitor_of(request).may("approver"),
        )

    async def decide(request: Request) -> Response:
        found = await _found(desk, request)
        form = form_of(request)
        visitor = visitor_of(request)
        approved = form.get("decision") == "approve"
        try:
            grant = _grant(form) if approved else None
            await desk.crib.approvals.decide(found.id, approved, grant=grant, by=f"console {visitor.name}")
        except UsageError as problem:
            found = await _found(desk, request)
            if _is_same_answer(found, "approved" if approved else "denied", form, f"console {visitor.name}"):
                return back_to(request, "/approvals", f"{found.tool} is {found.status}.")
            values = {"approval": found, "problem": problem, "filled": form, "decides": True}
            return desk.page(request, "approval.html", "approvals", 400 if found.status == "waiting" else 409, **values)
        return back_to(request, "/approvals", f"{found.tool} is {'approved' if approved else 'denied'}.")

    async def revoke(request: Request) -> Response:
        grant = request.path_params["grant"]
        was_there = await desk.crib.approvals.revoke(grant)
        return back_to(
            request, "/approvals", f"Grant {grant} is revoked." if was_there else f"There is no grant {shown(grant)}."
        )

    return [
        desk.get("/approvals", inbox),
        desk.get("/approvals/{approval}", question),
        desk.post("/approvals/{approval}/decide", decide, "approver"),
        desk.post("/approvals/grants/{grant}/revoke", revoke, "approver"),
    ]


@dataclass(frozen=True, slots=True)
class Holding:
    """A grant as a page shows it.

    Attributes:
        granted: The grant.
        principal: Whose it is.
        conversation: In which conversation.
        run: In which run; empty where it is not for one.
        bounds: What arguments must be, as JSON texts.
    """

    granted: Granted
    principal: str
    conversation: str
    run: str
    bounds: tuple[str, ...]


async def _inbox(desk: Desk, request: Request) -> Response:
    visitor = visitor_of(request)
    known = [each for each in await desk.crib.approvals.list(everything=True) if _may_see(visitor, each)]
    waiting = [each for each in known if each.status == "waiting"]
    decided = sorted((each for each in known if each.status != "waiting"), key=_decided_at, reverse=True)
    holdings = [_holding(each) for each in await desk.crib.approvals.grants()]
    return desk.page(
        request,
        "approvals.html",
        "approvals",
        waiting=waiting[:WAITING_ON_A_PAGE],
        more_waiting=len(waiting) - WAITING_ON_A_PAGE,
        decided=decided[:DECIDED_ON_A_PAGE],
        more_decided=len(decided) - DECIDED_ON_A_PAGE,
        holdings=[each for each in holdings if visitor.may("approver") or each.principal == visitor.name],
        decides=visitor.may("approver"),
        filled={},
    )


async def _found(desk: Desk, request: Request) -> Approval:
    """The approval that a request is about.

    Raises:
        HTTPException: There is none that the visitor may see.
        StoreError: The inbox can't be read.
    """
    unknown = HTTPException(404, "There is no such approval, or not any more: they are kept for a day.")
    try:
        found = await desk.crib.approvals.find(request.path_params["approval"])
    except UsageError:
        raise unknown from None
    if not _may_see(visitor_of(request), found):
        raise unknown
    return found


def _may_see(visitor: Visitor, approval: Approval) -> bool:
    return visitor.may("approver") or approval.principal == visitor.name


def _is_same_answer(approval: Approval, status: str, form: dict[str, str], by: str) -> bool:
    """Whether what a form decides was decided so already by the same visitor, whose browser has sent it twice."""
    scope = form.get("scope", "").strip() or "call"
    is_same = approval.status == status and approval.decided_by == by
    return is_same and (status == "denied" or approval.scope == scope)


def _decided_at(approval: Approval) -> float:
    return approval.expires_at if approval.decided_at is None else approval.decided_at


def _grant(form: dict[str, str]) -> Grant:
    """What a form grants.

    Raises:
        UsageError: It can't be granted so.
    """
    scope, seconds, within = (form.get(name, "").strip() for name in ("scope", "seconds", "within"))
    scope = scope or "call"
    if scope not in _SCOPES:
        raise UsageError(f"Nothing can be granted for {shown(scope, 40)}.", hint="Choose one of the three.")
    if scope == "call" and (seconds or within):
        raise UsageError(
            "A time and bounds are for what goes beyond this call.", hint="Choose one of the other two, or leave them."
        )
    bounds = tuple(typed_test(line, "The bound") for line in within.splitlines() if line.strip())
    return Grant(scope, _seconds(seconds) if seconds else None, bounds)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.001 <= seconds <= 1e9:
        raise UsageError(f"{shown(text, 40)} is no time.", hint="Write how many seconds it is to hold, such as 600.")
    return seconds


def _holding(granted: Granted) -> Holding:
    principal, conversation, run = [*json.loads(granted.subject), ""][:3]
    bounds = tuple(
        json.dumps(test.model_dump(mode="json", exclude_unset=True), ensure_ascii=False) for test in granted.bounds
    )
    return Holding(granted, principal, conversation, run, bounds)
