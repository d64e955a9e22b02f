"""What commands write to standard output is one JSON document, whatever a server sent."""

import json
from typing import Any

import pytest

from toolcrib.cli.streams import print_json


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": [float("inf"), float("-inf")], "b": float("nan")}, {"a": ["Infinity", "-Infinity"], "b": "NaN"}),
        ({"a": (1, 2.5, None, True)}, {"a": [1, 2.5, None, True]}),
    ],
)
def test_numbers_that_json_has_no_form_for_are_told_as_text(
    capsys: pytest.CaptureFixture[str], value: Any, written: Any
) -> None:
    print_json(value)

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(capsys.readouterr().out, parse_constant=refuse) == written
