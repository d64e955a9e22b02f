"""What is sent once more after a lost connection, and what never is."""

import pytest

from toolcrib.broker import Call, Caller, Effect
from toolcrib.broker.repeating import send
from toolcrib.catalog import JsonObject, Tool
from toolcrib.errors import (
    CallTimeoutError,
    ProtocolError,
    ServerError,
    ServerStartError,
    StoreError,
    UnknownOutcomeError,
)

pytestmark = pytest.mark.anyio

OK: JsonObject = {"content": []}
LOST = UnknownOutcomeError("s", "s ended its connection.")
IDEMPOTENT = {"idempotentHint": True}


def call_of(effect: Effect, annotations: JsonObject | None = None) -> Call:
    tool = Tool("s.t", "s", "t", {"name": "t", "inputSchema": {"type": "object"}, "annotations": annotations or {}})
    return Call("tools/call", "s.t", "s", {"name": "t", "arguments": {}}, Caller(), tool, effect)


class Line:
    """Answers one request after the other as a test says; what was recorded stands between."""

    def __init__(self, *answers: JsonObject | Exception, recording: Exception | None = None) -> None:
        self.answers = list(answers)
        self.recording = recording
        self.log: list[str] = []

    async def request(self) -> JsonObject:
        self.log.append("sent")
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def record(self) -> None:
        self.log.append("recorded")
        if self.recording is not None:
            raise self.recording

    async def send(self, call: Call, *, trusted: bool = False) -> JsonObject:
        return await send(call, self.request, self.record, trusted=trusted)


async def test_a_read_is_sent_once_more_after_a_lost_connection() -> None:
    line = Line(LOST, OK)
    assert await line.send(call_of("read")) is OK
    assert line.log == ["sent", "recorded", "sent"]


async def test_what_a_trusted_server_calls_idempotent_is_sent_once_more() -> None:
    line = Line(LOST, OK)
    assert await line.send(call_of("destructive", IDEMPOTENT), trusted=True) is OK


@pytest.mark.parametrize(
    ("call", "trusted"),
    [
        (call_of("write"), True),
        (call_of("unknown"), True),
        (call_of("write", {"idempotentHint": "yes"}), True),
        (call_of("write", IDEMPOTENT), False),
    ],
)
async def test_other_effects_are_never_sent_again(call: Call, trusted: bool) -> None:
    line = Line(LOST, OK)
    with pytest.raises(UnknownOutcomeError):
        await line.send(call, trusted=trusted)
    assert line.log == ["sent"]


@pytest.mark.parametrize(
    "failure",
    [CallTimeoutError("s", "slow"), ProtocolError("s", "no", rpc_code=-32603), ServerStartError("s", "no such file")],
)
async def test_only_a_lost_connection_is_a_reason(failure: ServerError) -> None:
    line = Line(failure, OK)
    with pytest.raises(type(failure)):
        await line.send(call_of("read"))
    assert line.log == ["sent"]


@pytest.mark.parametrize("second", [UnknownOutcomeError("s", "again"), ServerStartError("s", "does not start")])
async def test_it_is_tried_no_third_time_and_the_first_loss_is_told(second: ServerError) -> None:
    line = Line(LOST, second, OK)
    with pytest.raises(UnknownOutcomeError) as caught:
        await line.send(call_of("read"))
    assert caught.value is LOST
    assert line.log.count("sent") == 2


async def test_an_answer_to_the_repetition_counts_be_it_an_error() -> None:
    with pytest.raises(ProtocolError):
        await Line(LOST, ProtocolError("s", "no", rpc_code=1)).send(call_of("read"))


async def test_what_cannot_be_recorded_is_not_sent_again() -> None:
    line = Line(LOST, OK, recording=StoreError("disk full"))
    with pytest.raises(UnknownOutcomeError):
        await line.send(call_of("write", IDEMPOTENT), trusted=True)
    assert line.log == ["sent", "recorded"]
