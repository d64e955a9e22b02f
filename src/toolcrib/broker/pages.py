"""Servers that refuse a request until their user has been to a page.

They do so by the error -32042 (specification 2025-11-25, elicitation, URL mode), which later revisions have no more. It
is as good as a question: whoever can be asked is sent there, as if the server had answered with `input_required`,
and the request is sent again. A client that knows the error gets the error.
"""

import secrets
from collections.abc import Mapping
from typing import Any, cast

from toolcrib.broker.approvals import ELICIT
from toolcrib.broker.call import Call, Options
from toolcrib.catalog import JsonObject
from toolcrib.errors import ProtocolError, ServerError, shown
from toolcrib.servers.asking import may_ask, pages_of

_STATE = secrets.token_hex(16)
"""Marks what was made of such an error here: no server can know it."""

_LONGEST = 2_000


class PageNeededError(ProtocolError):
    """A server refuses a request until its user has been to a page, and the caller's client can't be sent there.

    Args:
        error: What the server answered.
        call: The call.
    """

    code = "page_needed"

    def __init__(self, error: ProtocolError, call: Call) -> None:
        super().__init__(error.server, error.rpc_message, rpc_code=error.rpc_code, data=error.data)
        pages = ", ".join(shown(str(each["url"]), _LONGEST) for each in pages_of(error))
        self.hint = f"Let the user open {pages}, then repeat the call of {call.target}."


def asked_of(error: ProtocolError, call: Call, options: Options) -> JsonObject | None:
    """What a server asks for by its error, as a result that asks for input; None for any other error.

    Raises:
        PageNeededError: The caller's client takes the error itself, or can't be asked.
    """
    pages = pages_of(error)
    if not pages:
        return None
    client = None if options.relays_errors else options.client
    if client is None or not all(may_ask(client, ELICIT, each) for each in pages):
        raise PageNeededError(error, call) from error
    requests = {f"page_{number}": {"method": ELICIT, "params": each} for number, each in enumerate(pages, 1)}
    return {"resultType": "input_required", "inputRequests": requests, "requestState": _STATE}


def gone_on_with(call: Call, more: JsonObject | None) -> JsonObject:
    """The params with which a call goes on after its server asked for something.

    Args:
        call: The call.
        more: The members that answer it; None where nothing was asked.

    Raises:
        ServerError: It was a page, and the user did not agree to go there.
    """
    if more is None:
        return call.params
    if more.get("requestState") != _STATE:
        return {**call.params, **more}
    answers = cast("Mapping[str, Any]", more.get("inputResponses") or {})
    for answer in answers.values():
        if not isinstance(answer, Mapping) or cast("Mapping[str, Any]", answer).get("action") != "accept":
            raise ServerError(
                call.source,
                f"{call.target} needs its user to visit a page first, and the user did not agree to.",
                hint="Do not repeat it unless the user says so.",
            )
    return call.params
