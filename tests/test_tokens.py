"""Counting tokens, with and without the real vocabulary."""

import subprocess
import sys

import pytest

from toolcrib.tokens import count_tokens, counter, counter_name


@pytest.mark.parametrize(
    ("text", "tokens"),
    # Bytes / 3.6, rounded up, by hand.
    [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("a" * 36, 10), ("a" * 37, 11), ("ü" * 18, 10), ("工具", 2)],
)
def test_the_estimate_divides_the_bytes(text: str, tokens: int) -> None:
    estimate = counter("estimate")
    assert (estimate.name, estimate.count(text)) == ("bytes / 3.6", tokens)


@pytest.mark.parametrize(
    ("text", "tokens"),
    # tiktoken: get_encoding("o200k_base").encode("hello world") == [24912, 2375]
    [("", 0), ("hello world", 2)],
)
def test_the_vocabulary_counts_as_openai_does(text: str, tokens: int) -> None:
    pytest.importorskip("toktok")
    exact = counter("o200k")
    assert (exact.name, exact.count(text)) == ("o200k (toktok)", tokens)
    assert (counter_name(), count_tokens(text)) == ("o200k (toktok)", tokens)


def test_a_special_token_in_a_text_counts_as_the_text_it_is() -> None:
    pytest.importorskip("toktok")
    assert counter("o200k").count("<|endoftext|>") > 1


@pytest.mark.parametrize("kind", ["auto", "estimate"])
def test_a_lone_surrogate_is_counted_too(kind: str) -> None:
    assert counter(kind).count('{"a": "\ud800"}') > 0  # pyright: ignore[reportArgumentType]


def test_without_the_vocabulary_the_estimate_is_used_and_named() -> None:
    program = (
        "import sys; sys.modules['toktok'] = None\n"
        "from toolcrib.tokens import count_tokens, counter, counter_name\n"
        "assert (counter_name(), count_tokens('abcd')) == ('bytes / 3.6', 2)\n"
        "try: counter('o200k')\n"
        "except ImportError: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "refused\n"


def test_the_vocabulary_is_loaded_when_something_is_counted_not_before() -> None:
    program = "import sys, toolcrib.tokens; print('toktok' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "False\n"
