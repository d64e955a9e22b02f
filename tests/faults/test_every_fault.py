"""Whatever a server does, each call of it ends as it should, and touches no other: by the library and the gateway."""

import re
from dataclasses import dataclass, field
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

ECHOED = r'number\\*": 7'
GAVE_UP = r"did not answer tools/call within 5 s"
BROKE_OFF = r"ended its connection while tools/call was under way"
NO_ANSWER = r"what it sent is neither a result nor an error that the protocol allows"
HANGS: dict[str, Any] = {"timeout": 5.0}  # time enough for what does answer, however many servers run beside
LARGE = 10_000_000


@dataclass(frozen=True)
class Call:
    """One call, and how it must end.

    Attributes:
        tool: The id of the tool without its server.
        says: What is found in the text of its end, as a regular expression.
        fails: Whether it must fail; None where both is right.
        arguments: What it is called with.
    """

    tool: str
    says: str
    fails: bool | None
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """What is done with the server of one mode.

    Attributes:
        calls: One after the other.
        options: Its `toolcrib` object.
    """

    calls: tuple[Call, ...]
    options: dict[str, Any] = field(default_factory=dict)


def answers(tool: str = "echo", says: str = ECHOED, **arguments: Any) -> Call:
    return Call(tool, says, False, arguments or {"number": 7})


def fails(says: str, tool: str = "echo", **arguments: Any) -> Call:
    return Call(tool, says, True, arguments or {"number": 7})


def either(says: str) -> Call:
    return Call("echo", f"{ECHOED}|{says}", None, {"number": 7})


def to(*calls: Call, **options: Any) -> Fault:
    return Fault(calls, options)


STARTS = {
    "Normal": to(answers()),
    "Modern": to(answers()),
    "CrashOnStart": to(fails(r"ended before it answered \(exit code 3\)\. Its last words: line 40 of the traceback")),
    "SilentExit": to(fails(r"ended before it answered \(exit code 4\)\.")),
    "SilentToProbe": to(answers(), start_timeout=6.0),  # the probe waits for half of it
    "DiesOfProbe": to(answers()),
    "NamesOldVersion": to(answers()),
    "MovesOn": to(answers()),
    "RefusesOnce": to(answers()),
    "Mute": to(fails(r"did not answer within 2 s of its start"), start_timeout=2.0),
    "FutureOnly": to(fails("2099-01-01")),
    "HangInList": to(fails(r"did not answer within 2 s of its start"), start_timeout=2.0),
    "ListError": to(fails("can't list its tools: the database is away")),
    "NoTools": to(fails("There is no tool")),
    "SlowStart": to(answers()),
    "Talkative": to(answers()),
}

LISTS = {
    "Duplicates": to(answers("twin"), answers("other")),
    "LoopingCursor": to(answers()),
    "EndlessCursor": to(answers("tool_0"), answers("tool_999")),  # a thousand pages are read
    "Paged": to(answers("tool_6")),
    "Changing": to(answers("change")),
    "ModernChanging": to(answers("change")),
    "ShortTtl": to(answers("change")),
    "Restless": to(answers()),
    "Storm": to(answers("change"), answers("change")),
    "RefusesOtherLists": to(answers()),
    "HugeTool": to(answers("huge")),
    "OddNames": to(*(answers(name) for name in ("two_words", "suche_größe", "检索", "import_"))),
    "OddSchemas": to(
        *(
            answers(name)
            for name in ("boolean", "absent", "array", "wrong", "pattern", "elsewhere", "unresolved", "endless")
        )
    ),
    "Strange": to(answers("strange", "hologram")),
}

CALLS = {
    "Junk": to(answers()),
    "Babbles": to(answers()),
    "HugeJunk": to(answers()),
    "NotUtf8": to(answers(says="caf")),
    "LineWithoutEnd": to(answers()),
    "Big": to(answers(says="x" * 1_000, bytes=LARGE)),
    "Malformed": to(*(fails(NO_ANSWER, name) for name in ("null", "list", "text", "uncoded", "digits"))),
    "Refuses": to(fails("answered with error -32000: no such row")),
    "HangInCall": to(fails(GAVE_UP, "hang"), answers(), **HANGS),
    "HangOrCrash": to(fails(GAVE_UP, "hang"), fails(BROKE_OFF, "crash"), **HANGS),
    "IgnoresCancellation": to(fails(GAVE_UP, "slow"), answers(), **HANGS),
    "WrongId": to(fails(GAVE_UP, "wrong"), answers(), **HANGS),
    "AnswersTwice": to(answers(), answers()),
    # The answer to the second call is the rest of the line that the first one began.
    "HalfLineAndOn": to(fails(GAVE_UP, "half"), fails(GAVE_UP), answers(), **HANGS),
    # More than a pipe holds: the writing waits too.
    "StopsReading": to(fails(GAVE_UP, pad="x" * 1_000_000), fails(GAVE_UP), **HANGS),
    "ClosesInput": to(fails(BROKE_OFF)),
    "ClosesOutput": to(fails(BROKE_OFF)),
    "Progress": to(answers()),
    "SlowProgress": to(answers()),
    "UnknownProgress": to(answers()),
    "Asks": to(answers()),
    "Nags": to(answers()),
    "Surroundings": to(answers(says="TOOLCRIB_INSTANCE")),
    "Flaky": to(answers(seed=1, number=7)),
}

