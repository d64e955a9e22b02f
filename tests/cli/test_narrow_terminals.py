"""What a terminal shows however narrow it is, and without colours: every id whole, every line within its width."""

import io
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolcrib.cli import main
from toolcrib.cli.tables import print_styled, print_table

CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOURS = re.compile(r"\x1b\[[0-9;]*(?:3[0-7]|4[0-7]|9[0-7])[0-9;]*m")
"""SGR codes that choose a colour (ECMA-48, 8.3.117)."""

LONG_ID = "organisation_directory.find_every_colleague_by_name_or_department_or_place"


class Terminal(io.StringIO):
    """Takes what is written, as a terminal."""

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        """What is shown, without what only styles it."""
        return [line.rstrip() for line in CODES.sub("", self.getvalue()).splitlines()]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Terminal]]:
    """Stands for standard output: a terminal of some width."""

    def of(columns: int, **environ: str) -> Terminal:
        for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM", "LINES"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm-256color", **environ, "COLUMNS": str(columns)}.items():
            monkeypatch.setenv(name, value)
        shown = Terminal()
        monkeypatch.setattr(sys, "stdout", shown)
        return shown

    return of


HEAD = ("id", "began", "tool", "state", "about")
ROWS = [
    (
        "5f2c9d0a7b",
        "2026-11-30 22:01:03",
        "tickets.create_ticket",
        "done",
        "Create a ticket in a project of one's own.",
    ),
    ("5f2c9d0a7c", "2026-11-30 22:01:04", LONG_ID, "failed", f"See {'x' * 90}."),
]


@pytest.mark.parametrize("columns", [200, 100, 60, 40, 20])
def test_no_word_of_a_table_is_broken_at_any_width(terminal: Callable[..., Terminal], columns: int) -> None:
    shown = terminal(columns)
    print_table(HEAD, ROWS, prose=(4,))
    words = " ".join(shown.lines).split()
    for word in ("5f2c9d0a7b", "5f2c9d0a7c", "tickets.create_ticket", LONG_ID, "failed"):
        assert word in words
    longest = max(columns, len(f"  tool: {LONG_ID}"), 100 if columns < 100 else 0)  # a word longer than the line stays
    assert all(len(line) <= longest for line in shown.lines)


def test_a_table_that_fits_keeps_its_columns_and_squeezes_running_text_first(
    terminal: Callable[..., Terminal],
) -> None:
    shown = terminal(60)
    print_table(
        ("tool", "effect", "about"), [("tickets.create", "write", "Create a ticket in a project of one's own.")]
    )
    assert shown.lines[0].split() == ["tool", "effect", "about"]
    shown = terminal(60)
    print_table(HEAD[:3], [row[:3] for row in ROWS[:1]], prose=(2,))
    assert shown.lines == [
        "id          began                tool",
        "5f2c9d0a7b  2026-11-30 22:01:03  tickets.create_ticket",
    ]


def test_a_long_id_in_a_line_is_left_for_the_terminal_to_wrap(terminal: Callable[..., Terminal]) -> None:
    shown = terminal(60)
    print_styled((LONG_ID, "bold"), "  some words that go on until they no longer fit on it", indent=2)
    assert any(LONG_ID in line for line in shown.lines)
    assert all(len(line) <= max(60, len(LONG_ID) + 2) for line in shown.lines)


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("words", [["servers"], ["search", "issue"], ["show", "workshop.create_issue"], ["tokens"]])
def test_every_word_is_there_without_colours(
    terminal: Callable[..., Terminal], workshop: Path, words: list[str], environ: dict[str, str]
) -> None:
    plain = terminal(60, **environ)
    assert main([*words, "-c", str(workshop)]) == 0
    coloured = terminal(60)
    assert main([*words, "-c", str(workshop)]) == 0
    assert not COLOURS.search(plain.getvalue())
    assert plain.lines == coloured.lines
    if "TERM" in environ:
        assert "\x1b" not in plain.getvalue()


@pytest.mark.parametrize("words", [["servers"], ["search", "issue"], ["show", "workshop.create_issue"], ["tokens"], []])
def test_sixty_columns_are_enough(terminal: Callable[..., Terminal], workshop: Path, words: list[str]) -> None:
    shown = terminal(60)
    assert main([*words, *(["-c", str(workshop)] if words else [])]) == 0
    free = ("toolcrib call ", "toolcrib servers ")  # commands to be copied
    wide = [line for line in shown.lines if len(line) > 60 and not line.strip().startswith(free)]
    assert [line for line in wide if len(line.split()) > 1 and " " in line.strip()[:60]] == []
