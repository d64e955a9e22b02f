"""A result and its budget: whole where it fits, else kept, with a preview in its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolcrib.broker import HANDLE_META, LOCAL, NOT_KEPT_META, Call, Excerpt, Handles, KeptResults
from toolcrib.broker.results.shape import shape

pytestmark = pytest.mark.anyio

CALL = Call("tools/call", "files.read", "files", {"name": "read"}, LOCAL, None, "read")
IMAGE = {"type": "image", "mimeType": "image/png", "data": "A" * 40_000}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


@pytest.fixture
def handles(tmp_path: Path) -> Handles:
    kept = KeptResults(tmp_path, seconds=3_600, most_bytes=100_000_000, largest=50_000_000)
    return Handles(kept, lambda _: {"private"})


async def whole(handles: Handles, handle: str | None, **wanted: Any) -> tuple[Any, ...]:
    assert handle is not None
    facts = await handles.facts(handle, LOCAL.principal)
    return (await handles.page(handle, facts, Excerpt(**wanted))).values


@pytest.mark.parametrize("budget", [None, 100_000])
async def test_what_fits_is_handed_on_as_it_is(handles: Handles, budget: int | None) -> None:
    result = {"content": [text("x" * 90_000)], "unknown": 1}
    assert await handles.fit(result, budget, CALL) == (result, None)


@pytest.mark.parametrize("budget", [1_000, 4_000, 32_000])
async def test_a_preview_says_what_there_is_and_is_within_the_budget(handles: Handles, budget: int) -> None:
    value = {"total": 9_000, "items": [{"id": number, "name": f"name {number}"} for number in range(9_000)]}
    result, handle = await handles.fit({"content": [text(json.dumps(value))], "structuredContent": value}, budget, CALL)
    assert size(result) <= budget
    assert result["_meta"] == {HANDLE_META: handle}
    said = result["content"][0]["text"]
    assert str(handle) in said
    assert "{total: integer, items: [9,000 × {id: integer, name: string}]}" in said
    assert '{"total": 9000, "items": [{"id": 0, "name": "name 0"}' in said
    assert "structuredContent" not in result
    assert await whole(handles, handle, select="items") == tuple(value["items"])


async def test_a_text_that_repeats_the_structure_counts_once_and_both_are_handed_on(handles: Handles) -> None:
    value = {"rows": ["x" * 100] * 70}
    result = {"content": [text(json.dumps(value))], "structuredContent": value}
    assert size(result) > 10_000 > size({"content": [], "structuredContent": value})
    assert await handles.fit(result, 10_000, CALL) == (result, None)


async def test_an_image_counts_by_what_it_costs_a_model_and_stays_whole(handles: Handles) -> None:
    result = {"content": [text("a chart"), IMAGE]}
    assert await handles.fit(result, 4_000, CALL) == (result, None)


async def test_a_small_image_beside_a_large_text_stays_in_the_preview(handles: Handles) -> None:
    result, handle = await handles.fit({"content": [text("x\n" * 10_000), IMAGE]}, 4_000, CALL)
    assert result["content"][1] == IMAGE
    assert await whole(handles, handle, offset=1) == ({"type": "image", "mimeType": "image/png", "bytes": 30_000},)


async def test_a_large_image_is_named_and_read_as_a_block(handles: Handles) -> None:
    large = {**IMAGE, "data": "A" * 4_000_000}
    result, handle = await handles.fit({"content": [large]}, 4_000, CALL)
    assert handle is not None
    assert "image (image/png, 3,000,000 bytes)" in result["content"][0]["text"]
    assert "AAAA" not in result["content"][0]["text"]
    page = await handles.page(handle, await handles.facts(handle, LOCAL.principal), Excerpt(budget=4_000))
    assert page.content[0] == large
    by_search = await handles.page(handle, await handles.facts(handle, LOCAL.principal), Excerpt(grep="AAAA"))
    assert by_search.values == ()


async def test_an_error_stays_marked(handles: Handles) -> None:
    result, handle = await handles.fit({"content": [text("no\n" * 5_000)], "isError": True}, 4_000, CALL)
    assert handle is not None
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("This error is too large")


async def test_what_is_kept_carries_its_labels_and_its_call(handles: Handles) -> None:
    _, handle = await handles.fit({"content": [text("x" * 5_000)]}, 1_000, CALL)
    facts = await handles.facts(str(handle), LOCAL.principal)
    assert (facts.labels, facts.call_id, facts.tool_id) == (("private",), CALL.id, "files.read")


async def test_what_can_t_be_stored_is_whole_and_says_why(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("in the way")
    handles = Handles(KeptResults(folder / "results", seconds=60, most_bytes=10**6, largest=10**6))
    result = {"content": [text("x" * 5_000)], "_meta": {"a": 1}}
    fitted, handle = await handles.fit(result, 1_000, CALL)
    assert handle is None
    assert fitted["content"] == result["content"]
    assert fitted["_meta"]["a"] == 1
    assert fitted["_meta"][NOT_KEPT_META]


async def test_what_is_larger_than_one_may_be_is_whole_and_says_why(tmp_path: Path) -> None:
    handles = Handles(KeptResults(tmp_path, seconds=60, most_bytes=10**6, largest=4_000))
    fitted, handle = await handles.fit({"content": [text("x" * 5_000)]}, 1_000, CALL)
    assert handle is None
    assert "more than one stored result may have" in fitted["_meta"][NOT_KEPT_META]


async def test_a_million_items_are_kept_and_read(handles: Handles) -> None:
    value = [{"i": number} for number in range(1_000_000)]
    result, handle = await handles.fit({"content": [], "structuredContent": value}, 32_000, CALL)
    assert "[1,000,000 × {i: integer}]" in result["content"][0]["text"]
    assert await whole(handles, handle, offset=999_998, budget=32_000) == ({"i": 999_998}, {"i": 999_999})
    assert await whole(handles, handle, select="[-1].i | [@]") == (999_999,)


async def test_a_text_of_a_hundred_thousand_levels_is_read_as_text(handles: Handles) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    result, handle = await handles.fit({"content": [text(deep)]}, 4_000, CALL)
    assert "text of 1 lines, 200,000 characters" in result["content"][0]["text"]
    assert "".join(await whole(handles, handle)) == deep


async def test_a_structure_of_a_hundred_thousand_levels_is_left_to_the_face(handles: Handles) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    result = {"content": [], "structuredContent": deep}
    fitted, handle = await handles.fit(result, 4_000, CALL)
    assert fitted is result
    assert handle is None


async def test_what_json_has_no_form_for_is_kept(handles: Handles) -> None:
    value = {"half": "\ud83d" * 5_000, "number": float("inf")}
    result, handle = await handles.fit({"content": [], "structuredContent": value}, 4_000, CALL)
    json.dumps(result)
    assert await whole(handles, handle, select="[half, number]") == ("\ud83d" * 5_000, float("inf"))


@pytest.mark.parametrize("text_of_any_script", ['"\\\n' * 3_000, "日本語" * 3_000, "😀" * 3_000, "\x01" * 9_000])
async def test_a_preview_of_any_text_is_within_the_budget(handles: Handles, text_of_any_script: str) -> None:
    result, _ = await handles.fit({"content": [text(text_of_any_script)]}, 2_000, CALL)
    assert size(result) <= 2_000


async def test_other_answers_than_tools_are_kept_too(handles: Handles) -> None:
    read = Call("resources/read", "files", "files", {"uri": "file:///a"}, LOCAL, None, "read")
    contents = [{"uri": "file:///a", "text": "a\nb\n" * 2_000}, {"uri": "file:///b", "blob": "A" * 400}]
    _, handle = await handles.fit({"contents": contents}, 1_000, read)
    assert (await whole(handles, handle, select="[0]"))[:2] == ("a", "b")
    assert (await whole(handles, handle, offset=1))[0]["resource"] == {"uri": "file:///b", "bytes": 300}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "boolean"),
        (1.5, "number"),
        ("x" * 2_000, "string of 2,000 characters"),
        ([], "[]"),
        ({}, "{}"),
        ([1, "a", None], "[3 × integer | string | null]"),
        ([{"a": 1}, {"a": 2, "b-c": []}], '[2 × {a: integer, "b-c"?: []}]'),
        ([[1], [1, 2, 3]], "[2 × [1–3 × integer]]"),
        ({"k" * 100: 1}, "{" + "k" * 60 + "…: integer}"),
    ],
)
def test_shapes(value: Any, expected: str) -> None:
    assert shape(value, 1_000).replace('"' + "k" * 60 + '…"', "k" * 60 + "…") == expected


def test_a_shape_is_bounded_whatever_the_value() -> None:
    wide = {f"key{number}": {f"inner{other}": [number] for other in range(50)} for number in range(1_000)}
    assert len(shape(wide, 500)) <= 500
    deep: Any = 1
    for _ in range(100_000):
        deep = {"a": deep}
    assert len(shape(deep, 500)) <= 500
