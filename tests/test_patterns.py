"""Regular expressions that run in linear time."""

import time

import pytest

from toolcrib.patterns import PatternError, compile_pattern


def test_a_pattern_matches_anywhere_and_tells_cases_apart() -> None:
    matches = compile_pattern("b+c")
    assert matches("abbcd")
    assert not matches("aBBcd")
    assert compile_pattern("b+c", ignore_case=True)("aBBcd")


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", r"(?=a)b", r"(a)\1", "(?<!a)b", "x{1000}{1000}{1000}"])
def test_a_pattern_that_can_not_be_used_says_why(pattern: str) -> None:
    with pytest.raises(PatternError, match=r"^.{5,}[^.]$"):
        compile_pattern(pattern)


def test_patterns_made_to_blow_up_take_no_time() -> None:
    begun = time.process_time()
    for pattern in (r"(a+)+$", r"(a|aa)+$", r"^(([a-z])+.)+[A-Z]([a-z])+$"):
        assert not compile_pattern(pattern)("a" * 100_000 + "!")
    assert time.process_time() - begun < 5


def test_half_a_surrogate_pair_does_not_end_it() -> None:
    assert compile_pattern("a\ud83d?b")("ab\ud83d")
    assert compile_pattern("é")("\ud83dé")
