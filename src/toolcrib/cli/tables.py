"""Tables and styled lines: with rich on a terminal, as plain aligned text in a pipe."""

import io
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from toolcrib.cli.streams import one_line, safe

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_NO_WRAPPING = 1_000_000


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> None:
    """Print rows under a head, columns aligned; in a pipe each row stays one line. Without rows, nothing.

    Args:
        head: The columns' names.
        rows: The cells, as text from wherever.
        numbers: Which columns hold figures, and so end at the right.
    """
    if not rows:
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, name in enumerate(head):
        table.add_column(name, justify="right" if place in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_text(one_line(cell), "bold" if place == 0 else "") for place, cell in enumerate(row)))
    print_rendered(table)


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
    from rich.padding import Padding
    from rich.text import Text

    text = Text()
    for part in parts:
        text.append(*((safe(part),) if isinstance(part, str) else (safe(part[0]), part[1])))
    print_rendered(Padding(text, (0, 0, 0, indent)))


def print_rendered(renderable: "RenderableType") -> None:
    """Print what rich can render."""
    if sys.stdout.isatty():
        _console(sys.stdout, width=None).print(renderable)
        return
    into = io.StringIO()
    _console(into, width=_NO_WRAPPING).print(renderable)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in into.getvalue().splitlines()))


def _console(file: TextIO, width: int | None) -> "Console":
    from rich.console import Console

    # Said outright: FORCE_COLOR and its kin would put control codes into pipes.
    terminal = width is None
    return Console(file=file, width=width, force_terminal=terminal, markup=False, highlight=False, emoji=False)


def _text(text: str, style: str) -> "Text":
    from rich.text import Text

    return Text(text, style=style)
