"""Long work shows on a terminal that it goes on, and how far it is; in a pipe nothing of that is written."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.cli import main

LONG = [
    (["servers", "--refresh"], "Listing "),
    (["servers", "changes", "--refresh"], "Listing "),
    (["servers", "search", "weather"], "Reading registries"),
    (["tokens"], "Counting tokens"),
    (["show", "workshop.say"], "Looking it up"),
    (["call", "workshop.say", "text=x"], "Calling workshop.say"),
    (["run", "--code", "1 + 1"], "Running the script"),
    (["scripts", "run", "two"], "Running two"),
]


class Terminal(io.StringIO):
    """Takes what is written, as a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("words", "told"), LONG, ids=[" ".join(words) for words, _ in LONG])
def test_long_work_shows_on_a_terminal_alone(
    cli: Callable[..., Any],
    workshop: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    told: str,
) -> None:
    given = [*words, "-c", str(workshop)]
    if words[:2] == ["servers", "search"]:
        path = tmp_path / "registry.json"
        path.write_text(json.dumps([{"name": "com.example/weather", "description": "Weather."}]))
        given += ["-r", str(path)]
    if words[:2] == ["scripts", "run"]:
        assert cli("scripts", "save", "two", "--code", "1 + 1", "--replace", "-c", workshop).code == 0
    piped = cli(*given)
    assert piped.code == 0
    assert told not in piped.out + piped.err  # and the runner refuses control codes
    monkeypatch.setenv("COLUMNS", "60")
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    assert main(given) == piped.code
    assert told in shown.getvalue()


@pytest.mark.parametrize("environ", [{"TERM": "dumb"}])
def test_a_terminal_that_cannot_move_its_cursor_is_spared(
    workshop: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    assert main(["tokens", "-c", str(workshop)]) == 0
    assert "\x1b" not in shown.getvalue()
