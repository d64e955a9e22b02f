"""Bar charts."""

from collections.abc import Sequence

from toolcrib.demo.files.canvas import Canvas, Colour, width_of

COLOURS: dict[str, Colour] = {
    "blue": (46, 98, 166),
    "green": (58, 132, 88),
    "orange": (214, 122, 36),
    "grey": (110, 116, 122),
}

_PAPER, _INK, _LINE = (255, 255, 255), (40, 44, 48), (200, 204, 208)
_SCALE = 2
_MARGIN = 16
_LINE_HEIGHT = 8 * _SCALE


def bar_chart(title: str, bars: Sequence[tuple[str, float]], width: int, height: int, colour: str) -> bytes:
    """A bar chart as a PNG file.

    Args:
        title: Written above.
        bars: Label and value of each bar, from left to right; values are not negative.
        width: Pixels.
        height: Pixels.
        colour: A key of `COLOURS`.
    """
    canvas = Canvas(width, height, _PAPER)
    canvas.write(_fitting(title, width - 2 * _MARGIN), _MARGIN, _MARGIN, _INK, _SCALE)
    top, bottom = _MARGIN + 3 * _LINE_HEIGHT, height - _MARGIN - _LINE_HEIGHT
    canvas.fill(_MARGIN, bottom, width - 2 * _MARGIN, 1, _LINE)
    highest = max(value for _, value in bars) or 1
    slot = (width - 2 * _MARGIN) // len(bars)
    for place, (label, value) in enumerate(bars):
        left, tall = _MARGIN + place * slot, round(value / highest * (bottom - top))
        canvas.fill(left + slot // 8, bottom - tall, slot - slot // 4, tall, COLOURS[colour])
        for text, y in ((f"{value:g}", bottom - tall - _LINE_HEIGHT), (label, bottom + _SCALE * 3)):
            shown = _fitting(text, slot - _SCALE)
            canvas.write(shown, left + (slot - width_of(shown, _SCALE)) // 2, y, _INK, _SCALE)
    return canvas.png()


def _fitting(text: str, width: int) -> str:
    while text and width_of(text, _SCALE) > width:
        text = text[:-1]
    return text
