"""What a name that is none was probably meant to be."""

import pytest

from toolcrib.errors import probably_meant
from toolcrib.schema.near import NearNames


@pytest.mark.parametrize(
    ("name", "names", "expected"),
    [
        ("cursr", ["cursor", "codex", "claude-code"], ["cursor"]),
        # a third of the letters in common, and then some: difflib's own bound of 0.6 names it
        ("goosy", ["zed", "gamed", "goals"], []),
        ("claude", ["claude-code", "claude-desktop", "cursor"], ["claude-code"]),
        # as near as each other: both
        ("note", ["notes", "noted", "vote"], ["notes", "noted"]),
        ("", ["a"], []),
        ("x", [], []),
    ],
)
def test_only_names_about_as_near_as_the_nearest_are_told(name: str, names: list[str], expected: list[str]) -> None:
    assert sorted(probably_meant(name, names)) == sorted(expected)


def test_beside_a_slip_of_a_letter_no_other_tool_is_named() -> None:
    near = NearNames(["tracker.look", "tracker.close", "tracker.lock"])
    assert near.find("tracker.lok", 3) == ("tracker.lock", "tracker.look")
