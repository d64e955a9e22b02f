"""How results begin, as the journal keeps it: readable, bounded, without secrets, and for so many days."""

import base64
import json
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolcrib.broker import Call, Rules
from toolcrib.broker.journal.beginnings import BYTES_OF_A_RESULT, MOST_CHARACTERS, beginning_of
from toolcrib.broker.journal.withheld import TooManyError, withheld
from toolcrib.redact import Secrets

pytestmark = pytest.mark.anyio

SECRET = "hunter2-correct-horse"


def begins(result: Any) -> str:
    """How a result begins; the journal holds so many bytes of its compact JSON."""
    secrets = Secrets()
    secrets.add(SECRET, name="token")
    line = json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()
    return beginning_of(line[:BYTES_OF_A_RESULT], secrets.value)


def of_text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


PICTURE = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(bytes(30)).decode()}


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (of_text("three notes"), "three notes"),
        (of_text(f"the key is {SECRET}."), "the key is ***."),
        (of_text('{"n": 1, "password": "abc"}'), '{\n "n": 1,\n "password": "***"\n}'),
        ({**of_text('{"n":1}'), "structuredContent": {"n": 1}}, '{\n "n": 1\n}'),
        ({"structuredContent": {"credentials": {"a": ["b"]}}}, '{\n "credentials": "***"\n}'),
        ({"content": [PICTURE]}, '{\n "type": "image",\n "mimeType": "image/png",\n "bytes": 30\n}'),
        ({"contents": [{"uri": "a:b", "text": "a page"}]}, "a page"),
        ({"content": []}, ""),
        (of_text(""), ""),
        ({}, ""),
    ],
)
def test_a_small_result_is_kept_as_a_person_reads_it(result: Any, wanted: str) -> None:
    assert begins(result) == wanted


