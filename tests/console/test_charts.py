"""Charts: what stands where, worked out by hand."""

import pytest

from toolcrib.console.charts import HEIGHT, WIDTH, Layer, bars_over_time, ceiling, short


def test_bars_are_stacked_to_scale_from_the_bottom() -> None:
    layers = [Layer("failed", "hatched", [1.0, 0.0, 2.0]), Layer("others", "solid", [3.0, 0.0, 6.0])]
    chart = bars_over_time("calls", "Calls", layers, ["one", "two", "three"], ["a", "b"], lambda value: f"{value:g}")
    # The highest is 8, so the top is 8, and one call is an eighth of 150; each bar has a third of 600, less 22 %.
    assert chart.heights == ["8", "4", "0"]
    first, second, third = chart.bars
    assert [(each.pattern, each.y, each.height) for each in first.pieces] == [
        ("hatched", 131.25, 18.75),
        ("solid", 75.0, 56.25),
    ]
    assert [(each.x, each.width) for each in (*first.pieces[:1], *third.pieces[:1])] == [(22.0, 156.0), (422.0, 156.0)]
    assert second.pieces == []
    assert third.pieces[-1].y == 0.0
    assert first.about == "one: 1 failed, 3 others"
    assert chart.layers == [("failed", "hatched"), ("others", "solid")]


def test_what_is_next_to_nothing_is_seen_and_nothing_leaves_the_chart() -> None:
    layers = [Layer("spent", "solid", [1.0]), Layer("saved", "hatched", [9_999_999.0])]
    [bar] = bars_over_time("tokens", "", layers, ["now"], [], short).bars
    assert [each.height for each in bar.pieces] == [1.5, HEIGHT - 1.5]
    assert all(each.y >= 0 and each.y + each.height <= HEIGHT for each in bar.pieces)
    assert all(each.x >= 0 and each.x + each.width <= WIDTH for each in bar.pieces)


def test_without_anything_a_chart_is_empty() -> None:
    assert bars_over_time("calls", "", [Layer("all", "solid", [0.0, 0.0])], ["a", "b"], [], short).is_empty
    assert bars_over_time("calls", "", [Layer("all", "solid", [])], [], [], short).is_empty


@pytest.mark.parametrize(
    ("value", "top"),
    [
        (0, 2),
        (1, 2),
        (2, 2),
        (3, 4),
        (5, 6),
        (7.5, 8),
        (9, 10),
        (10, 10),
        (11, 20),
        (61, 80),
        (99.5, 100),
        (100, 100),
        (1_000, 1_000),
        (123_456, 200_000),
    ],
)
def test_an_axis_ends_at_a_round_number_whose_half_is_one_too(value: float, top: float) -> None:
    assert ceiling(value) == top


def test_numbers_are_short_at_an_axis() -> None:
    assert [short(each) for each in (0, 950, 1_000, 12_500, 3_000_000, 2.5e9, -1_500)] == [
        "0",
        "950",
        "1k",
        "12.5k",
        "3M",
        "2.5G",
        "-1.5k",
    ]
