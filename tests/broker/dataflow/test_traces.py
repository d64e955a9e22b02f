"""What is known again of earlier results in arguments, and what is not."""

import base64
import json
import random
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from toolcrib.broker import LOCAL, Call, Caller, Memory, Principal, Trace
from toolcrib.broker.dataflow.fingerprints import CERTAIN, GRAM, grams, winnowed
from toolcrib.broker.dataflow.leaves import letters
from toolcrib.catalog import Tool

pytestmark = pytest.mark.anyio

SENTENCE = "The offer to Northwind is 4.2 million and expires on Friday at noon."
SCHEMA = {
    "type": "object",
    "properties": {"status": {"enum": ["waiting for review by legal"]}, "mode": {"default": "gpt-model-20250101"}},
}


def tool(schema: dict[str, Any] | None = None) -> Tool:
    return Tool("mail.send", "mail", "send", {"name": "send", "inputSchema": schema or {"type": "object"}})


def reading(
    target: str = "hr.get", arguments: dict[str, Any] | None = None, caller: Caller = LOCAL, call_id: str = "c1"
) -> Call:
    params = {"name": "get", "arguments": arguments or {}}
    return Call("tools/call", target, target.partition(".")[0], params, caller, None, "read", call_id)


def sending(arguments: dict[str, Any], caller: Caller = LOCAL, schema: dict[str, Any] | None = None) -> Call:
    return Call(
        "tools/call", "mail.send", "mail", {"name": "send", "arguments": arguments}, caller, tool(schema), "write"
    )


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def traced(result: dict[str, Any], *arguments: Any, **options: Any) -> list[Trace]:
    """The traces of arguments after one result."""
    seen = Memory(lambda _: ())
    seen.learned(reading(), result)
    values = {f"a{number}": value for number, value in enumerate(arguments)}
    return list(seen.traces(sending(values, **options)))


def test_a_trace_tells_result_argument_and_the_part_in_common() -> None:
    found = traced(text(f"Notes\n{SENTENCE}\nMore."), "Hi", f"FYI:\n> {SENTENCE.upper()}\nBye")
    assert found == [Trace("hr.get", "c1", "/a1", SENTENCE.upper().rstrip("."))]


@pytest.mark.parametrize(
    "disguise",
    [
        lambda said: said.upper(),
        lambda said: "\n".join(said.split()),
        lambda said: said.replace(" ", "\u00a0\u200b"),
        lambda said: "".join(chr(ord(each) + 0xFEE0) if each.isascii() and each.isalpha() else each for each in said),
        lambda said: json.dumps({"x": said}),
        lambda said: "| " + " | ".join(said.split()) + " |",
        lambda said: quote(said),
        lambda said: "https://example.com/?d=" + quote(said, safe=""),
        lambda said: base64.b64encode(said.encode()).decode(),
        lambda said: "see https://example.com/" + base64.urlsafe_b64encode(said.encode()).decode().rstrip("="),
        lambda said: quote(base64.b64encode(said.encode()).decode(), safe=""),
        lambda said: {"deep": [{"er": said}]},
        lambda said: {said: 1},
    ],
    ids=[
        "case",
        "wrapped",
        "invisible",
        "full width",
        "json",
        "table",
        "percent",
        "url",
        "base64",
        "base64url",
        "both",
        "nested",
        "key",
    ],
)
def test_a_copied_text_is_known_in_any_dress(disguise: Any) -> None:
    assert traced(text(SENTENCE), disguise(SENTENCE))


@pytest.mark.parametrize(
    "value",
    [
        "ann.lee@example.org",
        "AC-40817",
        "83450925",
        "83,450,925",
        "DE89 3704 0044 0532 0130 00",
        "550e8400-e29b-41d4-a716-446655440000",
        "Ann-Marie van der Lee",
    ],
)
def test_values_are_known_by_themselves(value: str) -> None:
    result = {"content": [], "structuredContent": {"people": [{"name": "Ben", "value": value}]}}
    assert [each.argument for each in traced(result, value.lower())] == ["/a0"]


def test_values_are_known_inside_texts_and_as_numbers() -> None:
    result = {"content": [{"type": "text", "text": json.dumps({"id": 83450925, "mail": "ann.lee@example.org"})}]}
    assert [each.excerpt for each in traced(result, "Write to <Ann.Lee@example.org>!")] == ["ann.lee@example.org"]
    assert [each.excerpt for each in traced(result, {"id": 83450925})] == ["83450925"]
    assert [each.argument for each in traced(result, {"id": 83450925})] == ["/a0/id"]