def test_of_a_large_text_its_beginning_is_kept() -> None:
    assert begins(of_text("ab" * 600)) == "ab" * (MOST_CHARACTERS // 2) + "…"
    assert begins(of_text("é😀" * 9_000)) == "é😀" * (MOST_CHARACTERS // 2) + "…"


def test_a_secret_that_the_bound_would_break_is_left_out_whole() -> None:
    kept = begins(of_text("." * (MOST_CHARACTERS - 5) + SECRET + "." * 20_000))
    assert kept.endswith("***..…")
    assert not any(SECRET[:size] in kept for size in range(5, len(SECRET)))
    # Four bytes a letter: what was held ends not far behind the bound, within the secret.
    wide = "😀" * ((BYTES_OF_A_RESULT - 60) // 4) + SECRET * 100
    assert "hunt" not in begins(of_text(wide))


def test_of_a_large_structure_its_first_members_are_kept() -> None:
    kept = begins({"structuredContent": {"rows": [{"id": number, "token": SECRET} for number in range(900)]}})
    assert kept.startswith('{\n "rows": [\n  {\n   "id": 0,\n   "token": "***"\n  },')
    assert kept.endswith("…")
    assert len(kept) == MOST_CHARACTERS + 1


def test_of_a_large_image_no_size_is_told_that_nobody_measured() -> None:
    large = {**PICTURE, "data": base64.b64encode(bytes(90_000)).decode()}
    assert begins({"content": [large]}) == '{\n "type": "image",\n "mimeType": "image/png"\n}…'


async def test_reads_and_effects_are_told_with_how_their_results_begin(open_book: Callable[..., Any]) -> None:
    async with open_book() as book:
        for effect in ("read", "write"):
            call = await book.begin("s.t", effect)
            await book.journal.ended(call, "done", result=of_text(f"{effect}\0"))
            [entry] = await book.reader.entries(limit=1)
            assert await book.reader.beginning(entry) == f"{effect}\ufffd"
        failed = await book.begin("s.t", "read")
        await book.journal.ended(failed, "failed", "gone")
        [entry] = await book.reader.entries(limit=1)
        assert await book.reader.beginning(entry) == ""


async def test_nothing_of_results_is_kept_where_the_configuration_says_so(open_book: Callable[..., Any]) -> None:
    async with open_book(rules=Rules(result_days=0)) as book:
        call = await book.begin("s.t", "read")
        await book.journal.ended(call, "done", result=of_text("three notes"))
        [entry] = await book.reader.entries()
        assert entry.result_bytes == len('{"content":[{"type":"text","text":"three notes"}]}')
        assert await book.reader.beginning(entry) == ""


async def test_a_result_that_no_json_can_tell_costs_no_record(open_book: Callable[..., Any]) -> None:
    nested: Any = "deep"
    for _ in range(400):
        nested = [nested]
    async with open_book() as book:
        for result in ({"structuredContent": nested}, of_text("[" * 3_000), {"structuredContent": {"a": float("nan")}}):
            call = await book.begin("s.t", "write")
            await book.journal.ended(call, "done", result=result)
            assert (await book.entry(call)).state == "done"


async def test_how_results_begin_is_forgotten_before_the_calls_are(
    open_book: Callable[..., Any], clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolcrib.broker.journal import queries

    monkeypatch.setattr("time.time", clock)
    async with open_book() as book:
        calls = [await book.begin("s.t", "write") for _ in range(3)]
        for call in calls:
            await book.journal.ended(call, "done", result=of_text(call.id))
        entries = await book.reader.entries()
        assert [await book.reader.beginning(each) for each in entries] == [each.id for each in reversed(calls)]
        assert await book.store.write(queries.forget_beginnings, clock.now, 2) == 0
        assert await book.store.write(queries.forget_beginnings, clock.now + 1, 2) == 2
        assert await book.store.write(queries.forget_beginnings, clock.now + 1, 2) == 1
        assert len(await book.reader.entries()) == 3
        again = await book.begin("s.t", "write")
        await book.journal.ended(again, "done", result=of_text("again"))
        assert await book.store.write(queries.prune, None, 1, 10) == 3
        assert await book.reader.beginning(entries[0]) == ""
        assert await book.store.write(queries.prune, clock.now + 1, None, 10) == 1
        assert await book.store.write(queries.forget_beginnings, clock.now + 1, 10) == 0  # gone with their calls


async def test_they_are_forgotten_in_the_background(
    open_book: Callable[..., Any], clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", clock)
    monkeypatch.setattr("toolcrib.broker.journal.writer._IDLE_SECONDS", 0.01)
    async with open_book() as book:
        call = await book.begin("s.t", "write")
        await book.journal.ended(call, "done", result=of_text("three notes"))
        [entry] = await book.reader.entries()
        assert await book.reader.beginning(entry) == "three notes"
    clock.now += 1
    async with open_book("two", Rules(result_days=0)) as book:
        await book.begin("s.t", "write")
        while await book.reader.beginning(entry):
            await anyio.lowlevel.checkpoint()


HIDING = {
    "letters": [{"to": "ann", "body": 'what "nobody"\nis to keep'}],
    "password": "plain-word",
    "pin": 4711,
    "n": 1,
}
PATHS = ("/letters/*/body",)


def hidden_in(made: Callable[..., Call], arguments: Any) -> list[str]:
    return withheld(made("s.echo", arguments=arguments), PATHS)


@pytest.mark.parametrize(
    "result",
    [
        of_text(f"Sent {HIDING['letters'][0]['body']} by plain-word."),
        of_text(f"Sent {json.dumps(HIDING)}"),
        of_text(json.dumps([HIDING])),
        {"structuredContent": {"echo": [HIDING["letters"][0]["body"], "plain-word"]}},
    ],
)
def test_what_is_kept_of_no_argument_is_kept_of_no_result(made: Callable[..., Call], result: Any) -> None:
    line = json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()
    text = beginning_of(line, Secrets().value, hidden_in(made, HIDING))
    assert "***" in text
    assert not [each for each in ("nobody", "is to keep", "plain-word") if each in text]


def test_of_a_long_result_nothing_is_kept_that_may_begin_with_a_long_text_that_is_hidden(
    made: Callable[..., Call],
) -> None:
    body = "never " * 2_000
    line = json.dumps(of_text(body)).encode()[:BYTES_OF_A_RESULT]
    assert beginning_of(line, Secrets().value, hidden_in(made, {"letters": [{"body": body}]})) == ""


def test_more_arguments_than_are_looked_at_are_told(made: Callable[..., Call]) -> None:
    with pytest.raises(TooManyError):
        hidden_in(made, {"all": list(range(30_000))})
