"""JMESPath with bounded work, whatever the expression and the value."""

from typing import Any

import pytest

from toolcrib.broker.results.select import select
from toolcrib.errors import UsageError

PEOPLE = {"people": [{"name": "Ann", "age": 41, "tags": ["a", "b"]}, {"name": "Ben", "age": 7, "tags": []}]}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("people[*].name", ["Ann", "Ben"]),
        (
            "people[?age > `10`].{n: name, a: age, t: tags, x: x, y: y}",
            [{"n": "Ann", "a": 41, "t": ["a", "b"], "x": None, "y": None}],
        ),
        ("people[].tags[]", ["a", "b"]),
        ("sort_by(people, &age)[0].name", "Ben"),
        ("length(people)", 2),
        ("join(', ', people[*].name)", "Ann, Ben"),
        ("people[::-1].age", [7, 41]),
        ("map(&to_string(age), people)", ["41", "7"]),
        ("nothing", None),
    ],
)
def test_what_jmespath_selects(expression: str, expected: Any) -> None:
    assert select(expression, PEOPLE) == expected


def test_all_members_of_a_wide_object_may_be_renamed() -> None:
    wide = {f"k{number}": number for number in range(40)}
    expression = "{" + ", ".join(f"n{number}: k{number}" for number in range(40)) + "}"
    assert select(expression, wide) == {f"n{number}": number for number in range(40)}


@pytest.mark.parametrize(
    "expression",
    [
        "|".join(["[@,@]"] * 60),
        "[@,@][]" * 40,
        "|".join(["join('',[@,@])"] * 40),
        "|".join(["to_string([@])"] * 40),
        "|".join(["{a:@,b:@}"] * 40),
        "|".join(["merge({a:@},{b:@})"] * 40),
        "|".join(["map(&[@,@],@)[]"] * 40),
        "[*]." * 5 + "[@,@,@,@,@,@,@,@,@,@,@,@,@,@,@,@,@]",
    ],
)
def test_copies_of_copies_are_refused_before_they_are_made(expression: str) -> None:
    with pytest.raises(UsageError, match="copies"):
        select(expression, ["text"])


@pytest.mark.parametrize(
    "expression",
    ["", "[", "[?", "foo(@)", "people[*].name | abs(@)", "(" * 900, "x" * 1_001, "ceil(`1e999`)", "\udcff["],
)
def test_what_can_t_be_used_is_told_and_no_traceback(expression: str) -> None:
    with pytest.raises(UsageError, match="can't be used"):
        select(expression, PEOPLE)


def test_what_takes_too_long_is_ended() -> None:
    with pytest.raises(UsageError, match="takes too long"):
        select("[?@ > `3`]", list(range(10_000)), seconds=-1)


def test_a_long_text_between_many_is_refused() -> None:
    with pytest.raises(UsageError, match="joins too much"):
        select("join([0], @)", ["x" * 5_000] * 5_000)


@pytest.mark.parametrize("expression", ["to_string(@)", "[0] == [1]", "contains(@, [1])", "[*][][][]", "@"])
def test_a_value_of_any_depth_does_no_harm(expression: str) -> None:
    def deep() -> list[Any]:
        value: list[Any] = []
        for _ in range(100_000):
            value = [value]
        return value

    values = [deep(), deep()]
    if expression in ("to_string(@)", "[0] == [1]", "contains(@, [1])"):
        with pytest.raises(UsageError, match="nests too deep"):
            select(expression, values)
    else:
        select(expression, values)


@pytest.mark.filterwarnings("ignore:deprecated string literal:PendingDeprecationWarning")
def test_a_text_between_backquotes_needs_no_quotes() -> None:
    assert select("people[?name == `Ann`].age", PEOPLE) == [41]
