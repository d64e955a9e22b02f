"""What a call that waits is told, and what a server's question takes to be answered."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from toolcrib.broker import Call, Caller, Decision, InputUnsupportedError, Options, Outcome
from toolcrib.broker.approvals import Answer
from toolcrib.broker.waiting import ask_at_once, can_elicit, check_client, denied, follow_up
from toolcrib.errors import ServerError

pytestmark = pytest.mark.anyio

CALL = Call("tools/call", "s.t", "s", {"name": "t", "arguments": {}}, Caller(), None, "write")
SEAT = {"method": "elicitation/create", "params": {"message": "Which seat?"}}


@dataclass
class Client:
    """What stands behind a caller."""

    capabilities: dict[str, Any] = field(default_factory=dict[str, Any])
    asked: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((method, params))
        return {"action": "decline"}


def asks(requests: Any = None, **members: Any) -> Outcome:
    result = {"resultType": "input_required", **({} if requests is None else {"inputRequests": requests}), **members}
    return Outcome("input_required", result, CALL)


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({}, False),
        ({"elicitation": None}, False),
        ({"elicitation": {}}, True),  # specification 2025-11-25, elicitation: an empty object stands for forms
        ({"elicitation": {"form": {}}}, True),
        ({"elicitation": {"form": {}, "url": {}}}, True),
        ({"elicitation": {"url": {}}}, False),
        ({"sampling": {}, "roots": {}}, False),
    ],
)
def test_a_client_is_asked_where_it_shows_forms(capabilities: dict[str, Any], expected: bool) -> None:
    assert can_elicit(Client(capabilities)) is expected
    assert can_elicit(None) is False


@pytest.mark.parametrize(
    ("outcome", "answers", "expected"),
    [
        (asks({"seat": SEAT}, requestState="1"), None, None),
        (asks({"seat": SEAT}, requestState="1"), {"meal": {}}, None),
        (asks({"seat": SEAT}, requestState="1"), {"seat": {"action": "cancel"}, "meal": {}},
         {"inputResponses": {"seat": {"action": "cancel"}}, "requestState": "1"}),
        (asks({"seat": SEAT}), {"seat": {}}, {"inputResponses": {"seat": {}}}),
        (asks(requestState="1"), None, {"requestState": "1"}),
        (asks({"seat": "no request"}, requestState=7), {}, {}),
        (asks(["no requests"]), None, {}),
    ],
)  # fmt: skip
def test_a_call_goes_on_when_every_question_has_an_answer(outcome: Outcome, answers: Any, expected: Any) -> None:
    assert follow_up(outcome, answers) == expected


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list", "no/such", None])
def test_a_client_is_not_asked_for_what_it_has_not_declared(method: Any) -> None:
    outcome = asks({"q": {"method": method}})
    with pytest.raises(InputUnsupportedError, match=r"s\.t asks for"):
        check_client(outcome, Client())
    check_client(outcome, None)  # a program decides for itself


@pytest.mark.parametrize(
    ("mode", "declared", "taken"),
    [
        ("form", {}, True),
        ("form", {"url": {}}, False),
        ("url", {}, False),
        ("url", {"form": {}}, False),
        ("url", {"url": {}}, True),
        ("telepathy", {"form": {}, "url": {}}, False),
    ],
)
def test_an_elicitation_goes_to_a_client_that_takes_its_mode(mode: str, declared: Any, taken: bool) -> None:
    outcome = asks({"q": {"method": "elicitation/create", "params": {"mode": mode}}})
    client = Client({"elicitation": declared})
    if taken:
        check_client(outcome, client)
    else:
        with pytest.raises(InputUnsupportedError):
            check_client(outcome, client)


async def test_all_questions_of_a_round_are_asked() -> None:
    client = Client({"elicitation": {}})
    requests = {"seat": SEAT, "meal": {"method": "elicitation/create"}}
    more = await ask_at_once(asks(requests, requestState="1"), Options(client=client), 0)
    assert client.asked == [("elicitation/create", SEAT["params"]), ("elicitation/create", {})]
    answer = {"action": "decline"}
    assert more == {"inputResponses": {"seat": answer, "meal": answer}, "requestState": "1"}


async def test_a_server_that_asks_for_ever_is_left() -> None:
    with pytest.raises(ServerError, match="goes on asking after 10 answers"):
        await ask_at_once(asks({"seat": SEAT}), Options(client=Client()), 10)


@pytest.mark.parametrize(
    ("answer", "message", "hint"),
    [
        (None, "The call of s.t is not allowed: no", ""),
        (Answer(False, "client"), "The call of s.t (no) was not approved.", "Do not repeat it"),
        (Answer(False, why="needs an approval, and there is nobody to ask"),
         "The call of s.t (no) needs an approval, and there is nobody to ask.", '{"tools": ["s.t"], "then": "allow"}'),
    ],
)  # fmt: skip
def test_a_denial_says_why_and_what_would_help(answer: Answer | None, message: str, hint: str) -> None:
    error = denied(CALL, Decision("ask", "no"), answer)
    assert error.message == message
    assert hint in error.hint
