"""How an answer is put into the envelope of one client's revision."""

import copy
import math
from typing import Any

import pytest
from pydantic_core import to_json

from toolcrib.gateway.answers import REPLACED_META, enveloped

STAMP = "io.modelcontextprotocol/serverInfo"
MODERN = {"content": [], "resultType": "complete", "_meta": {STAMP: {"name": "toolcrib"}}}
HANDSHAKE: dict[str, Any] = {"content": []}


def answer(**members: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "hi"}], **members}


def test_the_stamp_of_the_upstream_gives_way_to_the_gateways() -> None:
    upstream = answer(resultType="complete", _meta={STAMP: {"name": "odd"}, "a": 1})

    modern = enveloped(upstream, MODERN, "2026-07-28")
    handshake = enveloped(upstream, HANDSHAKE, "2025-11-25")

    assert modern == answer(resultType="complete", _meta={STAMP: {"name": "toolcrib"}, "a": 1})
    assert handshake == answer(_meta={"a": 1})


def test_a_meta_that_held_nothing_but_the_stamp_is_gone_for_the_handshake_era() -> None:
    assert enveloped(answer(_meta={STAMP: {"name": "odd"}}), HANDSHAKE, "2025-06-18") == answer()


@pytest.mark.parametrize("meta", [None, [], "text"])
def test_a_meta_that_is_no_object_is_left_out(meta: object) -> None:
    assert enveloped(answer(_meta=meta), HANDSHAKE, "2025-06-18") == answer()
    assert enveloped(answer(_meta=meta), MODERN, "2026-07-28")["_meta"] == MODERN["_meta"]


def test_a_result_without_content_gets_the_empty_list_that_the_protocol_requires() -> None:
    assert enveloped({"structuredContent": {"a": 1}}, HANDSHAKE, "2025-06-18") == {
        "content": [],
        "structuredContent": {"a": 1},
    }


@pytest.mark.parametrize("structure", [[1, 2], "text", 7, True, None])
def test_a_structure_that_is_no_object_becomes_text_for_the_handshake_era(structure: object) -> None:
    projected = enveloped(answer(structuredContent=structure), HANDSHAKE, "2025-11-25")
    whole = enveloped(answer(structuredContent=structure), MODERN, "2026-07-28")

    expected = {7: "7", "text": '"text"', True: "true", None: "null"}
    text = "[1,2]" if isinstance(structure, list) else expected[structure]
    assert projected == {"content": [{"type": "text", "text": "hi"}, {"type": "text", "text": text}]}
    assert whole["structuredContent"] == structure


def test_the_answer_itself_stays_as_it_is() -> None:
    upstream = answer(structuredContent=[1], _meta={STAMP: {}, "a": {}})
    before = copy.deepcopy(upstream)

    enveloped(upstream, HANDSHAKE, "2025-11-25")

    assert upstream == before


def test_an_answer_that_asks_for_input_carries_that_alone_and_goes_to_modern_clients_only() -> None:
    asks = {"resultType": "input_required", "inputRequests": {"q": {}}, "requestState": "sealed", "content": [], "x": 1}
    modern = enveloped(asks, MODERN, "2026-07-28")
    handshake = enveloped(asks, {}, "2025-11-25")

    expected = {"resultType": "input_required", "inputRequests": {"q": {}}, "requestState": "sealed"}
    assert {name: value for name, value in modern.items() if name != "_meta"} == expected
    assert handshake["isError"] is True
    assert "input_required" in handshake["content"][0]["text"]


def test_a_kind_of_result_that_nobody_knows_is_told_as_an_error() -> None:
    result = enveloped({"resultType": "task", "taskId": "1"}, MODERN, "2026-07-28")

    assert result["isError"] is True
    assert result["resultType"] == "complete"
    assert "'task'" in result["content"][0]["text"]


def test_a_question_that_cannot_be_written_is_told_as_an_error() -> None:
    asks = {"resultType": "input_required", "inputRequests": {"q": nested(5_000)}, "requestState": "sealed"}
    assert enveloped(asks, MODERN, "2026-07-28")["isError"] is True


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [nested(500), nested(5_000), object()])
def test_what_json_cannot_carry_is_told_and_does_not_end_the_connection(value: object) -> None:
    result = enveloped(answer(structuredContent={"a": value}), HANDSHAKE, "2025-11-25")

    assert result["isError"] is True
    assert "can't be written as JSON" in result["content"][0]["text"]


def test_half_a_surrogate_pair_is_replaced_and_the_rest_of_the_answer_stays() -> None:
    cut = "a page that JavaScript cut \ud83d"
    result = enveloped(answer(structuredContent={"page": cut, "\udc00": 1, "n": 10**30}), MODERN, "2026-07-28")

    assert result["structuredContent"] == {"page": "a page that JavaScript cut \ufffd", "\ufffd": 1, "n": 10**30}
    assert result["_meta"][REPLACED_META] == ["/structuredContent/page", "/structuredContent"]
    assert result.get("isError") is not True
    assert to_json(result)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_not_finite_is_never_changed_in_silence(number: float) -> None:
    result = enveloped(answer(structuredContent={"a/b": [1, number]}), HANDSHAKE, "2025-11-25")

    assert result["structuredContent"] == {"a/b": [1, None]}
    assert result["_meta"] == {REPLACED_META: ["/structuredContent/a~1b/1"]}


def test_a_text_about_numbers_that_are_not_finite_stays_as_it_is() -> None:
    result = enveloped(answer(structuredContent={"text": "NaN and Infinity"}), HANDSHAKE, "2025-11-25")

    assert result["structuredContent"] == {"text": "NaN and Infinity"}
    assert "_meta" not in result