@pytest.mark.parametrize(
    "value",
    [
        "completed",
        "in_progress",
        "true",
        True,
        None,
        42,
        2026,
        "2026-11-30",
        "2026-11-30T12:00:00Z",
        "1000000",
        0.5,
        "hello world",
        "utf-8",
        "",
        "-" * 80,
        "0" * 60,
    ],
)
def test_what_many_texts_have_tells_nothing(value: Any) -> None:
    result = {"content": [text(json.dumps(value))["content"][0]], "structuredContent": {"value": value}}
    assert traced(result, value, {"inner": value}) == []


def test_what_the_tool_s_own_schema_lists_tells_nothing() -> None:
    result = {"content": [], "structuredContent": ["waiting for review by legal", "gpt-model-20250101"]}
    arguments = ("waiting for review by legal", "gpt-model-20250101")
    assert len(traced(result, *arguments)) == 2
    assert traced(result, *arguments, schema=SCHEMA) == []


def test_what_a_call_was_given_and_only_got_back_is_not_from_it() -> None:
    seen = Memory(lambda _: ())
    given = {"query": f"{SENTENCE} ann.lee@example.org"}
    seen.learned(reading(arguments=given), text(f"Nothing found for {given['query']}."))
    assert list(seen.traces(sending(given))) == []
    seen.learned(reading("crm.get", call_id="c2"), text(given["query"]))
    assert {each.tool_id for each in seen.traces(sending(given))} == {"crm.get"}


def test_each_result_that_held_it_is_named() -> None:
    seen = Memory(lambda _: ())
    for number in range(3):
        seen.learned(reading(f"hr.t{number}", call_id=f"c{number}"), text(SENTENCE))
    assert {each.tool_id for each in seen.traces(sending({"a": SENTENCE}))} == {"hr.t0", "hr.t1", "hr.t2"}


def test_one_caller_s_results_are_not_another_s() -> None:
    seen = Memory(lambda _: ())
    ann, ben = Caller(Principal("ann")), Caller(Principal("ben"))
    seen.learned(reading(caller=ann), text(SENTENCE))
    assert list(seen.traces(sending({"a": SENTENCE}, ben))) == []
    assert seen.traces(sending({"a": SENTENCE}, Caller(Principal("ann"), origin="script", run="r")))


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("resources/read", {"contents": [{"uri": "a:b", "mimeType": "text/plain", "text": SENTENCE}]}),
        ("prompts/get", {"messages": [{"role": "user", "content": {"type": "text", "text": SENTENCE}}]}),
        ("tools/call", {"content": [{"type": "resource", "resource": {"uri": "a:b", "text": SENTENCE}}]}),
        ("tools/call", {"content": [{"type": "text", "text": base64.b64encode(SENTENCE.encode()).decode()}]}),
        ("tools/call", {"content": [{"type": "text", "text": SENTENCE}], "isError": True}),
    ],
)
def test_whatever_was_read_counts(method: Any, result: dict[str, Any]) -> None:
    seen = Memory(lambda _: ())
    seen.learned(Call(method, "hr", "hr", {"uri": "a:b"}, LOCAL, None, "read"), result)
    assert [each.tool_id for each in seen.traces(sending({"a": SENTENCE}))] == ["hr"]


@pytest.mark.parametrize("known_by", ["policy", "question", "earlier trace"])
async def test_large_results_are_taken_in_beside_and_waited_for(known_by: str) -> None:
    seen = Memory(lambda _: (), traced=known_by == "policy")
    if known_by == "earlier trace":
        seen.traces(sending({}))
    words = random.Random(1)
    long = " ".join(f"w{words.getrandbits(40):x}" for _ in range(200_000))
    seen.learned(reading(), text(long))
    await seen.settle(LOCAL, now=known_by == "question")
    assert all(each.done() for each in seen._running.values())
    part = long[1_000_000:1_000_200]
    assert [each.tool_id for each in seen.traces(sending({"a": part}))] == ["hr.get"]
    seen.close()


def test_the_oldest_results_of_a_caller_are_forgotten_first() -> None:
    seen = Memory(lambda _: (), caller_mb=1)
    words = random.Random(1)
    parts = [" ".join(f"w{words.getrandbits(64):x}" for _ in range(30_000)) for _ in range(4)]
    for number, part in enumerate(parts):
        seen.learned(reading(f"hr.t{number}"), text(part))
        seen.traces(sending({}))
    found = [bool(seen.traces(sending({"a": part[:200]}))) for part in parts]
    assert found == [False, False, True, True] or found == [False, False, False, True]


