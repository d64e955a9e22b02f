"""The help of every command: whole, within the width of the terminal, and with an example that can be typed."""

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer

from toolcrib.cli.program import COMMANDS, command

Cli = Callable[..., Any]

_EXAMPLE = re.compile(r"Example: (toolcrib .+)")


def _paths() -> Iterator[tuple[str, ...]]:
    """The words of every command and of every one of its own commands."""
    for name in COMMANDS:
        yield (name,)
        function = command(name)
        if isinstance(function, typer.Typer):
            yield from ((name, each) for each in _click(function).commands)


def _click(function: Any) -> Any:
    if not isinstance(function, typer.Typer):
        app = typer.Typer(add_completion=False)
        app.command()(function)
        function = app
    return typer.main.get_command(function)


PATHS = [*_paths()]


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_help_has_an_example_that_can_be_typed(cli: Cli, path: tuple[str, ...]) -> None:
    ran = cli(*path, "--help")
    assert (ran.code, ran.err) == (0, "")
    paragraphs = [" ".join(each.split()) for each in ran.out.split("\n\n")]
    [example] = [found[1] for each in paragraphs if (found := _EXAMPLE.fullmatch(each))]
    words = shlex.split(example.partition(" > ")[0])
    assert words[1] == path[0]
    assert len(path) == 1 or words[2] == path[1]
    # It is parsed as a call of it would be, and nothing is run.
    group = _click(command(path[0]))
    with group.make_context(path[0], words[2:]) as context:
        if isinstance(command(path[0]), typer.Typer):
            name, inner, rest = group.resolve_command(context, [*context._protected_args, *context.args])
            with inner.make_context(name, rest, parent=context):
                pass


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("path", [(), *PATHS], ids=" ".join)
def test_every_help_fits_the_terminal(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = cli(*path, "--help").out
    assert [line for line in out.splitlines() if len(line) > columns] == []
    assert "\\" not in out.replace("\\n", "")  # no mark of the layout is shown


@pytest.mark.parametrize("path", [(), *PATHS], ids=" ".join)
def test_no_help_names_types_of_the_language(cli: Cli, path: tuple[str, ...]) -> None:
    out = cli(*path, "--help").out
    assert [each for each in re.findall(r"<([^>]*)>", out) if "|" not in each] == []  # choices are said
