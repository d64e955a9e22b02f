"""What a call waits for, and what a caller is told meanwhile."""

from collections.abc import Mapping
from typing import Any, cast

import anyio

from toolcrib.broker.approvals import ELICIT, Answer, Pending
from toolcrib.broker.call import Call, Options, Outcome
from toolcrib.broker.policy import Decision
from toolcrib.catalog import ClientSide, JsonObject
from toolcrib.errors import DeniedError, ServerError, ToolcribError
from toolcrib.servers.asking import may_ask

APPROVAL_KEY = "approval"
"""Names, in an answer that asks for input, the request that asks for an approval."""

_MOST_ROUNDS = 10
"""Times that one call may ask its client at once; the SDK's clients stand as many."""


class ApprovalWaitingError(ToolcribError):
    """Nobody has approved a call yet; it was not sent. The same call comes back to the same question.

    Args:
        call: The call.
        approval: The approval's id.
        token: Leads back to the call too.
    """

    code = "approval_waiting"

    def __init__(self, call: Call, approval: str, token: str) -> None:
        super().__init__(
            f"The call of {call.target} is waiting for approval {approval}, and has not been sent.",
            hint=f"Repeat this very call to go on waiting; a person allows it with: toolcrib approve {approval}",
        )
        self.approval = approval
        self.token = token

    @property
    def command(self) -> str:
        """What allows the call."""
        return f"toolcrib approve {self.approval}"

    def to_json(self) -> dict[str, object]:
        """As `ToolcribError.to_json`, with the approval's id and the token."""
        return {**super().to_json(), "approval": self.approval, "token": self.token}


class InputUnsupportedError(ServerError):
    """A server asks for something before it goes on that the caller's client can't give."""

    code = "input_unsupported"


class ChangedError(Exception):
    """The definition of a tool changed while its call waited."""


def denied(call: Call, decision: Decision, answer: Answer | None = None) -> DeniedError:
    """Why a call was not sent, and how it could be allowed.

    Args:
        call: The call.
        decision: What the policy says of it.
        answer: What became of the question, where one was asked.
    """
    if answer is None:
        reason = f": {decision.reason}" if decision.reason else "."
        return DeniedError(f"The call of {call.target} is not allowed{reason}")
    reason = f" ({decision.reason})" if decision.reason else ""
    message = f"The call of {call.target}{reason} {answer.why}."
    if answer.by:
        return DeniedError(message, hint="Do not repeat it unless the user says so.")
    rule = f'{{"tools": ["{call.target}"], "then": "allow"}}'
    return DeniedError(message, hint=f"A rule in `toolcrib.policy.rules`, before others, allows such calls: {rule}")


def ruling(pending: Pending, answer: Answer) -> Decision:
    """The policy's decision to ask, with what came of it."""
    verdict = "allow" if answer.approved else "deny"
    asked = pending.decision
    return Decision(verdict, asked.reason, asked.rule, pending.question.id, answer.by)


def question(call: Call, pending: Pending, token: str) -> Outcome:
    """The answer that asks the caller's client for an approval, with which it comes back."""
    requests = {APPROVAL_KEY: {"method": ELICIT, "params": pending.question.form}}
    return Outcome("input_required", {"resultType": "input_required", "inputRequests": requests}, call, token=token)


def can_elicit(client: ClientSide | None) -> bool:
    """Whether a client shows forms to its user: it declares elicitation, and not the other mode alone
    (specification 2025-11-25, elicitation: an empty object stands for forms)."""
    declared = None if client is None else client.capabilities.get("elicitation")
    if not isinstance(declared, Mapping):
        return False
    modes = cast("Mapping[str, Any]", declared)
    return "form" in modes or "url" not in modes


def requests_of(outcome: Outcome) -> dict[str, JsonObject]:
    """What a server asks for before it goes on, by key; what is no request is left out."""
    requests = outcome.result.get("inputRequests")
    if not isinstance(requests, dict):
        return {}
    asked = cast("dict[str, Any]", requests)
    return {key: cast("JsonObject", each) for key, each in asked.items() if isinstance(each, dict)}


def follow_up(outcome: Outcome, responses: Mapping[str, Any] | None) -> JsonObject | None:
    """The members of the request with which a call goes on; None while an answer is missing.

    Args:
        outcome: What the server asked.
        responses: The answers, by key.
    """
    given = responses or {}
    wanted = requests_of(outcome)
    if not wanted.keys() <= given.keys():
        return None
    members: JsonObject = {"inputResponses": {key: given[key] for key in wanted}} if wanted else {}
    if isinstance(state := outcome.result.get("requestState"), str):
        members["requestState"] = state
    return members


def check_client(outcome: Outcome, client: ClientSide | None) -> None:
    """Refuse to ask a client for what it has not declared; a program that has no client decides for itself.

    Raises:
        InputUnsupportedError: The server asks for such a thing.
    """
    if client is None:
        return
    for request in requests_of(outcome).values():
        method, params = str(request.get("method")), request.get("params")
        if may_ask(client, method, cast("JsonObject", params) if isinstance(params, dict) else {}):
            continue
        call = outcome.call
        raise InputUnsupportedError(
            call.source, f"{call.target} asks for {method} before it goes on, which this client can't answer."
        )


async def ask_at_once(outcome: Outcome, options: Options, rounds: int) -> JsonObject:
    """Ask the caller's client what a server asks for; the members of the request with which the call goes on.

    Args:
        outcome: What the server asked.
        options: With a client that can be asked at once.
        rounds: How often it was asked for this call before.

    Raises:
        ServerError: The client refuses, or the server asks again and again.
    """
    assert options.client is not None
    if rounds >= _MOST_ROUNDS:
        raise ServerError(outcome.call.source, f"{outcome.call.target} goes on asking after {rounds} answers.")
    if not requests_of(outcome):  # it only wants to be called again
        await anyio.sleep(min(0.25, 0.05 * 2**rounds))
    answers: JsonObject = {}
    for key, request in requests_of(outcome).items():
        params = request.get("params")
        given = cast("JsonObject", params) if isinstance(params, dict) else {}
        answers[key] = await options.client.answer(str(request.get("method")), given)
    return follow_up(outcome, answers) or {}
