"""Tables and styled lines: with rich on a terminal, as plain aligned text in a pipe.

No word is broken at the end of a line, so that ids can be copied from however narrow a terminal: a table that has no
room for that is printed row by row.
"""

import io
import re
import sys
from collections.abc import Collection, Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TextIO

from toolcrib.cli.streams import one_line, safe

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_WORD = re.compile(r"\s*\S+\s*")
_NO_WRAPPING = 1_000_000
_GAP = 2
"""Blanks between two columns."""

_NARROWEST = 16
"""Columns of the terminal below which no running text is squeezed."""


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Collection[int] = (), prose: Collection[int] = ()
) -> None:
    """Print rows under a head, columns aligned; in a pipe each row stays one line. Without rows, nothing.

    Args:
        head: The columns' names.
        rows: The cells, as text from wherever.
        numbers: Which columns hold figures, and so end at the right.
        prose: Which columns hold running text, of which a very long word may be broken.
    """
    if not rows:
        return
    cells = [[one_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        _print(_table(head, cells, numbers, None))
        return
    widths = _widths([head, *cells], prose, _console(sys.stdout, width=None).width)
    if widths is None:
        _print_row_by_row(head, cells, prose)
    else:
        _print(_table(head, cells, numbers, widths))


def print_styled(*parts: tuple[str, str] | str, indent: int = 0) -> None:
    """Print one paragraph of parts, each a text or a text with its style; only a terminal shows the style.

    Args:
        parts: The parts.
        indent: Blanks before every line of it.
    """
    if not sys.stdout.isatty():
        text = safe("".join(part if isinstance(part, str) else part[0] for part in parts))
        sys.stdout.write("".join(f"{' ' * indent}{line}".rstrip() + "\n" for line in text.split("\n")))
        return
    from rich.text import Text

    text = Text()
    for part in parts:
        text.append(*((safe(part),) if isinstance(part, str) else (safe(part[0]), part[1])))
    console = _console(sys.stdout, width=None)
    for paragraph in text.split("\n", allow_blank=True):
        for line in paragraph.divide(_line_ends(paragraph.plain, max(_NARROWEST, console.width - indent))):
            line.rstrip()
            console.print(Text(" " * indent) + line, soft_wrap=True)


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int], widths: Sequence[int] | None
) -> "RenderableType":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for place, name in enumerate(head):
        justify = "right" if place in numbers else "left"
        table.add_column(name, justify=justify, overflow="fold", width=widths[place] if widths else None)
    for row in rows:
        table.add_row(*(_text(cell, "bold" if place == 0 else "") for place, cell in enumerate(row)))
    return table


def _widths(rows: Sequence[Sequence[str]], prose: Collection[int], room: int) -> list[int] | None:
    """How wide each column is on a terminal; None where words would have to be broken.

    Args:
        rows: All rows, the head among them.
        prose: See `print_table`.
        room: Columns of the terminal.
    """
    from rich.cells import cell_len

    columns = [*zip(*rows, strict=True)]
    least = [max(cell_len(word) for cell in column for word in cell.split() or [""]) for column in columns]
    least = [min(each, _NARROWEST) if place in prose else each for place, each in enumerate(least)]
    widths = [max(map(cell_len, column)) for column in columns]
    excess = sum(widths) + _GAP * (len(widths) - 1) - room
    # Running text gives way first; of the others, the widest.
    for place in sorted(range(len(widths)), key=lambda place: (place not in prose, -widths[place])):
        given = max(0, min(excess, widths[place] - least[place]))
        widths[place] -= given
        excess -= given
    return widths if excess <= 0 else None


def _print(table: "RenderableType") -> None:
    if sys.stdout.isatty():
        _console(sys.stdout, width=None).print(table)
        return
    into = io.StringIO()
    _console(into, width=_NO_WRAPPING).print(table)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in into.getvalue().splitlines()))


def _line_ends(text: str, room: int) -> list[int]:
    """Where a paragraph is broken into lines, before words alone. Rich breaks one that is longer than a line."""
    from rich.cells import cell_len

    ends: list[int] = []
    used = 0
    for word in _WORD.finditer(text):
        if word.start() and used and used + cell_len(word[0].rstrip()) > room:
            ends.append(word.start())
            used = 0
        used += cell_len(word[0])
    return ends


def _print_row_by_row(head: Sequence[str], rows: Sequence[Sequence[str]], prose: Collection[int]) -> None:
    """Print each row as a paragraph: its first cell, then the others under their names, as many a line as fit."""
    from rich.cells import cell_len

    room = _console(sys.stdout, width=None).width
    for first, *others in rows:
        print_styled((first, "bold"))
        line = ""
        for place, (name, cell) in enumerate(zip(head[1:], others, strict=True), start=1):
            if place in prose or not cell:
                continue
            told = f"{name}: {cell}" if name else cell
            if line and _GAP + cell_len(line) + _GAP + cell_len(told) > room:
                print_styled(line, indent=_GAP)
                line = ""
            line = f"{line}{' ' * _GAP}{told}" if line else told
        for text in (line, *(cell for place, cell in enumerate(others, start=1) if place in prose)):
            if text:
                print_styled(text, indent=_GAP)


def _console(file: TextIO, width: int | None) -> "Console":
    from rich.console import Console

    # Said outright: FORCE_COLOR and its kin would put control codes into pipes; and rich takes a terminal that can't
    # move its cursor for one of 80 columns.
    terminal = width is None
    columns, lines = get_terminal_size()
    return Console(
        file=file,
        width=width or columns,
        height=lines,
        force_terminal=terminal,
        markup=False,
        highlight=False,
        emoji=False,
    )


def _text(text: str, style: str) -> "Text":
    from rich.text import Text

    return Text(text, style=style)