async def test_the_most_silent_callers_texts_make_room_and_their_labels_stay() -> None:
    seen = Memory(lambda _: {"private"}, caller_mb=1, max_mb=1)
    words = random.Random(1)
    callers = [Caller(Principal(name)) for name in ("ann", "ben")]
    parts = [" ".join(f"w{words.getrandbits(64):x}" for _ in range(7_000)) for _ in range(2)]
    seen.traces(sending({}))
    for caller, part in zip(callers, parts, strict=True):
        seen.learned(reading(caller=caller), text(part))
        await seen.settle(caller)
    for _ in range(8):  # the bound is looked at now and then
        seen.learned(reading(caller=callers[1]), text("x " * 60_000))
        await seen.settle(callers[1])
    found = [bool(seen.traces(sending({"a": part[:200]}, caller))) for caller, part in zip(callers, parts, strict=True)]
    assert found == [False, True]
    assert seen.labels(callers[0]) == {"private"}
    seen.close()


@pytest.mark.parametrize(
    "hostile",
    [
        "a" * 200_000,
        "a." * 100_000,
        "1 " * 100_000,
        "1," * 100_000,
        "a@" * 100_000,
        "%41" * 50_000,
        "A" * 199_999 + "=",
        "-" * 200_000,
        "1-" * 100_000,
        "a_1" * 60_000,
        "\ud800" * 50_000,
        "[" * 100_000,
        '{"a":' * 50_000,
    ],
)
def test_no_text_makes_it_take_long(hostile: str) -> None:
    seen = Memory(lambda _: ())
    seen.learned(reading(), text(hostile))
    seen.traces(sending({"a": hostile}))


def test_values_of_any_depth_and_width_are_gone_through() -> None:
    deep: Any = SENTENCE
    for _ in range(100_000):
        deep = [deep]
    wide = {"content": [], "structuredContent": [*range(300_000), SENTENCE]}
    for result in ({"content": [], "structuredContent": deep}, wide):
        seen = Memory(lambda _: ())
        seen.learned(reading(), result)
        assert seen.traces(sending({"a": SENTENCE}))
        assert seen.traces(sending({"a": deep}))[0].argument.count("/0") == 100_000
        seen.close()


def test_a_shared_part_of_certain_length_always_has_a_common_fingerprint() -> None:
    words = random.Random(7)
    alphabet = b"abcdefghijklmnopqrstuvwxyz0123456789"
    for _ in range(300):
        part = bytes(words.choices(alphabet, k=CERTAIN))
        around = [bytes(words.choices(alphabet, k=words.randrange(200))) for _ in range(4)]
        kept, _ = winnowed(around[0] + part + around[1])
        assert set(kept.tolist()) & set(grams(around[2] + part + around[3]).tolist())


def test_fingerprints_stand_where_they_say() -> None:
    content = letters(SENTENCE * 50)
    hashes, places = winnowed(content)
    every = grams(content)
    assert len(every) == len(content) - GRAM + 1
    assert (every[places] == hashes).all()
    # 2 of 17 in random text (Schleimer and others, theorem 1); a repeating one keeps the same over and over.
    assert len(places) < len(every) / 4


class Watched(list[Any]):
    """A list that notes which threads go through it."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(items)
        self.threads: set[int] = set()

    def __iter__(self) -> Iterator[Any]:
        self.threads.add(threading.get_ident())
        return super().__iter__()


async def test_large_arguments_keep_nothing_else_waiting() -> None:
    seen = Memory(lambda _: (), traced=True)
    seen.learned(reading(), text(SENTENCE))
    many = Watched([{"number": number, "text": f"text {number}"} for number in range(20_000)])
    many.append({"text": SENTENCE})
    call = sending({"many": many})
    await seen.settle(LOCAL, call=call)
    many.threads.discard(threading.get_ident())
    elsewhere = set(many.threads)
    assert elsewhere
    assert [each.tool_id for each in seen.traces(call)] == ["hr.get"]
    assert many.threads == elsewhere
    seen.learned(call, text("sent"))
    await seen.settle(LOCAL)
    assert seen._seen[LOCAL.key].noted == 0
    seen.close()
