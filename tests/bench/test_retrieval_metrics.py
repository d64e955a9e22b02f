"""The measures of a ranking against values worked out by hand, and the typing errors."""

import math
import random

import pytest
from bench.retrieval.metrics import NAMES, area, interval, measured, rows
from bench.retrieval.sets import Request
from bench.retrieval.typos import mistyped


def request_for(*needed: str, kind: str = "") -> Request:
    """A request; alternatives are written with a bar between."""
    return Request("words", kind, tuple(frozenset(group.split("|")) for group in needed))


def by_name(request: Request, found: list[str]) -> dict[str, float]:
    return dict(zip(NAMES, measured(request, found), strict=True))


def test_a_needed_tool_counts_where_it_or_one_as_good_comes_first() -> None:
    # Two tools needed: `b.two` is second, and `c.three` is fourth by its alternative.
    reached = by_name(request_for("b.two", "c.three|d.other"), ["a.one", "b.two", "a.six", "d.other", "c.three"])

    assert reached["R@1"] == 0
    assert reached["R@5"] == 1
    # 1/log2(2+1) + 1/log2(4+1), over the ideal 1/log2(2) + 1/log2(3)
    assert reached["nDCG@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3)))
    assert reached["C@10"] == 1


def test_half_of_what_is_needed_is_half_the_recall_and_not_complete() -> None:
    reached = by_name(request_for("a.one", "b.two"), ["a.one", *(f"z.{number}" for number in range(60)), "b.two"])

    assert (reached["R@1"], reached["R@5"], reached["R@50"]) == (0.5, 0.5, 0.5)
    assert reached["C@10"] == 0


def test_the_right_server_counts_though_its_tool_is_the_wrong_one() -> None:
    assert by_name(request_for("a.one"), ["b.x", "a.other"])["server@5"] == 1
    assert by_name(request_for("a.one"), ["b.x", "b.y", "b.z", "c.x", "c.y", "a.one"])["server@5"] == 0


def test_nothing_found_is_nothing_reached() -> None:
    assert set(measured(request_for("a.one"), [])) == {0.0}


def test_the_area_counts_pairs_in_the_right_order_and_ties_half() -> None:
    # Pairs: 3>1, 3>2, 2>1, 2=2: three and a half of four.
    assert area([3, 2], [1, 2]) == pytest.approx(3.5 / 4)
    assert area([1], [-math.inf]) == 1


def test_the_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    values = [0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.5, 1.0]
    low, high = interval(values)

    assert low < sum(values) / len(values) < high
    assert (low, high) == interval(values)
    assert interval([1.0, 1.0]) == (1, 1)


def test_there_is_a_row_for_each_kind_only_where_there_are_several() -> None:
    requests = [request_for("a.one", kind="easy"), request_for("a.two", kind="hard")]
    whole, easy, hard = rows(requests, [["a.one"], ["a.one", "a.two"]])

    assert "kind" not in whole
    assert (whole["queries"], whole["R@1"], whole["R@5"]) == (2, 50, 100)
    assert (easy["kind"], easy["R@1"]) == ("easy", 100)
    assert (hard["kind"], hard["R@1"]) == ("hard", 0)
    assert len(rows(requests[:1], [["a.one"]])) == 1


def one_edit_apart(one: str, other: str) -> bool:
    if len(one) == len(other):
        different = [at for at in range(len(one)) if one[at] != other[at]]
        swapped = len(different) == 2 and [one[at] for at in different] == [other[at] for at in reversed(different)]
        return len(different) <= 1 or (swapped and different[1] == different[0] + 1)
    longer, shorter = sorted((one, other), key=len, reverse=True)
    return len(longer) == len(shorter) + 1 and any(
        longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer))
    )


def test_each_word_that_carries_meaning_gets_one_edit_and_no_other_word_any() -> None:
    text = "Please show the forecast for Berlin within two days, and send it to Anna's printer."
    typed = mistyped(text, random.Random(1))

    for before, after in zip(text.split(), typed.split(), strict=True):
        assert one_edit_apart(before, after)
        if before.lower() in {"please", "show", "the", "for", "within", "two", "and", "it", "to"}:
            assert after == before
    assert mistyped(text, random.Random(1)) == typed
    assert mistyped(text, random.Random(2)) != typed