ENDS = {
    # 20 ms after it was asked for its tools, which may be before it has answered.
    "CrashBeforeCall": to(either(f"{BROKE_OFF}|ended before it (answered|took the request)|left alone for")),
    "CrashInCall": to(fails(BROKE_OFF), fails(BROKE_OFF)),
    "CrashAfterCall": to(answers(), either(BROKE_OFF)),
    "HalfLine": to(fails(BROKE_OFF)),
    "Wrapper": to(fails(BROKE_OFF)),
    "ExitsLater": to(answers("leave"), either(BROKE_OFF)),
    "Grandchild": to(fails(BROKE_OFF)),
    "IgnoresEnd": to(answers()),
    "IgnoresSigterm": to(answers()),
    "SlowToExit": to(answers()),
    "EndsWithAnError": to(answers()),
}

HTTP = {
    "HttpFault": to(answers()),
    "SessionExpires": to(answers(), answers(), answers()),
    "SessionAlwaysExpired": to(fails("no longer knows the session")),
    "StartUnauthorized": to(fails("wants a login")),
    "StartTooMany": to(fails("HTTP status 429")),
    "StartInternalError": to(fails("HTTP status 500")),
    "CallUnauthorized": to(fails("wants a login")),
    "CallForbidden": to(fails("HTTP status 403")),
    "CallTooMany": to(fails("HTTP status 429")),
    "CallInternalError": to(fails("with HTTP status 500.*Look before you repeat the call")),
    "CallGatewayTimeout": to(fails("with HTTP status 504.*Look before you repeat the call")),
    "FailsOnce": to(fails("HTTP status 503"), answers()),
    "DropsStream": to(fails(BROKE_OFF)),
    "DropsBody": to(fails(BROKE_OFF)),
    "HangsUp": to(fails(BROKE_OFF)),
    "NeverAnswers": to(fails(GAVE_UP), **HANGS),
    "SilentStream": to(fails(GAVE_UP), **HANGS),
    "AnswersOther": to(fails(GAVE_UP), **HANGS),
    "NoJson": to(fails(NO_ANSWER)),
    "BrokenEvent": to(fails(NO_ANSWER)),
    "Page": to(fails("text/html")),
    "AcceptsCalls": to(fails("202 Accepted")),
    "Redirects": to(fails("Redirect to http://127.0.0.1:9/mcp not followed")),
    "JunkEvents": to(answers()),
    "LargeEvent": to(answers(says="x" * 1_000)),
    "Older": to(answers()),
    "OlderDrops": to(fails(BROKE_OFF)),
    "OlderFails": to(fails("HTTP status 500")),
    "OlderNeverAnswers": to(fails(GAVE_UP), **HANGS),
}

CALLERS = {
    "AsksInCall": to(answers(says="List roots not supported")),
    "KeepsRoots": to(answers(says=r"\[\]")),
    "ListsByCapabilities": to(answers()),
    "ListsToCallersAlone": to(fails("can't list its tools: no roots, no tools")),
    "RemovesInCall": to(answers()),
    "Discovered": to(answers()),
    "Private": to(answers()),
    "Public": to(answers()),
    "CrashAfterList": to(either(f"{BROKE_OFF}|ended before it took the request|left alone for")),
    "Flood": to(answers("flood", reports=1_000, says="1000"), answers()),
}

FAULTS = {**STARTS, **LISTS, **CALLS, **ENDS, **HTTP, **CALLERS}


@pytest.fixture(scope="module", params=["library", "gateway"])
async def ended(request: pytest.FixtureRequest, run_all: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """How all calls of all modes ended."""
    return await run_all(FAULTS, request.param, tmp_path_factory.mktemp("faults"))


def test_there_is_a_row_for_every_mode(modes: set[str]) -> None:
    assert set(FAULTS) == modes


@pytest.mark.parametrize("mode", FAULTS)
async def test_calls_end_as_they_should_leave_nothing_and_touch_no_other(ended: Any, mode: str) -> None:
    ends = ended.calls[mode]
    for call, (failed, text) in zip(FAULTS[mode].calls, ends, strict=True):
        assert re.search(call.says, text), text[:500]
        assert call.fails in {None, failed}, text[:500]
        if failed:
            assert f"the_{mode.lower()}" in text
            assert "Traceback" not in text
            assert "\n" not in text
    failed, text = ended.neighbours[mode]
    assert not failed
    assert mode in text
    assert ended.left[mode] == 0
