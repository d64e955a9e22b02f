"""Words that are no commands: the answer says where what they stand for is."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from toolcrib.cli.program import COMMANDS, ELSEWHERE


def test_runs_are_found_in_the_console_and_the_journal(cli: Callable[..., Any]) -> None:
    ran = cli("runs")
    assert ran.code == 2
    assert ran.err.startswith("toolcrib: No such command 'runs'.\n  toolcrib console shows the runs")
    assert "toolcrib journal --run ID" in ran.err


@pytest.mark.parametrize("word", ELSEWHERE)
def test_each_is_no_command_and_names_only_commands_that_there_are(word: str) -> None:
    assert word not in COMMANDS
    assert ELSEWHERE[word].endswith(".")
    assert {*re.findall(r"toolcrib ([a-z]+)", ELSEWHERE[word])} - {"alone"} <= {*COMMANDS}
