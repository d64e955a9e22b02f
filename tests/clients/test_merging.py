"""Two changes of one text, line by line; the expected texts are merged by hand."""

import pytest

from toolcrib.clients.merging import MAX_LINES, merged


@pytest.mark.parametrize(
    ("base", "one", "other", "both"),
    [
        ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
        ("a\nb\nc\n", "a\nc\n", "a\nb\nc\nd\n", "a\nc\nd\n"),
        ("a\nb\nc", "a\nb\nc", "x\na\nb\nc", "x\na\nb\nc"),
        ("a\nb\n", "A\nb\n", "x\nb\n", None),  # both changed one line
        ("", "a\n", "", "a\n"),
        ("a\n" * (MAX_LINES + 1), "", "", None),
    ],
)
def test_changes_of_different_lines_go_together(base: str, one: str, other: str, both: str | None) -> None:
    assert merged(base, one, other) == both
    assert merged(base, other, one) == both


def test_of_two_things_put_in_at_one_place_the_first_s_comes_first() -> None:
    assert merged("a\nb\n", "a\nx\nb\n", "a\ny\nb\n") == "a\nx\ny\nb\n"
