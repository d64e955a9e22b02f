"""What the text of a script tells of the tools that it may call."""

from typing import Any

import pytest

from toolcrib.scripts.reach import reach

NAMED = {
    "brackets": "(box).drop(1)",
    "a line end": "box \\\n  .drop(1)",
    "a comment": "(box.  # of all\n drop(1))",
    "a wide letter": "\uff42ox.drop(1)",
    "in a loop": "[box.drop(each) for each in [1]]",
    "flat": "box_drop(1)",
    "flat, with a wide letter": "\uff42ox_drop(1)",
}


@pytest.mark.parametrize("code", NAMED.values(), ids=NAMED.keys())
def test_a_tool_is_named_however_python_lets_it_be_written(code: str) -> None:
    assert reach(code, "python", {"box"}) == {"box.drop"}


def test_names_of_tools_may_begin_with_any_letter() -> None:
    assert reach("box.ändern(1)", "python", {"box"}) == {"box.ändern"}


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "\uff43all_tool('box.drop', {})"),
        ("python", "import sys\nsys.modules"),
        ("python", "__builtins__['ev' + 'al']('box')"),
        ("python", "x = [box]"),
        ("python", "("),
        ("javascript", "\\u0062ox.drop(1)"),
        ("javascript", "b\\u{6f}x.drop(1)"),
        ("javascript", "self['bo' + 'x'].drop(1)"),
        ("javascript", "(() => 0).constructor('return 1')()"),
        ("typescript", "const { drop } = box"),
    ],
)
def test_what_may_call_any_tool_is_told(language: Any, code: str) -> None:
    assert reach(code, language, {"box"}) is None


def test_a_letter_written_as_an_escape_in_a_text_hides_nothing() -> None:
    assert reach("'caf\\u00e9'; box.drop(1)", "javascript", {"box"}) == {"box.drop"}


def test_words_that_stand_in_texts_and_comments_of_python_call_nothing() -> None:
    assert reach("# inspect with call_tool\nprint('sys'); box.drop(1)", "python", {"box"}) == {"box.drop"}
