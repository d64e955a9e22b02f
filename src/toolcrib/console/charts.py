"""Charts as a template draws them: stacked bars over time, worked out here, as inline SVG.

A chart is stretched to the width that there is, so it holds no text: what stands at its axes is text of the page,
beside it. Layers differ by pattern as well as by colour.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 600.0, 150.0
"""The chart's own units."""

_LEAST = 1.5
"""The height of what is next to nothing, so that it can be seen."""

_GAP = 0.22
"""The share of a bar's room that is left free."""

_LEAST_TOP = 2.0
_STEPS = (1, 2, 4, 6, 8, 10)


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of all bars.

    Attributes:
        name: What it is called.
        pattern: How it is drawn: `solid`, `hatched` or `dotted`.
        values: Its height in each bar; none below 0.
    """

    name: str
    pattern: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Piece:
    """One layer of one bar, in the chart's units."""

    pattern: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Attributes:
        about: What it stands for, in words.
        pieces: What it is made of, the lowest first; none where it is empty.
    """

    about: str
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart.

    Attributes:
        name: What tells it from others of the page, as an HTML id.
        about: What it shows, in words: a reader that sees no pictures gets that.
        layers: Names and patterns, the lowest first.
        bars: From left to right.
        heights: What stands at the axis beside it, from the top down.
        places: What stands at the axis below it, from left to right, evenly spaced.
    """

    name: str
    about: str
    layers: Sequence[tuple[str, str]]
    bars: Sequence[Bar]
    heights: Sequence[str]
    places: Sequence[str]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be seen on it."""
        return not any(bar.pieces for bar in self.bars)


def bars_over_time(
    name: str,
    about: str,
    layers: Sequence[Layer],
    spans: Sequence[str],
    places: Sequence[str],
    written: Callable[[float], str],
) -> Chart:
    """A chart of stacked bars.

    Args:
        name: See `Chart`.
        about: See `Chart`.
        layers: What is stacked, the lowest first; each has as many values as there are spans.
        spans: The stretch of time that each bar stands for, in words.
        places: See `Chart`.
        written: Writes a value with its unit.
    """
    sums = [sum(layer.values[at] for layer in layers) for at in range(len(spans))]
    top = ceiling(max(sums, default=0.0))
    room = WIDTH / max(1, len(spans))
    bars: list[Bar] = []
    for at, span in enumerate(spans):
        pieces: list[Piece] = []
        reached = 0.0
        for layer in layers:
            if layer.values[at] > 0:
                height = max(_LEAST, layer.values[at] / top * HEIGHT)
                bottom = HEIGHT - reached
                pieces.append(
                    Piece(
                        layer.pattern,
                        round(room * (at + _GAP / 2), 2),
                        round(max(0.0, bottom - height), 2),
                        round(room * (1 - _GAP), 2),
                        round(min(height, bottom), 2),
                    )
                )
                reached += height
        told = ", ".join(f"{written(layer.values[at])} {layer.name}" for layer in layers)
        bars.append(Bar(f"{span}: {told}", pieces))
    heights = [written(top), written(top / 2), "0"]
    return Chart(name, about, [(each.name, each.pattern) for each in layers], bars, heights, places)


def ceiling(value: float) -> float:
    """The least of 1, 2, 4, 6 and 8 times a power of ten that a value does not exceed; 2 for what is less."""
    if value <= _LEAST_TOP:
        return _LEAST_TOP
    size = 10.0 ** math.floor(math.log10(value))
    return next(step * size for step in _STEPS if value <= step * size)


def short(value: float) -> str:
    """A number in few characters: `950`, `12.5k`, `3M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.1f}".removesuffix(".0") + unit
    return f"{value:.0f}"
