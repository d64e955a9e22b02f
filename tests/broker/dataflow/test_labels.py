"""Labels: collected by who reads, for as long as it is there."""

from typing import Any

import pytest

from toolcrib.broker import Call, Caller, Memory, Principal
from toolcrib.broker.dataflow import flow

RESULT: dict[str, Any] = {"content": [{"type": "text", "text": "hello"}]}
ANN = Caller(Principal("ann"), "one")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def call(caller: Caller, source: str = "mail") -> Call:
    return Call("tools/call", f"{source}.read", source, {"name": "read", "arguments": {}}, caller, None, "read")


def memory(clock: Clock | None = None) -> Memory:
    labels = {"mail": {"private", "untrusted"}, "web": {"external"}}
    return Memory(lambda call: labels.get(call.source, set()), idle_seconds=100, clock=clock or Clock())


def test_a_caller_collects_the_labels_of_what_it_reads() -> None:
    seen = memory()
    assert seen.labels(ANN) == frozenset()
    seen.learned(call(ANN), RESULT)
    seen.learned(call(ANN, "web"), RESULT)
    seen.learned(call(ANN, "plain"), RESULT)
    assert seen.labels(ANN) == {"private", "untrusted", "external"}


def test_another_conversation_and_another_principal_have_their_own() -> None:
    seen = memory()
    seen.learned(call(ANN), RESULT)
    assert seen.labels(Caller(Principal("ann"), "two")) == frozenset()
    assert seen.labels(Caller(Principal("ben"), "one")) == frozenset()


def test_a_run_reads_for_its_caller_and_has_read_what_its_caller_has() -> None:
    seen = memory()
    run = Caller(ANN.principal, ANN.conversation, origin="script", run="r1")
    seen.learned(call(run), RESULT)
    assert seen.labels(ANN) == {"private", "untrusted"}
    seen.learned(call(ANN, "web"), RESULT)
    assert seen.labels(run) == {"private", "untrusted", "external"}


def test_labels_given_beside_count_like_the_tool_s() -> None:
    seen = memory()
    seen.learned(call(ANN, "plain"), RESULT, ["kept"])
    assert seen.labels(ANN) == {"kept"}


def test_silence_forgets_and_a_word_in_time_does_not() -> None:
    clock = Clock()
    seen = memory(clock)
    seen.learned(call(ANN), RESULT)
    for _ in range(5):
        clock.now += 100
        assert seen.labels(ANN)
    clock.now += 101
    assert seen.labels(ANN) == frozenset()


def test_of_too_many_callers_the_most_silent_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "MOST_CALLERS", 2)
    seen = memory()
    callers = [Caller(Principal(name)) for name in ("a", "b", "c")]
    for each in callers[:2]:
        seen.learned(call(each), RESULT)
    assert seen.labels(callers[0])
    seen.learned(call(callers[2]), RESULT)
    assert [bool(seen.labels(each)) for each in callers] == [True, False, True]


def test_without_fingerprints_labels_are_collected_all_the_same() -> None:
    seen = Memory(lambda _: {"private"}, fingerprints=False)
    seen.learned(call(ANN), {"content": [{"type": "text", "text": "ann.lee@example.org"}]})
    assert seen.labels(ANN) == {"private"}
    told = Call("tools/call", "m.s", "m", {"arguments": {"to": "ann.lee@example.org"}}, ANN, None, "write")
    assert list(seen.traces(told)) == []
